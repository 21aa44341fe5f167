// SPDX-License-Identifier: Apache-2.0
// Elements computed by lanes, on the host and emitted, against the definition of each body op.
#include "jit/lanes/load_microkernels.h"

#include <cmath>
#include <cstring>
#include <random>

#include <doctest/doctest.h>

#include "hal/host/routines/row_loader.h"
#include "tests/jit/guarded_memory.h"
#include "tests/jit/lanes/lane_code.h"
#include "tests/support/kernels/evaluate_lanes.h"
#include "tests/support/sliced.h"

namespace millrace {
namespace {

using test::GuardedMemory;
using Source = ComputedElements::Source;

/// Zeros, the ends of the range, infinities, NaNs and their neighbours, among random bits.
Scalar draw(DType dtype, std::mt19937_64& random) {
  constexpr double kSpecial[] = {0, -0.0, 1, -1, 0.5, 127, 128, -129, 255, 65504, 2147483648.0, -2147483904.0, 1e30};
  const std::uint64_t kind = random() % 4;
  if (dtype == DType::kBool) return Scalar::of(random() % 2 == 0);
  if (kind == 0) return Scalar::from_double(dtype, kSpecial[random() % std::size(kSpecial)]);
  if (kind == 1 && is_float(dtype)) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    const double pick[] = {kInfinity, -kInfinity, std::nan(""), 1e-40};
    return Scalar::from_double(dtype, pick[random() % 4]);
  }
  if (kind == 2) return Scalar::from_double(dtype, static_cast<double>(random() % 2000) / 8 - 125);
  return {dtype, random() >> (64 - 8 * size_bytes(dtype))};
}

/// The definition: the body's instructions one by one, on an element of each source.
Scalar defined(const ComputedElements& elements, std::span<const Scalar> loads) {
  const auto converted = [](DType to, Scalar x) {
    return x.dtype == to ? x : evaluate(KernelOp::kConvert, to, std::span(&x, 1));
  };
  std::vector<Scalar> values;
  for (const BodyInstruction& instruction : elements.body.instructions) {
    if (instruction.op == KernelOp::kLoad) {
      values.push_back(converted(instruction.dtype, loads[instruction.immediate]));
    } else if (instruction.op == KernelOp::kConstant) {
      values.push_back({instruction.dtype, instruction.immediate});
    } else {
      std::vector<Scalar> operands;
      for (unsigned i = 0; i < instruction.num_operands; ++i) {
        operands.push_back(values[index_of(instruction.operands[i])]);
      }
      values.push_back(evaluate(instruction.op, instruction.dtype, operands));
    }
  }
  return converted(elements.dtype, values[index_of(elements.body.yields[0])]);
}

bool are_same(const Scalar& a, const Scalar& b) {
  // Which NaN a computation gives is not said.
  if (is_float(a.dtype) && std::isnan(a.to_double())) return std::isnan(b.to_double());
  return a == b;
}

/// Computes `count` elements on the host and by code, in memory that ends at a page without access.
void check_elements(IsaLevel isa, const ComputedElements& elements, std::int64_t count, std::uint64_t seed) {
  const LaneFunction function = compute_elements_function(isa, elements).value();
  const LaneCode code(function);
  std::mt19937_64 random(seed);
  std::vector<std::vector<Scalar>> sources;
  std::vector<GuardedMemory> memory;
  std::array<std::int64_t, kMaxLaneArguments> arguments{};
  for (const Source& source : elements.sources) {
    std::vector<Scalar>& values = sources.emplace_back();
    const std::size_t bytes = size_bytes(source.dtype);
    for (std::int64_t i = 0; i < (source.is_spread ? 1 : count); ++i) values.push_back(draw(source.dtype, random));
    GuardedMemory& there = memory.emplace_back(values.size() * bytes, GuardedMemory::Side::kEnd);
    for (std::size_t i = 0; i < values.size(); ++i) std::memcpy(there.data() + i * bytes, &values[i].bits, bytes);
    arguments[1 + memory.size()] = reinterpret_cast<std::int64_t>(there.data());
  }
  const std::size_t bytes = size_bytes(elements.dtype);
  for (const bool emitted : {false, true}) {
    CAPTURE(emitted);
    const GuardedMemory to(static_cast<std::size_t>(count) * bytes, GuardedMemory::Side::kEnd);
    arguments[0] = reinterpret_cast<std::int64_t>(to.data());
    arguments[1] = count;
    emitted ? code.run(arguments) : evaluate_lanes(function, arguments);
    for (std::int64_t i = 0; i < count; ++i) {
      std::vector<Scalar> loads;
      for (std::size_t s = 0; s < sources.size(); ++s) {
        loads.push_back(sources[s][elements.sources[s].is_spread ? 0 : static_cast<std::size_t>(i)]);
      }
      const Scalar expected = defined(elements, loads);
      const Scalar found = load_scalar(elements.dtype, to.data() + static_cast<std::size_t>(i) * bytes);
      if (are_same(found, expected)) continue;
      std::string given;
      for (const Scalar& load : loads) given += " " + to_text(load);
      FAIL(to_text(elements.body), "of", given, " is ", to_text(found), ", expected ", to_text(expected));
    }
  }
}

/// One op on loads of these dtypes.
ComputedElements one_op(KernelOp op, std::span<const DType> from, DType to) {
  ComputedElements elements;
  BodyBuilder b;
  std::vector<BodyValue> x;
  for (std::uint32_t i = 0; i < from.size(); ++i) {
    elements.sources.push_back({from[i], i == 1});
    x.push_back(b.load(i, from[i]));
  }
  BodyValue y;
  if (x.size() == 1) y = b.emit(op, to, {x[0]});
  if (x.size() == 2) y = b.emit(op, to, {x[0], x[1]});
  if (x.size() == 3) y = b.emit(op, to, {x[0], x[1], x[2]});
  b.yield(y);
  elements.body = b.finish();
  elements.dtype = to;
  return elements;
}

/// The ops without lanes.
bool is_refused(KernelOp op, DType from, DType to) {
  const bool is_wide = size_bytes(from) == 8 || size_bytes(to) == 8;
  const auto is_narrow_float = [](DType dtype) { return is_float(dtype) && size_bytes(dtype) < 8; };
  if (is_wide && (is_narrow_float(from) || is_narrow_float(to))) return true;
  switch (op) {
    case KernelOp::kMulAdd:
    case KernelOp::kRem:
    case KernelOp::kFloor:
    case KernelOp::kCeil:
    case KernelOp::kTrunc:
    case KernelOp::kRoundEven:
    case KernelOp::kSqrt:
    case KernelOp::kShl:
    case KernelOp::kShr:
      return true;
    case KernelOp::kDiv:
      return !is_float(from);
    case KernelOp::kConvert:
      if (from == DType::kF64 || to == DType::kF64) return to != DType::kBool && from != to;
      return (from == DType::kF32 && to == DType::kU32) || (from == DType::kU32 && to == DType::kF32);
    default:
      return false;
  }
}

TEST_CASE("lanes compute each op of bodies as defined, or refuse it") {
  int num_computed = 0;
  for (const KernelOp op : kAllKernelOps) {
    if (!is_lanewise(op) || op == KernelOp::kConstant) continue;
    for (const DType from : kAllDTypes) {
      for (const DType to : kAllDTypes) {
        if (!is_register_dtype(from) || !is_register_dtype(to)) continue;
        std::vector<DType> operands(num_operands(op), from);
        if (op == KernelOp::kSelect) operands[0] = DType::kBool;
        if (!follows_rule(op, to, operands) || (op == KernelOp::kConvert && from == to)) continue;
        CAPTURE(to_text(op));
        CAPTURE(to_text(from));
        CAPTURE(to_text(to));
        const ComputedElements elements = one_op(op, operands, to);
        for (const IsaLevel isa : host_lane_levels()) {
          const auto function = compute_elements_function(isa, elements);
          REQUIRE(function.ok() != is_refused(op, from, to));
          if (!function.ok()) continue;
          ++num_computed;
          for (const std::int64_t count : {0, 1, 7, 16, 67, 200}) check_elements(isa, elements, count, 1);
        }
      }
    }
  }
  CHECK(num_computed > 250 * std::ssize(host_lane_levels()));
}

/// x * scale + bias, rounded to the dtype after each.
ComputedElements scale_and_bias(DType dtype, bool spreads) {
  ComputedElements elements;
  BodyBuilder b;
  const auto rounded = [&](BodyValue x) {
    return body_dtype(dtype) == dtype ? x : b.convert(DType::kF32, b.convert(dtype, x));
  };
  BodyValue x[3];
  for (std::uint32_t i = 0; i < 3; ++i) {
    elements.sources.push_back({dtype, spreads && i > 0});
    x[i] = b.load(i, body_dtype(dtype));
  }
  b.yield(rounded(b.add(rounded(b.mul(x[0], x[1])), x[2])));
  elements.body = b.finish();
  elements.dtype = dtype;
  return elements;
}

TEST_CASE("a scale and a bias round twice, in every dtype" * test::Sliced()) {
  for (const IsaLevel isa : host_lane_levels()) {
    for (const DType dtype : kAllDTypes) {
      if (dtype == DType::kBool) continue;
      CAPTURE(to_text(dtype));
      for (const bool spreads : {false, true}) {
        for (std::int64_t count = 0; count < 150; ++count)
          check_elements(isa, scale_and_bias(dtype, spreads), count, 3);
      }
    }
  }
}

TEST_CASE("lanes convert from one stored dtype to another") {
  for (const DType from : kAllDTypes) {
    for (const DType to : kAllDTypes) {
      ComputedElements elements;
      BodyBuilder b;
      elements.sources = {{from, false}};
      b.yield(b.convert(body_dtype(to), b.load(0, body_dtype(from))));
      elements.body = b.finish();
      elements.dtype = to;
      CAPTURE(to_text(from));
      CAPTURE(to_text(to));
      for (const IsaLevel isa : host_lane_levels()) {
        if (compute_elements_function(isa, elements).ok()) check_elements(isa, elements, 77, 5);
      }
    }
  }
}

/// A body of many values that live until its end, which spills.
TEST_CASE("long bodies compute the defined results") {
  ComputedElements elements;
  BodyBuilder b;
  std::vector<BodyValue> values;
  for (std::uint32_t i = 0; i < 4; ++i) {
    elements.sources.push_back({DType::kF32, i == 3});
    values.push_back(b.load(i, DType::kF32));
  }
  for (std::size_t i = 0; i < 36; ++i) {
    const BodyValue a = values[values.size() - 3], c = values[(i * 7) % values.size()];
    values.push_back(i % 3 == 0 ? b.max(a, c) : i % 3 == 1 ? b.sub(a, c) : b.select(b.lt(a, c), a, b.abs(c)));
  }
  BodyValue sum = values[0];
  for (const BodyValue& value : std::span(values).subspan(20)) sum = b.min(sum, value);
  b.yield(sum);
  elements.body = b.finish();
  for (const IsaLevel isa : host_lane_levels()) check_elements(isa, elements, 100, 9);
}

std::string refusal(const ComputedElements& elements) {
  return compute_elements_function(IsaLevel::kAvx2, elements).status().message();
}

TEST_CASE("an op that lanes cannot compute is refused, and named") {
  const DType f32[3] = {DType::kF32, DType::kF32, DType::kF32}, u32[1] = {DType::kU32}, i64[1] = {DType::kI64};
  CHECK_EQ(refusal(one_op(KernelOp::kMulAdd, f32, DType::kF32)), "mul_add of f32 has no lane instruction");
  CHECK_EQ(refusal(one_op(KernelOp::kSqrt, std::span(f32, 1), DType::kF32)), "sqrt of f32 has no lane instruction");
  CHECK_EQ(refusal(one_op(KernelOp::kConvert, u32, DType::kF32)), "convert of u32 to f32 has no lane instruction");
  CHECK_EQ(refusal(one_op(KernelOp::kConvert, i64, DType::kF32)), "f32 and i64 in one body, expected one width");
  ComputedElements elements;
  BodyBuilder b;
  BodyValue sum = b.load(0, DType::kF32);
  for (std::uint32_t i = 1; i < 5; ++i) sum = b.add(sum, b.load(i, DType::kF32));
  elements.sources.resize(5);
  b.yield(sum);
  elements.body = b.finish();
  CHECK_EQ(refusal(elements), "5 loads, expected at most 4");
  elements.sources.resize(1);
  BodyBuilder longer;
  BodyValue x = longer.load(0, DType::kF32);
  for (int i = 0; i < 128; ++i) x = longer.neg(x);
  longer.yield(x);
  elements.body = longer.finish();
  CHECK_EQ(refusal(elements), "129 body instructions, expected at most 128");
  BodyBuilder indexed;
  indexed.yield(indexed.index(0));
  elements.body = indexed.finish();
  elements.dtype = DType::kI64;
  CHECK_EQ(refusal(elements), "index of i64 has no lane instruction");
}

}  // namespace
}  // namespace millrace
