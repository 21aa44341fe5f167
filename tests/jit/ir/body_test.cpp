// SPDX-License-Identifier: Apache-2.0
#include "millrace/jit/body.h"

#include <random>

#include <doctest/doctest.h>

#include "tests/jit/llvm/edge_values.h"
#include "tests/support/golden.h"
#include "tests/support/kernels/machine_kernels.h"

namespace millrace {
namespace {

/// Uses the whole vocabulary that f32 has.
struct EveryFloatOp {
  template <class B, class V = typename B::Value>
  V operator()(B& b, V x, V y) const {
    const V sum = b.mul_add(x, b.constant_like(x, 0.5), b.add(x, y));
    const V ratio = b.div(b.sub(sum, y), b.sqrt(b.abs(b.mul(x, y))));
    const V rounded = b.add(b.floor(ratio), b.trunc(b.neg(ratio)));
    const V nearest = b.sub(b.ceil(ratio), b.round_even(ratio));
    const V low = b.min(rounded, b.max(nearest, y));
    const V bits = b.bitcast(DType::kI32, low);
    const V count = b.rem(b.convert(DType::kI32, x), b.constant_int(DType::kI32, 7));
    const V shifted = b.bit_xor(b.shl(bits, count), b.bit_or(b.shr(bits, count), b.bit_and(bits, count)));
    const V is_less = b.bit_or(b.gt(x, y), b.bit_and(b.le(x, low), b.ne(x, y)));
    const V same = b.bit_or(b.eq(count, bits), b.bit_or(b.ge(x, low), b.lt(low, y)));
    const V chosen = b.select(is_less, b.convert(DType::kF32, shifted), low);
    return b.select(same, chosen, b.convert(DType::kF32, b.convert(DType::kF16, ratio)));
  }
};

/// What a recorded body yields, its loads being `x`.
Scalar run(const Body& body, std::span<const Scalar> x) {
  std::vector<Scalar> values;
  for (const BodyInstruction& instruction : body.instructions) {
    if (instruction.op == KernelOp::kLoad) {
      values.push_back(x[instruction.immediate]);
    } else if (instruction.op == KernelOp::kConstant) {
      values.push_back({instruction.dtype, instruction.immediate});
    } else {
      Scalar operands[3];
      for (unsigned i = 0; i < instruction.num_operands; ++i) operands[i] = values[index_of(instruction.operands[i])];
      values.push_back(evaluate(instruction.op, instruction.dtype, std::span(operands, instruction.num_operands)));
    }
  }
  return values[index_of(body.yields[0])];
}

TEST_CASE("a body gives the same value when recorded and on the host") {
  BodyBuilder recorder;
  const BodyValue first = recorder.load(0, DType::kF32);
  const BodyValue second = recorder.load(1, DType::kF32);
  recorder.yield(EveryFloatOp()(recorder, first, second));
  const Body body = recorder.finish();
  HostEval host;
  for (const Scalar& x : edge_values(DType::kF32)) {
    for (const Scalar& y : edge_values(DType::kF32)) {
      const Scalar operands[] = {x, y};
      const Scalar expected = EveryFloatOp()(host, x, y);
      CAPTURE(to_text(x));
      CAPTURE(to_text(y));
      CHECK(test::same_value(run(body, operands), expected));
    }
  }
}

TEST_CASE("a body's text has one line per value") {
  BodyBuilder b;
  const BodyValue index = b.index(1);
  const BodyValue extent = b.constant_int(DType::kI64, 10);
  const BodyValue checked = b.check_index(index, extent);
  const BodyValue x = b.load(0, DType::kF32, checked);
  const BodyValue sum = b.reduced(2, DType::kF32);
  b.yield(b.mul_add(x, sum, b.load(3, DType::kF32)));
  b.yield(checked);
  CHECK(test::golden_problem("body.txt", to_text(b.finish())) == "");
}

TEST_CASE("inlining a body copies it, except for the replaced operands") {
  BodyBuilder inner;
  const BodyValue a = inner.load(0, DType::kF32);
  const BodyValue c = inner.load(1, DType::kF32);
  inner.yield(inner.sub(a, c));
  const Body body = inner.finish();
  BodyBuilder outer;
  const BodyValue two = outer.constant(DType::kF32, 2);
  const auto yields = outer.inline_body(body, [&](const BodyInstruction& instruction) -> std::optional<BodyValue> {
    if (instruction.op == KernelOp::kLoad && instruction.immediate == 0) return two;
    return std::nullopt;
  });
  REQUIRE(yields.size() == 1);
  outer.yield(yields[0]);
  CHECK(to_text(outer.finish()) ==
        "%0 = constant 2 : f32\n"
        "%1 = load 1 : f32\n"
        "%2 = sub %0, %1 : f32\n"
        "yield %2\n");
}

}  // namespace
}  // namespace millrace
