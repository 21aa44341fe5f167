// SPDX-License-Identifier: Apache-2.0
// Decides which temporaries of a nest with several passes are kept in memory, and rewrites the passes that compute the
// others again.
#include "jit/map/temporaries.h"

#include <algorithm>
#include <map>

#include "jit/map/code_estimate.h"
#include "millrace/base/saturating.h"

namespace millrace {
namespace {

/// The memory for the temporaries of one tile: a quarter of the L2 cache of the cores that we measure on.
constexpr std::int64_t kMaxTemporaryBytes = 256 << 10;
/// A temporary of fewer instructions is computed again. A store and a load take about as long.
constexpr std::int64_t kMinKeptInstructions = 6;
/// The instructions that widen a float (millrace/jit/float16_bodies.h).
constexpr std::int64_t kWidenF16 = 19, kWidenBF16 = 2;

/// The instructions of `body` that compute `value`, which is the only yield of the result.
Body slice_of(const Body& body, BodyValueId value) {
  std::vector<bool> is_needed(body.instructions.size());
  is_needed[index_of(value)] = true;
  for (std::size_t i = index_of(value) + 1; i-- > 0;) {
    const BodyInstruction& instruction = body.instructions[BodyValueId(i)];
    for (unsigned k = 0; is_needed[i] && k < instruction.num_operands; ++k) {
      is_needed[index_of(instruction.operands[k])] = true;
    }
  }
  Body slice;
  std::vector<BodyValueId> numbers(body.instructions.size());
  for (std::size_t i = 0; i <= index_of(value); ++i) {
    if (!is_needed[i]) continue;
    BodyInstruction instruction = body.instructions[BodyValueId(i)];
    for (unsigned k = 0; k < instruction.num_operands; ++k) {
      instruction.operands[k] = numbers[index_of(instruction.operands[k])];
    }
    numbers[i] = BodyValueId(slice.instructions.size());
    slice.instructions.push_back(instruction);
  }
  slice.yields = {numbers[index_of(value)]};
  return slice;
}

std::ptrdiff_t num_reductions_of(const LoopKernel& kernel, std::uint32_t pass) {
  return std::ranges::count(kernel.reductions, pass, &Reduction::pass);
}

/// The value that the term of its pass yields for temporary `number`.
BodyValueId yield_of(const LoopKernel& kernel, std::size_t number) {
  const std::uint32_t pass = kernel.temporaries[number].pass;
  const auto first = std::ranges::find(kernel.temporaries, pass, &Temporary::pass) - kernel.temporaries.begin();
  const auto place = num_reductions_of(kernel, pass) + static_cast<std::ptrdiff_t>(number) - first;
  return kernel.terms[pass].yields[static_cast<std::size_t>(place)];
}

std::int64_t instructions_of(const LoopKernel& kernel, std::size_t number) {
  const Body slice = slice_of(kernel.terms[kernel.temporaries[number].pass], yield_of(kernel, number));
  std::int64_t all = estimate_instructions(slice);
  for (const BodyInstruction& instruction : slice.instructions) {
    if (instruction.op != KernelOp::kLoad) continue;
    const DType stored = kernel.operands[kernel.loads[instruction.immediate].tensor].type.dtype;
    if (stored == DType::kF16) all += kWidenF16;
    if (stored == DType::kBF16) all += kWidenBF16;
  }
  return all;
}

class Rewriter {
 public:
  Rewriter(const LoopKernel& kernel, const std::vector<bool>& keeps) : kernel_(kernel), keeps_(keeps) {}

