// SPDX-License-Identifier: Apache-2.0
// Splits a nest with a long reduction into nests that reduce its parts and one that joins their results.
#include "jit/algorithms/loop/split_reduction.h"

#include <algorithm>
#include <functional>
#include <map>

#include <fmt/format.h>

#include "jit/ir/reduction.h"
#include "millrace/jit/loop_kernel_builder.h"

namespace millrace {
namespace {

using Kind = SequenceOperand::Kind;

/// A nest under construction that copies the bodies of another nest. It replaces each dim of that nest by an index
/// expression of its own dims.
class NestCopy {
 public:
  NestCopy(const LoopKernel& from, const std::string& name) : kernel(name), from_(from) {}

  LoopKernelBuilder kernel;
  std::vector<AffineIndex> indices;      // by dim of the other nest
  std::vector<SequenceOperand> buffers;  // of the operands so far

  OperandId operand(const SequenceOperand& buffer, const KernelTensor& tensor) {
    const auto [place, is_new] = operands_.try_emplace({buffer.kind, buffer.index});
    if (is_new) {
      place->second = kernel.operand(tensor);
      buffers.push_back(buffer);
    }
    return place->second;
  }

  AffineIndex moved(const AffineIndex& index) const {
    AffineIndex result = AffineIndex{} + index.offset;
    for (std::size_t d = 0; d < indices.size(); ++d) result = result + indices[d] * index.coefficients[d];
    return result;
  }
  std::vector<AffineIndex> moved(const std::vector<AffineIndex>& of_axes) const {
    std::vector<AffineIndex> result;
    for (const AffineIndex& index : of_axes) result.push_back(moved(index));
    return result;
  }

  using Replace = std::function<std::optional<BodyValue>(const BodyInstruction&)>;
  /// Appends one of the other nest's bodies. If `replace` returns a value for an instruction, that value replaces the
  /// instruction.
  std::vector<BodyValue> append(BodyBuilder& body, const Body& source, const Replace& replace) {
    return body.inline_body(source, [&](const BodyInstruction& instruction) -> std::optional<BodyValue> {
      if (std::optional<BodyValue> value = replace(instruction)) return value;
      switch (instruction.op) {
        case KernelOp::kLoad:
          return load(body, instruction);
        case KernelOp::kIndex:
          return kernel.index(body, indices[instruction.immediate]);
        case KernelOp::kExtent:
          return kernel.extent(body, from_.extents[instruction.immediate]);
        default:
          return std::nullopt;
      }
    });
  }

  BodyValue load(BodyBuilder& body, const BodyInstruction& instruction) {
    const Access& access = from_.loads[instruction.immediate];
    LoadOptions options{.fill = access.fill};
    if (access.dynamic_dim) {
      options.gather_index = BodyValue{instruction.operands[0], DType::kI64};
      options.gather_dim = *access.dynamic_dim;
    }
    return kernel.load(body, operand_of(access), moved(access.indices), options);
  }

  OperandId operand_of(const Access& access) {
    return operand({Kind::kOperand, access.tensor}, from_.operands[access.tensor]);
  }

 private:
  const LoopKernel& from_;
  std::map<std::pair<Kind, std::uint32_t>, OperandId> operands_;
};

class ReductionSplitter {
 public:
  ReductionSplitter(const LoopKernel& kernel, const ReductionParts& parts) : kernel_(kernel), parts_(parts) {
    std::vector<SizeExpr> dims = {num_partials()};
    for (std::size_t d = 0; d < kernel.num_parallel(); ++d) dims.push_back(kernel.domain[d].extent);
    const Shape shape(std::move(dims));
    for (std::size_t i = 0; i < kernel.reductions.size(); ++i) {
      const Reduction& reduction = kernel.reductions[i];
      const DType dtype = has_index(i) ? DType::kI64 : reduction.dtype;
      const std::string name = fmt::format("{}_{}{}", kernel.name, to_text(reduction.kind), i);
      partials_.push_back({name, {dtype, shape}, Layout::row_major(shape)});
      split_.scratch.push_back({name, size_bytes(partials_.back().type)});
    }
  }

