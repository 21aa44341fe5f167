// SPDX-License-Identifier: Apache-2.0
// The type rule and the kernel request of elementwise kernels that an application provides.
#include "millrace/ops/custom_kernel.h"

#include <fmt/format.h>

#include "base/guard_allocations.h"
#include "millrace/base/printable.h"
#include "ops/elementwise.h"

namespace millrace {

using namespace ops;

/// Records the body to find out the dtype that it returns.
Result<Inference> infer_custom(const CustomKernel& kernel, std::span<const TensorType> operands) {
  return guard_allocations([&]() -> Result<Inference> {
    if (kernel.name.empty()) return invalid_argument("the name is empty; give every kernel a name");
    if (kernel.body == nullptr || kernel.host == nullptr) {
      return invalid_argument("the kernel has no body; make it with make_custom_kernel<Body>()");
    }
    if (operands.empty()) return invalid_argument("0 operands, expected 1 or more; pass what the body reads");
    BodyBuilder b;
    std::vector<BodyValue> values;
    for (std::size_t i = 0; i < operands.size(); ++i) {
      if (operands[i].shape != operands[0].shape) {
        return invalid_argument("operand " + std::to_string(i) + " is " + operands[i].to_text() + ", expected shape " +
                                operands[0].shape.to_text() + " like operand 0; insert a broadcast");
      }
      values.push_back(b.load(static_cast<std::uint32_t>(i), body_dtype(operands[i].dtype)));
    }
    const BodyValue result = kernel.body(b, {b, values}, NoAttrs{});
    if (!b.mistake().empty()) return invalid_argument("the body " + b.mistake());
    if (!b.defines(result))
      return invalid_argument("the body returns a value that it does not compute; return a value made by b");
    return std::vector<TensorType>{{result.dtype, operands[0].shape}};
  });
}

Result<std::vector<KernelRequest>> build_custom(const CustomKernel& kernel, const OpInstance& node) {
  return guard_allocations([&]() -> Result<std::vector<KernelRequest>> {
    MILLRACE_TRY_ASSIGN(std::vector<KernelRequest> requests, build_elementwise(node, kernel.body));
    std::get<LoopKernel>(requests.front()).name = printable(kernel.name);
    return requests;
  });
}

}  // namespace millrace
