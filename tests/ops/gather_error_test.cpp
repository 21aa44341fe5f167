// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "tests/support/ops/op_driver.h"

using namespace millrace;
using namespace millrace::test;
using reference::Tensor;

namespace {

/// Along axis 0, on every ISA level, from every generator that takes the op.
void expect_out_of_range(Op op, std::span<const Tensor> operands) {
  for (const TargetSpec& target : host_targets()) {
    for (const std::string& generator : generator_names(target)) {
      for (const auto guard : {GuardedBuffer::Guard::kAfter, GuardedBuffer::Guard::kBefore}) {
        OpRunOptions options;
        options.run = {target, "", generator};
        options.guard = guard;
        const auto run = run_op(op, GatherAttrs{0}, operands, options);
        if (run.status().code() == StatusCode::kUnimplemented) continue;
        CAPTURE(to_text(op));
        CAPTURE(generator);
        CHECK(run.status().code() == StatusCode::kOutOfRange);
      }
    }
  }
}

}  // namespace

TEST_CASE("a gather index out of range is an error of the run, and nothing outside is read") {
  const Tensor x = reference::make_tensor<double>(DType::kF32, {3}, {1, 2, 3});
  for (const double index : {3.0, -4.0, 1e9, -1e9}) {
    const Tensor operands[] = {x, reference::make_tensor<double>(DType::kI32, {4}, {0, index, -1, 2})};
    for (const Op op : {Op::gather, Op::take_along_axis}) expect_out_of_range(op, operands);
  }
}

TEST_CASE("a scatter index out of range is an error of the run, and nothing outside is written") {
  const Tensor x = reference::make_tensor<double>(DType::kF32, {3}, {1, 2, 3});
  for (const double index : {3.0, -4.0, 1e9, -1e9}) {
    const Tensor operands[] = {x, reference::make_tensor<double>(DType::kI32, {2}, {index, -1}),
                               reference::make_tensor<double>(DType::kF32, {2}, {5, 6})};
    expect_out_of_range(Op::scatter_add, operands);
    expect_out_of_range(Op::scatter_mul, operands);
  }
}

TEST_CASE("a gather from an axis of extent 0 reports its index") {
  const Tensor nothing(DType::kF32, {0, 2});
  const Tensor gathered[] = {nothing, reference::make_tensor<double>(DType::kI64, {1}, {0})};
  expect_out_of_range(Op::gather, gathered);
  const Tensor taken[] = {nothing, reference::make_tensor<double>(DType::kI64, {1, 2}, {0, 0})};
  expect_out_of_range(Op::take_along_axis, taken);
}