  Result<SplitReduction> run() {
    MILLRACE_TRY(check_term());
    MILLRACE_TRY(make_parts());
    if (has_rest()) MILLRACE_TRY(make_rest());
    MILLRACE_TRY(make_join());
    return std::move(split_);
  }

 private:
  bool has_index(std::size_t reduction) const { return returns_index(kernel_.reductions[reduction].kind); }
  bool has_rest() const { return !parts_.rest.is(0); }
  std::int64_t num_partials() const { return parts_.parts + (has_rest() ? 1 : 0); }

  Status check_term() const {
    const bool finds_index = std::ranges::any_of(
        kernel_.reductions, [](const Reduction& reduction) { return returns_index(reduction.kind); });
    for (const BodyInstruction& instruction : kernel_.terms[0].instructions) {
      if (instruction.op != KernelOp::kLoad) continue;
      const Access& access = kernel_.loads[instruction.immediate];
      const std::string& name = kernel_.operands[access.tensor].name;
      if (access.dynamic_dim) return unimplemented(fmt::format("the term gathers from '{}'", name));
      std::size_t moving_axes = 0;
      for (const AffineIndex& index : access.indices) moving_axes += !index.coefficients[parts_.dim].is(0);
      if (finds_index && (access.fill || moving_axes > 1)) {
        return unimplemented(
            fmt::format("an argmin or argmax whose operand '{}' is padded or read along a diagonal", name));
      }
    }
    return {};
  }

  /// The indices where a partial result is stored: the part, then one index per parallel dim.
  std::vector<AffineIndex> partial_place(const NestCopy& nest, const AffineIndex& part) const {
    std::vector<AffineIndex> place = {part};
    place.insert(place.end(), nest.indices.begin(),
                 nest.indices.begin() + static_cast<std::ptrdiff_t>(kernel_.num_parallel()));
    return place;
  }

  Status make_parts() {
    NestCopy nest(kernel_, kernel_.name + "_parts");
    const AffineIndex part = nest.kernel.groups("part", parts_.parts);
    return make_piece(nest, part, part * parts_.length, parts_.length);
  }

  Status make_rest() {
    NestCopy nest(kernel_, kernel_.name + "_rest");
    return make_piece(nest, AffineIndex{} + parts_.parts, AffineIndex{} + parts_.parts * parts_.length, parts_.rest);
  }

  /// Reduces the `length` points from `first` on, and stores the results at index `part`.
  Status make_piece(NestCopy& nest, const AffineIndex& part, const AffineIndex& first, const SizeExpr& length) {
    for (std::size_t d = 0; d < kernel_.domain.size(); ++d) {
      const LoopDim& dim = kernel_.domain[d];
      if (!dim.is_reduction) {
        nest.indices.push_back(nest.kernel.parallel(dim.name, dim.extent));
      } else if (d == parts_.dim) {
        nest.indices.push_back(first + nest.kernel.reduction(dim.name, length));
      } else {
        nest.indices.push_back(nest.kernel.reduction(dim.name, dim.extent));
      }
    }
    const std::vector<BodyValue> terms =
        nest.append(nest.kernel.term(), kernel_.terms[0], [](const BodyInstruction&) { return std::nullopt; });
    std::vector<BodyValue> results;
    for (std::size_t i = 0; i < terms.size(); ++i)
      results.push_back(nest.kernel.reduce(kernel_.reductions[i].kind, terms[i]));
    BodyBuilder& epilogue = nest.kernel.epilogue();
    SplitReduction::Piece piece;
    for (std::uint32_t i = 0; i < results.size(); ++i) {
      if (has_index(i)) results[i] = epilogue.add(results[i], nest.kernel.index(epilogue, first));
      nest.kernel.store(partials_[i], partial_place(nest, part), results[i]);
      piece.buffers.push_back({Kind::kScratch, i});
    }
    piece.buffers.insert(piece.buffers.begin(), nest.buffers.begin(), nest.buffers.end());
    MILLRACE_TRY_ASSIGN(piece.kernel, nest.kernel.finish_unverified());
    split_.pieces.push_back(std::move(piece));
    return {};
  }

