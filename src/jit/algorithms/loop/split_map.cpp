// SPDX-License-Identifier: Apache-2.0
// Splits a map with a long body into several kernels that pass values on through scratch.
#include "jit/algorithms/loop/split_map.h"

#include <map>
#include <set>

#include <fmt/format.h>

#include "jit/ir/affine.h"
#include "jit/map/code_estimate.h"

namespace millrace {
namespace {

/// The cost of storing or loading a value between pieces, in instructions.
constexpr std::int64_t kMoveInstructions = 4;
/// A piece ends in the last 1 / kSplitRanges of the instructions that fit, so that no piece is much shorter than the
/// limit.
constexpr std::int64_t kSplitRanges = 4;

using Kind = SequenceOperand::Kind;

BodyValueId id_of(std::size_t number) { return static_cast<BodyValueId>(number); }

/// Whether each piece that needs the instruction's value repeats it. True for loads of operands, constants, indices and
/// extents.
bool is_repeated(const BodyInstruction& instruction) { return instruction.num_operands == 0; }

/// Decides where the body is split.
class SplitFinder {
 public:
  SplitFinder(const Body& body, std::int64_t max_instructions)
      : body_(body), max_instructions_(max_instructions), last_uses_(body.instructions.size(), 0) {
    for (std::size_t i = 0; i < body.instructions.size(); ++i) {
      for_each_operand(i, [&](std::size_t operand) { last_uses_[operand] = i; });
    }
  }

  /// The ends of the pieces.
  std::vector<std::size_t> run() const {
    std::vector<std::size_t> ends = {0};
    while (ends.back() < body_.instructions.size()) ends.push_back(find_end(ends.back()));
    ends.erase(ends.begin());
    return ends;
  }

  bool is_needed_from(std::size_t end, std::size_t value) const {
    return !is_repeated(body_.instructions[id_of(value)]) && last_uses_[value] >= end;
  }

 private:
  template <class F>
  void for_each_operand(std::size_t i, F&& f) const {
    const BodyInstruction& instruction = body_.instructions[id_of(i)];
    for (unsigned o = 0; o < instruction.num_operands; ++o) f(index_of(instruction.operands[o]));
  }

  /// The end of the piece that starts at `begin`. Among the last 1 / kSplitRanges of the instructions that fit, it is
  /// the end at which the fewest values must be stored.
  std::size_t find_end(std::size_t begin) const {
    std::int64_t cost = 0, num_stored = 0, min_stored = 0;
    std::set<std::size_t> touched;  // operands already counted: as loaded from scratch, or as read for the last time
    std::size_t best = begin + 1;
    for (std::size_t i = begin; i < body_.instructions.size(); ++i) {
      cost += estimate_instruction(body_, body_.instructions[id_of(i)]);
      num_stored += is_needed_from(i + 1, i) ? 1 : 0;
      for_each_operand(i, [&](std::size_t operand) {
        if (is_repeated(body_.instructions[id_of(operand)])) return;
        if (operand < begin) {
          cost += touched.insert(operand).second ? kMoveInstructions : 0;
        } else if (last_uses_[operand] == i) {
          num_stored -= touched.insert(operand).second ? 1 : 0;
        }
      });
      if (cost + kMoveInstructions * num_stored > max_instructions_) {
        if (i > begin) return best;
      } else if (cost < max_instructions_ - max_instructions_ / kSplitRanges || num_stored <= min_stored) {
        min_stored = num_stored;
        best = i + 1;
      }
    }
    return body_.instructions.size();
  }

  const Body& body_;
  std::int64_t max_instructions_;
  std::vector<std::size_t> last_uses_;  // by value: the index of the last instruction that reads it
};

class MapSplitter {
 public:
  MapSplitter(const LoopKernel& map, std::int64_t max_instructions)
      : map_(map), finder_(map.epilogue, max_instructions) {
    std::vector<SizeExpr> dims;
    for (std::size_t d = 0; d < map.domain.size(); ++d) {
      dims.push_back(map.domain[d].extent);
      point_.push_back(dim_index(map.domain.size(), d));
    }
    points_ = Shape(std::move(dims));
  }

  SplitMap run() {
    std::size_t begin = 0;
    for (const std::size_t end : finder_.run()) {
      make_piece(begin, end);
      begin = end;
    }
    return std::move(split_);
  }

 private:
  const BodyInstruction& instruction(std::size_t value) const { return map_.epilogue.instructions[id_of(value)]; }

  void make_piece(std::size_t begin, std::size_t end) {
    piece_ = {};
    values_.clear();
    operands_.clear();
    accesses_.clear();
    LoopKernel& kernel = piece_.kernel;
    kernel.name = fmt::format("{}_part_{}", map_.name, split_.pieces.size());
    kernel.domain = map_.domain;
    kernel.extents = map_.extents;
    for (std::size_t i = begin; i < end; ++i) {
      if (!is_repeated(instruction(i))) copy(i);
    }
    std::vector<SequenceOperand> written;
    for (std::size_t i = begin; i < end; ++i) {
      if (finder_.is_needed_from(end, i)) store_scratch(i, written);
    }
    const bool is_last = end == map_.epilogue.instructions.size();
    for (std::uint32_t i = 0; i < map_.stores.size(); ++i) {
      const std::size_t value = index_of(map_.epilogue.yields[i]);
      if (is_repeated(instruction(value)) ? is_last : value >= begin && value < end) store_result(i, written);
    }
    if (written.empty()) return;  // no later piece and no result reads this piece's values
    piece_.buffers.insert(piece_.buffers.end(), written.begin(), written.end());
    split_.pieces.push_back(std::move(piece_));
  }

