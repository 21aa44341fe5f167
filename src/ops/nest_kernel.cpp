// SPDX-License-Identifier: Apache-2.0
// The type rule of loop nests that an application provides.
#include <fmt/format.h>

#include "base/guard_allocations.h"
#include "millrace/jit/loop_kernel.h"
#include "millrace/ops/op_def.h"

namespace millrace {
namespace {

/// The number of results of a node is limited, because others keep one bit per result.
constexpr std::size_t kMaxResults = 32;

Status check_layout(std::string_view role, std::size_t number, const KernelTensor& tensor) {
  if (tensor.layout == Layout::row_major(tensor.type.shape)) return {};
  return invalid_argument(fmt::format("{} {} has {}, expected the row-major layout; leave the layout out", role, number,
                                      tensor.layout.to_text()));
}

Status check_operands(const LoopKernel& nest, std::span<const TensorType> operands) {
  if (operands.size() != nest.operands.size()) {
    return invalid_argument(
        fmt::format("{} operands, expected {} as in its loop nest; pass one per operand, and add none to the nest",
                    operands.size(), nest.operands.size()));
  }
  for (std::size_t i = 0; i < operands.size(); ++i) {
    MILLRACE_TRY(check_layout("operand", i, nest.operands[i]));
    if (operands[i] == nest.operands[i].type) continue;
    return invalid_argument(fmt::format("operand {} is {}, expected {} as in its loop nest; pass that type", i,
                                        operands[i].to_text(), nest.operands[i].type.to_text()));
  }
  return {};
}

}  // namespace

Result<Inference> infer_nest(const LoopKernel& nest, std::span<const TensorType> operands) {
  return guard_allocations([&]() -> Result<Inference> {
    if (nest.name.empty()) return invalid_argument("the name is empty; give every kernel a name");
    MILLRACE_TRY(unguarded(verify(nest)));
    MILLRACE_TRY(check_operands(nest, operands));
    if (nest.in_place) return invalid_argument("it is in place; leave that to the compiler");
    if (nest.results.empty() || nest.results.size() > kMaxResults) {
      return invalid_argument(fmt::format("{} results, expected 1 to {}; {}", nest.results.size(), kMaxResults,
                                          nest.results.empty() ? "add a store" : "make it several kernels"));
    }
    std::vector<TensorType> results;
    for (std::size_t i = 0; i < nest.results.size(); ++i) {
      MILLRACE_TRY(check_layout("result", i, nest.results[i]));
      const std::string problem = broken_limit(nest.results[i].type);
      if (!problem.empty()) return invalid_argument(fmt::format("result {} {}", i, problem));
      results.push_back(nest.results[i].type);
    }
    MILLRACE_TRY(unguarded(verify_safe(nest)));
    return results;
  });
}

}  // namespace millrace
