// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <random>

#include <doctest/doctest.h>

#include "tests/jit/ir/scalar_reference.h"
#include "tests/jit/llvm/edge_values.h"
#include "tests/support/kernels/machine_kernels.h"
#include "tests/support/sliced.h"

namespace millrace {
namespace {

Scalar pick(DType dtype, std::mt19937_64& random) {
  if (!is_register_dtype(dtype)) return {dtype, random() & 0xffff};
  const std::vector<Scalar> values = edge_values(dtype);
  return random() % 2 == 0 ? values[random() % values.size()] : random_value(dtype, random);
}

/// Describes the first operands on which `evaluate` and the reference differ; empty for none.
std::string first_difference(const test::OpSignature& signature, int count, std::mt19937_64& random) {
  for (int i = 0; i < count; ++i) {
    std::vector<Scalar> x;
    for (const DType dtype : signature.operands) x.push_back(pick(dtype, random));
    const Scalar found = evaluate(signature.op, signature.result, x);
    const Scalar expected = test::reference_value(signature.op, signature.result, x);
    if (test::same_value(found, expected)) continue;
    std::string text = signature.to_text() + ":";
    for (const Scalar& operand : x) text += " " + to_text(operand);
    return text + " gives " + to_text(found) + ", expected " + to_text(expected);
  }
  return {};
}

TEST_CASE("every lanewise op on every dtype equals the result of 128-bit integers and std::" * test::Sliced()) {
  std::mt19937_64 random(2);
  for (const test::OpSignature& signature : test::lanewise_signatures()) {
    CHECK(first_difference(signature, 4000, random) == "");
  }
}

TEST_CASE("unary ops are right on every edge value") {
  for (const test::OpSignature& signature : test::lanewise_signatures()) {
    if (signature.operands.size() != 1) continue;
    for (const Scalar& value : edge_values(signature.operands[0])) {
      const Scalar x[] = {value};
      const Scalar found = evaluate(signature.op, signature.result, x);
      const Scalar expected = test::reference_value(signature.op, signature.result, x);
      CAPTURE(signature.to_text());
      CAPTURE(to_text(value));
      CAPTURE(to_text(found));
      CAPTURE(to_text(expected));
      CHECK(test::same_value(found, expected));
    }
  }
}

TEST_CASE("16-bit floats convert to and from every dtype, rounding once") {
  std::mt19937_64 random(3);
  for (const DType half : {DType::kF16, DType::kBF16}) {
    for (const DType other : kAllDTypes) {
      CHECK(first_difference({KernelOp::kConvert, {half}, other}, 20000, random) == "");
      CHECK(first_difference({KernelOp::kConvert, {other}, half}, 20000, random) == "");
    }
  }
}

TEST_CASE("a scalar's text is exact") {
  CHECK(to_text(Scalar::of(0.1f)) == "0.1");
  CHECK(to_text(Scalar::of(-0.0)) == "-0");
  CHECK(to_text(Scalar::of(1e300)) == "1e+300");
  CHECK(to_text(Scalar{DType::kF32, 0x7fc00001}) == "nan(0x7fc00001)");
  CHECK(to_text(Scalar{DType::kF64, 0xfff8000000000000}) == "nan(0xfff8000000000000)");
  CHECK(to_text(Scalar{DType::kF16, 0x7c00}) == "inf");
  CHECK(to_text(Scalar{DType::kBF16, 0x7fc1}) == "nan(0x7fc1)");
  CHECK(to_text(Scalar::of(true)) == "true");
  CHECK(to_text(Scalar::of(std::int8_t{-7})) == "-7");
  CHECK(to_text(Scalar::of(~std::uint64_t{0})) == "18446744073709551615");
}

TEST_CASE("scalars made from numbers round and saturate from a double, and wrap from an integer") {
  CHECK(Scalar::from_double(DType::kI8, 300) == Scalar::of(std::int8_t{127}));
  CHECK(Scalar::from_double(DType::kU8, -1) == Scalar::of(std::uint8_t{0}));
  CHECK(Scalar::from_double(DType::kI32, NAN) == Scalar::of(0));
  CHECK(Scalar::from_double(DType::kF32, 0.1) == Scalar::of(0.1f));
  CHECK(Scalar::from_int(DType::kU8, 257) == Scalar::of(std::uint8_t{1}));
  CHECK(Scalar::from_int(DType::kU64, -1) == Scalar::of(~std::uint64_t{0}));
  CHECK(Scalar::from_int(DType::kBool, 2) == Scalar::of(true));
  CHECK(Scalar::of(std::uint64_t{1} << 63).to_double() == 0x1p63);
}

TEST_CASE("an op refuses dtypes that its row of the table does not name") {
  const DType f32x2[] = {DType::kF32, DType::kF32}, mixed[] = {DType::kF32, DType::kI32};
  const DType boolean[] = {DType::kBool, DType::kBool}, half[] = {DType::kF16, DType::kF16};
  CHECK(follows_rule(KernelOp::kAdd, DType::kF32, f32x2));
  CHECK_FALSE(follows_rule(KernelOp::kAdd, DType::kF32, mixed));
  CHECK_FALSE(follows_rule(KernelOp::kAdd, DType::kI32, f32x2));
  CHECK_FALSE(follows_rule(KernelOp::kAdd, DType::kF16, half));
  CHECK_FALSE(follows_rule(KernelOp::kAdd, DType::kBool, boolean));
  CHECK(follows_rule(KernelOp::kMul, DType::kBool, boolean));
  CHECK_FALSE(follows_rule(KernelOp::kRem, DType::kF32, f32x2));
  CHECK_FALSE(follows_rule(KernelOp::kBitcast, DType::kU64, std::span(f32x2, 1)));
  CHECK_FALSE(follows_rule(KernelOp::kLoad, DType::kF32, {}));
}

}  // namespace
}  // namespace millrace
