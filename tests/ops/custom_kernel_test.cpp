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

namespace {

/// x[index] of a kernel with one operand, whatever that is.
template <std::size_t kIndex>
struct Read {
  static auto emit(auto& b, auto x) { return b.add(x[0], x[kIndex]); }
};
struct AddAll {
  static auto emit(auto& b, auto x) {
    auto sum = b.constant_like(x.front(), 0);
    for (auto each : x) sum = b.add(sum, each);
    return b.sub(sum, x.back());
  }
};
struct ReadEnd {
  static auto emit(auto&, auto x) { return *x.end(); }
};
/// A body may be another on the host.
struct HostReadsMore {
  template <class B>
  static auto emit(B& b, auto x) {
    return b.add(x[0], x[std::is_same_v<B, HostEval> ? 3 : 0]);
  }
};

std::string refusal(const CustomKernel& kernel) { return infer(kernel, {{DType::kI32, {4}}}).status().message(); }

std::string missing(const std::string& index) {
  return "reads x[" + index +
         "], expected an index below 1, the number of its operands; correct the index, or pass more operands";
}

}  // namespace

TEST_CASE("a body that reads a missing operand is refused, whatever the index") {
  CHECK(refusal(make_custom_kernel<Read<0>>("mine")) == "");
  CHECK(refusal(make_custom_kernel<Read<1>>("mine")) == "the body " + missing("1"));
  CHECK(refusal(make_custom_kernel<Read<1000000>>("mine")) == "the body " + missing("1000000"));
  CHECK(refusal(make_custom_kernel<Read<std::size_t(-1)>>("mine")) == "the body " + missing("-1"));
  CHECK(refusal(make_custom_kernel<ReadEnd>("mine")) == "the body " + missing("1"));
}

TEST_CASE("on the host, a missing operand is 0 of the first operand's dtype, and is reported") {
  const Scalar x = Scalar::of(std::int32_t{7});
  HostEval host;
  CHECK(make_custom_kernel<Read<2>>("mine").host(host, {host, {&x, 1}}, NoAttrs{}) == x);
  CHECK(host.mistake() == missing("2"));
  HostEval empty;
  CHECK(make_custom_kernel<ReadEnd>("mine").host(empty, {empty, {}}, NoAttrs{}) == Scalar::of(0.0f));
  CHECK(empty.mistake() ==
        "reads x[0], expected an index below 0, the number of its operands; correct the index, or pass more operands");
}

TEST_CASE("a body may iterate over its operands, and read the first and the last") {
  const Scalar three[] = {Scalar::of(1.0f), Scalar::of(2.0f), Scalar::of(4.0f)};
  HostEval host;
  CHECK(make_custom_kernel<AddAll>("all").host(host, {host, three}, NoAttrs{}) == Scalar::of(3.0f));
  CHECK(host.mistake() == "");
  const TensorType x = {DType::kF32, {4}};
  CHECK(*infer(make_custom_kernel<AddAll>("all"), {x, x, x}) == std::vector{x});
}

TEST_CASE("a request for a body that reads too many operands fails") {
  const TensorType x = {DType::kF32, {4, 8}};
  const Attributes none = NoAttrs{};
  CHECK(build_custom(make_custom_kernel<Read<1>>("mine"), {{&x, 1}, {&x, 1}, none}).status().message() ==
        "loop kernel 'elementwise': the epilogue " + missing("1"));
}

TEST_CASE("a body that reads more operands on the host than in a kernel is accepted until it runs there") {
  const Scalar x = Scalar::of(1.0f);
  HostEval host;
  CHECK(refusal(make_custom_kernel<HostReadsMore>("mine")) == "");
  (void)make_custom_kernel<HostReadsMore>("mine").host(host, {host, {&x, 1}}, NoAttrs{});
  CHECK(host.mistake() == missing("3"));
}

TEST_CASE("a custom kernel's request is a map with its name") {
  const TensorType x = {DType::kF32, {4, 8}};
  const Attributes none = NoAttrs{};
  const auto requests = build_custom(make_custom_kernel<Swish>("swish"), {{&x, 1}, {&x, 1}, none});
  REQUIRE(requests->size() == 1);
  const auto& loop = std::get<LoopKernel>(requests->front());
  CHECK(loop.name == "swish");
  CHECK(loop.domain.size() == 2);
  CHECK(loop.terms.empty());
  CHECK(loop.epilogue.yields.size() == 1);
}

TEST_CASE("the same body computes on the host") {
  HostEval host;
  const Scalar x = Scalar::of(0.0f);
  CHECK(make_custom_kernel<Swish>("swish").host(host, {host, {&x, 1}}, NoAttrs{}) == Scalar::of(0.0f));
  const Scalar pair[] = {Scalar::of(2.0f), Scalar::of(1.0f)};
  CHECK(make_custom_kernel<IsGreater>("is_greater").host(host, {host, pair}, NoAttrs{}) == Scalar::of(true));
}