  BodyValueId append(const BodyInstruction& copy) { return piece_.kernel.epilogue.instructions.push_back(copy); }

  BodyValueId convert(DType to, BodyValueId value) {
    return append({.op = KernelOp::kConvert, .dtype = to, .num_operands = 1, .operands = {value}});
  }

  BodyValueId copy(std::size_t value) {
    BodyInstruction copy = instruction(value);
    for (unsigned i = 0; i < copy.num_operands; ++i) copy.operands[i] = value_of(index_of(copy.operands[i]));
    if (copy.op == KernelOp::kLoad) copy.immediate = access_number(static_cast<std::uint32_t>(copy.immediate));
    return values_[value] = append(copy);
  }

  /// Returns the value for use in this piece. If the piece does not compute the value, repeats its instruction or loads
  /// it from scratch.
  BodyValueId value_of(std::size_t value) {
    if (const auto known = values_.find(value); known != values_.end()) return known->second;
    if (is_repeated(instruction(value))) return copy(value);
    const DType dtype = instruction(value).dtype;
    const std::uint32_t number = operand_number({Kind::kScratch, scratch_.at(value)}, scratch_tensor(value));
    const std::uint64_t access = piece_.kernel.loads.size();
    piece_.kernel.loads.push_back({number, point_, {}, {}});
    BodyValueId loaded = append({.op = KernelOp::kLoad, .dtype = body_dtype(dtype), .immediate = access});
    if (body_dtype(dtype) != dtype) loaded = convert(dtype, loaded);
    return values_[value] = loaded;
  }

  KernelTensor scratch_tensor(std::size_t value) const {
    return {fmt::format("v{}", value), {instruction(value).dtype, points_}, Layout::row_major(points_)};
  }

  std::uint32_t operand_number(const SequenceOperand& operand, const KernelTensor& tensor) {
    const auto [place, is_new] = operands_.try_emplace({operand.kind, operand.index}, 0);
    if (!is_new) return place->second;
    place->second = static_cast<std::uint32_t>(piece_.buffers.size());
    piece_.buffers.push_back(operand);
    piece_.kernel.operands.push_back(tensor);
    return place->second;
  }

  std::uint32_t access_number(std::uint32_t load) {
    const auto [place, is_new] = accesses_.try_emplace(load, 0);
    if (!is_new) return place->second;
    Access access = map_.loads[load];
    access.tensor = operand_number({Kind::kOperand, access.tensor}, map_.operands[access.tensor]);
    place->second = static_cast<std::uint32_t>(piece_.kernel.loads.size());
    piece_.kernel.loads.push_back(std::move(access));
    return place->second;
  }

  void store(KernelTensor tensor, Access access, BodyValueId value) {
    access.tensor = static_cast<std::uint32_t>(piece_.kernel.results.size());
    piece_.kernel.results.push_back(std::move(tensor));
    piece_.kernel.stores.push_back(std::move(access));
    piece_.kernel.epilogue.yields.push_back(value);
  }

  void store_scratch(std::size_t value, std::vector<SequenceOperand>& written) {
    const auto number = static_cast<std::uint32_t>(split_.scratch.size());
    KernelTensor tensor = scratch_tensor(value);
    split_.scratch.push_back({fmt::format("{}_{}", map_.name, tensor.name), size_bytes(tensor.type)});
    scratch_.emplace(value, number);
    written.push_back({Kind::kScratch, number});
    const DType dtype = instruction(value).dtype, wide = body_dtype(dtype);
    store(std::move(tensor), {0, point_, {}, {}}, wide == dtype ? value_of(value) : convert(wide, value_of(value)));
  }

  void store_result(std::uint32_t number, std::vector<SequenceOperand>& written) {
    written.push_back({Kind::kResult, number});
    const BodyValueId value = value_of(index_of(map_.epilogue.yields[number]));
    store(map_.results[number], map_.stores[number], value);
  }

  const LoopKernel& map_;
  const SplitFinder finder_;
  Shape points_;
  std::vector<AffineIndex> point_;
  SplitMap split_;
  std::map<std::size_t, std::uint32_t> scratch_;  // by value
  // The piece under construction:
  SplitMap::Piece piece_;
  std::map<std::size_t, BodyValueId> values_;
  std::map<std::pair<Kind, std::uint32_t>, std::uint32_t> operands_;
  std::map<std::uint32_t, std::uint32_t> accesses_;  // by load
};

}  // namespace

SplitMap split_map(const LoopKernel& map, std::int64_t max_instructions) {
  return MapSplitter(map, max_instructions).run();
}

}  // namespace millrace
