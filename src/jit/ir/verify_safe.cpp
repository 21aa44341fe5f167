// SPDX-License-Identifier: Apache-2.0
// Proves that a kernel accesses only its tensors, and writes each element of its results once, whatever the sizes are.
#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "base/guard_allocations.h"
#include "jit/ir/affine.h"
#include "millrace/base/printable.h"
#include "millrace/jit/loop_kernel.h"

namespace millrace {
namespace {

class Prover {
 public:
  explicit Prover(const LoopKernel& kernel) : kernel_(kernel) {}

  Status run() {
    for (std::size_t d = 0; d < kernel_.domain.size(); ++d) check_extent(d);
    for (const Body& term : kernel_.terms) check_body(term);
    check_body(kernel_.epilogue);
    for (const Access& store : kernel_.stores) check_store(store);
    return broken_.empty() ? Status() : invalid_argument(broken_);
  }

 private:
  template <class... Args>
  void fail(fmt::format_string<Args...> format, Args&&... args) {
    std::string line = fmt::format("loop kernel '{}': ", printable(kernel_.name));
    line += fmt::format(format, std::forward<Args>(args)...);
    if (broken_.find(line) != std::string::npos) return;  // several instructions read one access
    broken_ += (broken_.empty() ? "" : "\n") + line;
  }

  std::string dim_text(std::size_t d) const { return fmt::format("d{} '{}'", d, printable(kernel_.domain[d].name)); }

  /// "load 1 of 'x': index d0 + -1 of dim 0".
  static std::string index_text(std::string_view role, std::size_t number, const KernelTensor& tensor,
                                const Access& access, std::size_t axis) {
    return fmt::format("{} {} of '{}': index {} of dim {}", role, number, printable(tensor.name),
                       to_text(access.indices[axis]), axis);
  }

  void check_extent(std::size_t d) {
    const SizeExpr& extent = kernel_.domain[d].extent;
    if (extent.lower_bound() >= 0) return;
    fail("dim {} has extent {}, which may be negative; promise facts of its symbols, such as at_least()", dim_text(d),
         extent.to_text());
  }

  void check_body(const Body& body) {
    for (const BodyInstruction& instruction : body.instructions) {
      if (instruction.op == KernelOp::kLoad) check_load(body, instruction);
    }
  }

  void check_load(const Body& body, const BodyInstruction& instruction) {
    const Access& load = kernel_.loads[instruction.immediate];
    const KernelTensor& tensor = kernel_.operands[load.tensor];
    if (load.fill) return check_moderate(instruction.immediate, tensor, load);
    for (std::size_t axis = 0; axis < load.indices.size(); ++axis) {
      const std::string where = index_text("load", instruction.immediate, tensor, load, axis);
      const SizeExpr& extent = tensor.type.shape[axis];
      if (load.dynamic_dim == axis) {
        check_dynamic(where, load.indices[axis], body, instruction.operands[0], extent);
      } else {
        check_inside(where, load.indices[axis], extent);
      }
    }
  }

  /// With a fill each index is checked at run time. It must not overflow before that.
  void check_moderate(std::size_t number, const KernelTensor& tensor, const Access& load) {
    constexpr std::int64_t kLimit = std::int64_t{1} << 31;
    const auto is_moderate = [](const SizeExpr& size) {
      return !size.is_constant() || (size.constant() < kLimit && size.constant() > -kLimit);
    };
    for (std::size_t axis = 0; axis < load.indices.size(); ++axis) {
      const AffineIndex& index = load.indices[axis];
      if (is_moderate(index.offset) && std::ranges::all_of(index.coefficients, is_moderate)) continue;
      fail("{} has numbers of 2^31 and more, expected smaller ones; correct it",
           index_text("load", number, tensor, load, axis));
    }
  }

  void check_inside(const std::string& where, const AffineIndex& index, const SizeExpr& extent) {
    if (is_inside(index, extent, kernel_.domain)) return;
    fail(
        "{} is not known to stay inside [0, {}); give the load a fill, or promise facts of its symbols, such as "
        "at_least()",
        where, extent.to_text());
  }

  /// The value of check_index is inside its extent; for an empty dim, kernels check once more.
  void check_dynamic(const std::string& where, const AffineIndex& index, const Body& body, BodyValueId value,
                     const SizeExpr& extent) {
    const BodyInstruction& check = body.instructions[value];
    const bool is_checked =
        check.op == KernelOp::kCheckIndex && is_extent(body.instructions[check.operands[1]], extent);
    const bool is_plain =
        index.offset.is(0) && std::ranges::all_of(index.coefficients, [](const SizeExpr& step) { return step.is(0); });
    if (is_checked && is_plain) return;
    fail(
        "{} adds a value of the body, expected check_index(value, {}) with nothing added to it; compute the whole "
        "index in the body and check it, or give the load a fill",
        where, extent.to_text());
  }

  bool is_extent(const BodyInstruction& instruction, const SizeExpr& extent) const {
    if (instruction.op == KernelOp::kExtent) return kernel_.extents[instruction.immediate] == extent;
    return instruction.op == KernelOp::kConstant && extent.is(static_cast<std::int64_t>(instruction.immediate));
  }

  /// Each index must count through its dim of the result, as digits of a number do, and no two with the same dims.
  void check_store(const Access& store) {
    const KernelTensor& tensor = kernel_.results[store.tensor];
    std::set<std::size_t> used;
    for (std::size_t axis = 0; axis < store.indices.size(); ++axis) {
      const SizeExpr& extent = tensor.type.shape[axis];
      const std::optional<SizeExpr> counted = count_digits(store.indices[axis], kernel_.domain, used);
      if (counted && *counted == extent && store.indices[axis].offset.is(0)) continue;
      fail(
          "{} is not known to count through an extent of {}, each number once; index the result by each dim once, as "
          "in "
          "[m, n] or [m * 4 + n] with n below 4",
          index_text("store", store.tensor, tensor, store, axis), extent.to_text());
    }
  }

  const LoopKernel& kernel_;
  std::string broken_;
};

}  // namespace

Status verify_safe(const LoopKernel& kernel) {
  return guard_allocations([&] { return Prover(kernel).run(); });
}

}  // namespace millrace