  Status make_join() {
    NestCopy nest(kernel_, kernel_.name + "_join");
    for (std::size_t d = 0; d < kernel_.num_parallel(); ++d) {
      nest.indices.push_back(nest.kernel.parallel(kernel_.domain[d].name, kernel_.domain[d].extent));
    }
    const AffineIndex part = nest.kernel.reduction("part", num_partials());
    nest.indices.resize(
        kernel_.domain.size());  // 0 along the reduction dims; value_at() sets the index along parts_.dim
    BodyBuilder& term = nest.kernel.term();
    BodyBuilder& epilogue = nest.kernel.epilogue();
    std::vector<BodyValue> reduced;
    for (std::uint32_t i = 0; i < partials_.size(); ++i) {
      const OperandId partials = nest.operand({Kind::kScratch, i}, partials_[i]);
      const BodyValue partial = nest.kernel.load(term, partials, partial_place(nest, part));
      if (!has_index(i)) {
        reduced.push_back(nest.kernel.reduce(kernel_.reductions[i].kind, partial));
        continue;
      }
      const BodyValue best = nest.kernel.reduce(kernel_.reductions[i].kind, value_at(nest, i, partial));
      reduced.push_back(
          nest.kernel.load(epilogue, partials, partial_place(nest, AffineIndex{}), {.fill = {}, .gather_index = best}));
    }
    const auto results = [&](const BodyInstruction& instruction) -> std::optional<BodyValue> {
      if (instruction.op != KernelOp::kReduced) return std::nullopt;
      return reduced[instruction.immediate];
    };
    const std::vector<BodyValue> values = nest.append(epilogue, kernel_.epilogue, results);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const Access& store = kernel_.stores[i];
      nest.kernel.store(kernel_.results[store.tensor], nest.moved(store.indices), values[i]);
    }
    SplitReduction::Piece piece{.kernel = {}, .buffers = nest.buffers};
    for (std::uint32_t i = 0; i < values.size(); ++i) piece.buffers.push_back({Kind::kResult, i});
    MILLRACE_TRY_ASSIGN(piece.kernel, nest.kernel.finish_unverified());
    split_.pieces.push_back(std::move(piece));
    return {};
  }

  /// The value that an argmin or argmax compares at point `at` of its reduction dim.
  BodyValue value_at(NestCopy& nest, std::size_t reduction, BodyValue at) {
    BodyBuilder& term = nest.kernel.term();
    const auto gathered = [&](const BodyInstruction& instruction) -> std::optional<BodyValue> {
      if (instruction.op == KernelOp::kIndex && instruction.immediate == parts_.dim) return at;
      if (instruction.op != KernelOp::kLoad) return std::nullopt;
      const Access& access = kernel_.loads[instruction.immediate];
      LoadOptions options;
      for (std::uint32_t axis = 0; axis < access.indices.size(); ++axis) {
        const SizeExpr& step = access.indices[axis].coefficients[parts_.dim];
        if (step.is(0)) continue;
        options.gather_dim = axis;
        options.gather_index = step.is(1) ? at : term.mul(at, nest.kernel.extent(term, step));
      }
      return nest.kernel.load(term, nest.operand_of(access), nest.moved(access.indices), options);
    };
    return nest.append(term, kernel_.terms[0], gathered)[reduction];
  }

  const LoopKernel& kernel_;
  const ReductionParts& parts_;
  std::vector<KernelTensor> partials_;  // results of the first nest, [part, point...]
  SplitReduction split_;
};

}  // namespace

Result<SplitReduction> split_reduction(const LoopKernel& kernel, const ReductionParts& parts) {
  return ReductionSplitter(kernel, parts).run();
}

}  // namespace millrace