  LoopKernel run() {
    LoopKernel result = kernel_;
    result.terms.clear();
    result.temporaries.clear();
    std::vector<std::uint32_t> passes;  // new numbers
    for (std::uint32_t pass = 0; pass < kernel_.terms.size(); ++pass) {
      passes.push_back(static_cast<std::uint32_t>(result.terms.size()));
      Body term = rewrite(pass);
      if (!term.yields.empty()) result.terms.push_back(std::move(term));
    }
    for (std::size_t i = 0; i < keeps_.size(); ++i) {
      if (keeps_[i]) result.temporaries.push_back({kernel_.temporaries[i].dtype, passes[kernel_.temporaries[i].pass]});
    }
    for (Reduction& reduction : result.reductions) reduction.pass = passes[reduction.pass];
    for (Access& store : result.stores) {
      if (store.pass) store.pass = passes[*store.pass];
    }
    return result;
  }

 private:
  /// The term of a pass, in which temporaries that are not kept are computed again, each once.
  Body rewrite(std::uint32_t pass) {
    BodyBuilder b;
    computed_.clear();
    const std::vector<BodyValue> yields = inline_term(b, kernel_.terms[pass]);
    auto next = static_cast<std::size_t>(num_reductions_of(kernel_, pass));
    for (std::size_t i = 0; i < next; ++i) b.yield(yields[i]);
    for (std::size_t i = 0; i < keeps_.size(); ++i) {
      if (kernel_.temporaries[i].pass != pass) continue;
      if (keeps_[i]) b.yield(yields[next]);
      ++next;
    }
    for (; next < yields.size(); ++next) b.yield(yields[next]);
    return b.finish();
  }

  std::vector<BodyValue> inline_term(BodyBuilder& b, const Body& term) {
    return b.inline_body(term, [&](const BodyInstruction& instruction) -> std::optional<BodyValue> {
      if (instruction.op != KernelOp::kTemporary) return std::nullopt;
      const std::uint64_t number = instruction.immediate;
      if (keeps_[number]) return b.temporary(new_number(number), instruction.dtype);
      if (const auto found = computed_.find(number); found != computed_.end()) return found->second;
      const Body definition = slice_of(kernel_.terms[kernel_.temporaries[number].pass], yield_of(kernel_, number));
      const BodyValue value = inline_term(b, definition)[0];
      computed_.emplace(number, value);
      return value;
    });
  }

  std::uint32_t new_number(std::uint64_t number) const {
    return static_cast<std::uint32_t>(
        std::count(keeps_.begin(), keeps_.begin() + static_cast<std::ptrdiff_t>(number), true));
  }

  const LoopKernel& kernel_;
  const std::vector<bool>& keeps_;
  std::map<std::uint64_t, BodyValue> computed_;  // temporaries that the term under construction computes again
};

}  // namespace

std::vector<bool> kept_in_memory(const LoopKernel& collapsed, const Tiling& tiling) {
  const bool has_lane_dim = tiling.vector_dim < collapsed.domain.size();
  const bool reduces_lanes = has_lane_dim && collapsed.domain[tiling.vector_dim].is_reduction;
  std::int64_t points =
      reduces_lanes ? tiling.row_unroll : std::int64_t{tiling.row_unroll} * tiling.vector_unroll * tiling.lanes;
  for (std::size_t d = collapsed.num_parallel(); d < collapsed.domain.size(); ++d) {
    points = saturating::multiply(points, std::max<std::int64_t>(collapsed.domain[d].extent.upper_bound(), 1));
  }
  std::vector<bool> keeps;
  std::int64_t left = kMaxTemporaryBytes;
  for (std::size_t i = 0; i < collapsed.temporaries.size(); ++i) {
    const DType dtype = collapsed.temporaries[i].dtype;
    const std::int64_t bytes = saturating::multiply(points, static_cast<std::int64_t>(size_bytes(dtype)));
    const bool pays_off = dtype != DType::kBool && instructions_of(collapsed, i) >= kMinKeptInstructions;
    keeps.push_back(pays_off && bytes <= left);
    if (keeps.back()) left -= bytes;
  }
  return keeps;
}

LoopKernel keep_temporaries(const LoopKernel& kernel, const std::vector<bool>& keeps) {
  return Rewriter(kernel, keeps).run();
}

}  // namespace millrace
