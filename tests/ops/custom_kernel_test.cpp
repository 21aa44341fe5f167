// SPDX-License-Identifier: Apache-2.0
#include "millrace/ops/custom_kernel.h"

#include <doctest/doctest.h>

#include "millrace/ops/bodies.h"
#include "millrace/ops/op_def.h"

using namespace millrace;

namespace {

struct Swish {
  static auto emit(auto& b, auto x) { return b.mul(x[0], math::sigmoid(b, x[0])); }
};

struct IsGreater {
  static auto emit(auto& b, auto x) { return b.gt(x[0], x[1]); }
};

Result<std::vector<TensorType>> infer(const CustomKernel& kernel, std::vector<TensorType> operands) {
  MILLRACE_TRY_ASSIGN(Inference inferred, infer_custom(kernel, operands));
  return std::move(inferred.results);
}

}  // namespace

TEST_CASE("a custom kernel has its operands' shape and the dtype that its body gives") {
  const TensorType x = {DType::kF32, {4, 8}};
  CHECK(*infer(make_custom_kernel<Swish>("swish"), {x}) == std::vector{x});
  CHECK(*infer(make_custom_kernel<IsGreater>("is_greater"), {x, x}) == std::vector{TensorType{DType::kBool, {4, 8}}});
}

TEST_CASE("a custom kernel's operands must have one shape") {
  const TensorType x = {DType::kF32, {4, 8}}, y = {DType::kF32, {8}};
  CHECK(infer(make_custom_kernel<IsGreater>("is_greater"), {x, y}).status().message() ==
        "operand 1 is f32[8], expected shape [4x8] like operand 0; insert a broadcast");
  CHECK(infer(make_custom_kernel<Swish>("swish"), {}).status().message() ==
        "0 operands, expected 1 or more; pass what the body reads");
}

TEST_CASE("a custom kernel's request is a map that bears its name") {
  const TensorType x = {DType::kF32, {4, 8}};
  const Attributes none = NoAttrs{};
  const auto requests = build_custom(make_custom_kernel<Swish>("swish"), {{&x, 1}, {&x, 1}, none});
  REQUIRE(requests->size() == 1);
  const auto& loop = std::get<LoopKernel>(requests->front());
  CHECK(loop.name == "swish");
  CHECK(loop.domain.size() == 2);
  CHECK(loop.term.instructions.empty());
  CHECK(loop.epilogue.yields.size() == 1);
}

TEST_CASE("the same body computes on the host") {
  HostEval host;
  const Scalar x = Scalar::of(0.0f);
  CHECK(make_custom_kernel<Swish>("swish").host(host, {&x, 1}, NoAttrs{}) == Scalar::of(0.0f));
  const Scalar pair[] = {Scalar::of(2.0f), Scalar::of(1.0f)};
  CHECK(make_custom_kernel<IsGreater>("is_greater").host(host, std::span<const Scalar>(pair), NoAttrs{}) ==
        Scalar::of(true));
}
