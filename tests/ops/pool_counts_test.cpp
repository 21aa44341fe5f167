// SPDX-License-Identifier: Apache-2.0
// An average pool counts the points of its windows in i32 only if all counts fit.
#include <array>

#include <doctest/doctest.h>

#include "millrace/jit/loop_kernel.h"
#include "millrace/ops/op_def.h"

namespace millrace {
namespace {

/// The text of the kernel of an average pool whose windows end in padding.
std::string kernel_of(std::int64_t size, std::int64_t window) {
  const Attributes attributes = Pool2dAttrs{.window = {window, window},
                                            .strides = {window, window},
                                            .padding = {window - 1, window - 1, window - 1, window - 1},
                                            .count_include_pad = true,
                                            .ceil_mode = true};
  const std::array operands = {TensorType{DType::kF32, {1, 1, 1, size}}};
  const std::vector<TensorType> results = infer_types(Op::avg_pool2d, operands, attributes).value().results;
  const std::vector<KernelRequest> requests =
      definition(Op::avg_pool2d).build({operands, results, attributes, ~0u}).value();
  const auto& kernel = std::get<LoopKernel>(requests[0]);
  REQUIRE(verify(kernel).message() == "");
  return to_text(kernel);
}

TEST_CASE("an average pool counts in i32, unless a window has 2^31 points or an index needs more") {
  const auto counts_in_i32 = [](std::int64_t size, std::int64_t window) {
    return kernel_of(size, window).find("i32") != std::string::npos;
  };
  CHECK(counts_in_i32(112, 3));
  CHECK(counts_in_i32(1, 46'340));
  CHECK(!counts_in_i32(1, 46'341));  // whose square is above 2^31
  CHECK(!counts_in_i32(std::int64_t{1} << 31, 3));
}

}  // namespace
}  // namespace millrace
