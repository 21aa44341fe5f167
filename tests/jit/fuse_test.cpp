// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <random>

#include <doctest/doctest.h>

#include "tests/jit/nest_builder.h"

namespace millrace {
namespace {

using test::matmul_nest;
using test::NestBuilder;
using test::unary_nest;

using Bytes = std::vector<std::byte>;

Bytes random_tensor(const KernelTensor& tensor, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> values(-3, 3);
  Bytes bytes(static_cast<std::size_t>(extent_elements(tensor.type.shape, tensor.layout).constant()) *
              size_bytes(tensor.type.dtype));
  for (std::size_t at = 0; at < bytes.size(); at += size_bytes(tensor.type.dtype)) {
    const Scalar value = Scalar::from_double(tensor.type.dtype, values(random));
    std::memcpy(&bytes[at], &value.bits, size_bytes(tensor.type.dtype));
  }
  return bytes;
}

/// Evaluates `kernel` on `operands`; its results.
std::vector<Bytes> evaluate_on(const LoopKernel& kernel, std::vector<Bytes> operands) {
  REQUIRE(verify(kernel).message() == "");
  REQUIRE(operands.size() == kernel.operands.size());
  std::vector<Bytes> results;
  for (const KernelTensor& result : kernel.results) results.push_back(random_tensor(result, 99));
  std::vector<void*> data;
  for (Bytes& operand : operands) data.push_back(operand.data());
  for (Bytes& result : results) data.push_back(result.data());
  REQUIRE(evaluate_loop_kernel(kernel, data, {}).ok());
  return results;
}

std::vector<Bytes> random_operands(const LoopKernel& kernel, unsigned seed) {
  std::vector<Bytes> operands;
  for (const KernelTensor& tensor : kernel.operands) operands.push_back(random_tensor(tensor, seed++));
  return operands;
}

Bytes take(std::vector<Bytes>& operands, std::size_t number) {
  Bytes taken = operands[number];
  operands.erase(operands.begin() + static_cast<std::ptrdiff_t>(number));
  return taken;
}

/// Fused is unfused bit for bit: producer into operand `operand` of consumer.
void check_producer(const LoopKernel& consumer, std::uint32_t operand, const LoopKernel& producer) {
  Result<LoopKernel> fused = fuse_producer(consumer, operand, producer);
  REQUIRE(fused.status().message() == "");
  std::vector<Bytes> inputs = random_operands(producer, 1);
  std::vector<Bytes> others = random_operands(consumer, 7);
  others[operand] = evaluate_on(producer, inputs)[0];
  const std::vector<Bytes> expected = evaluate_on(consumer, others);
  take(others, operand);
  others.insert(others.end(), inputs.begin(), inputs.end());
  CHECK(evaluate_on(*fused, others) == expected);
}

/// Likewise, consumer after result 0 of producer, with and without keeping it.
void check_consumer(const LoopKernel& producer, const LoopKernel& consumer, std::uint32_t operand) {
  std::vector<Bytes> inputs = random_operands(producer, 1);
  std::vector<Bytes> others = random_operands(consumer, 7);
  const Bytes between = evaluate_on(producer, inputs)[0];
  others[operand] = between;
  const Bytes expected = evaluate_on(consumer, others)[0];
  take(others, operand);
  inputs.insert(inputs.end(), others.begin(), others.end());
  for (const bool keep : {false, true}) {
    Result<LoopKernel> fused = fuse_consumer(producer, 0, consumer, operand, keep);
    REQUIRE(fused.status().message() == "");
    const std::vector<Bytes> results = evaluate_on(*fused, inputs);
    CHECK(results.back() == expected);
    CHECK(results.size() == (keep ? 2 : 1));
    if (keep) CHECK(results[0] == between);
  }
}

LoopKernel third(DType dtype, const Shape& shape) {
  return unary_nest("third", dtype, dtype, shape, [](auto& b, auto x) { return b.div(x, b.constant_like(x, 3)); });
}

LoopKernel transpose(DType dtype, SizeExpr rows, SizeExpr columns) {
  NestBuilder nest("transpose");
  nest.parallel("m", rows).parallel("n", columns);
  nest.operand("x", dtype, {columns, rows}, {nest.dim(1), nest.dim(0)});
  nest.result("y", dtype, {rows, columns}, {nest.dim(0), nest.dim(1)});
  nest.epilogue([dtype](BodyBuilder& b) { b.yield(b.load(0, body_dtype(dtype))); });
  return nest.kernel();
}

/// y[i] = x[i - 1], and 0.5 outside.
LoopKernel pad_row(std::int64_t size) {
  NestBuilder nest("pad");
  nest.parallel("i", size + 2);
  nest.operand("x", DType::kF32, {size}, {nest.index({{0, 1}}, -1)}, Scalar::of<float>(0.5f));
  nest.result("y", DType::kF32, {size + 2}, {nest.dim(0)});
  nest.epilogue([](BodyBuilder& b) { b.yield(b.load(0, DType::kF32)); });
  return nest.kernel();
}

/// y[i] = x[2 * i + 1]
LoopKernel every_second(std::int64_t size) {
  NestBuilder nest("slice");
  nest.parallel("i", size / 2);
  nest.operand("x", DType::kF32, {size}, {nest.index({{0, 2}}, 1)});
  nest.result("y", DType::kF32, {size / 2}, {nest.dim(0)});
  nest.epilogue([](BodyBuilder& b) { b.yield(b.load(0, DType::kF32)); });
  return nest.kernel();
}

LoopKernel ramp(std::int64_t rows, std::int64_t columns) {
  NestBuilder nest("ramp");
  nest.parallel("m", rows).parallel("n", columns);
  nest.result("y", DType::kF32, {rows, columns}, {nest.dim(0), nest.dim(1)});
  nest.epilogue([](BodyBuilder& b) {
    const BodyValue row = b.mul(b.index(0), b.constant_int(DType::kI64, 100));
    b.yield(b.convert(DType::kF32, b.add(row, b.index(1))));
  });
  return nest.kernel();
}

TEST_CASE("a producer fuses into a map, a transposed map, a contraction") {
  check_producer(third(DType::kF32, {3, 5}), 0, third(DType::kF32, {3, 5}));
  check_producer(transpose(DType::kF32, 5, 3), 0, third(DType::kF32, {3, 5}));
  check_producer(third(DType::kF32, {5, 3}), 0, transpose(DType::kF32, 5, 3));
  check_producer(matmul_nest(4, 6, 3), 1, transpose(DType::kF32, 3, 6));
  check_producer(matmul_nest(4, 6, 3), 0, third(DType::kF32, {4, 3}));
}

TEST_CASE("a producer's index becomes the consumer's expression") {
  check_producer(transpose(DType::kF32, 5, 3), 0, ramp(3, 5));
  check_producer(every_second(8), 0, unary_nest("iota", DType::kF32, DType::kF32, {8}, [](auto& b, auto x) {
                   return b.add(x, b.convert(DType::kF32, b.index(0)));
                 }));
}

TEST_CASE("a padding producer brings its guard; a plain view takes one over") {
  check_producer(third(DType::kF32, {8}), 0, pad_row(6));
  check_producer(every_second(8), 0, pad_row(6));
  check_producer(pad_row(6), 0, unary_nest("copy", DType::kF32, DType::kF32, {6}, [](auto&, auto x) { return x; }));
}

TEST_CASE("a fused 16-bit value is rounded where its store would have been") {
  for (const DType dtype : {DType::kF16, DType::kBF16}) {
    check_producer(third(dtype, {50}), 0, third(dtype, {50}));
    check_consumer(third(dtype, {50}), third(dtype, {50}), 0);
    check_producer(transpose(dtype, 5, 3), 0, third(dtype, {3, 5}));
  }
}

TEST_CASE("a producer is refused with the reason") {
  const auto refusal = [](const LoopKernel& consumer, std::uint32_t operand, const LoopKernel& producer) {
    const Result<LoopKernel> fused = fuse_producer(consumer, operand, producer);
    CHECK(fused.status().code() == StatusCode::kFailedPrecondition);
    return fused.status().message();
  };
  CHECK(refusal(third(DType::kF32, {4, 6}), 0, matmul_nest(4, 6, 3)) ==
        "fuse 'matmul' into 'third': the producer is a contract with 1 results, expected a map with one");
  CHECK(refusal(third(DType::kF32, {4}), 1, third(DType::kF32, {4})) ==
        "fuse 'third' into 'third': operand 1, expected less than 1");
  CHECK(refusal(third(DType::kF32, {4}), 0, third(DType::kF32, {5})) ==
        "fuse 'third' into 'third': makes f32[5], operand 0 is f32[4]");
  CHECK(refusal(pad_row(6), 0, third(DType::kF32, {6})) ==
        "fuse 'third' into 'pad': a load of operand 0 has a fill, and the producer is no plain view");
  CHECK(refusal(pad_row(4), 0, every_second(8)) ==
        "fuse 'slice' into 'pad': a load of operand 0 has a fill, and the producer is no plain view");
  LoopKernel gather = third(DType::kF32, {4});
  gather.loads[0].dynamic_dim = 0;
  CHECK(refusal(gather, 0, third(DType::kF32, {4})) ==
        "fuse 'third' into 'third': a load of operand 0 has a dynamic index");
  LoopKernel slice_of_concat = third(DType::kF32, {4});
  slice_of_concat.results[0].type.shape = {8};
  CHECK(refusal(third(DType::kF32, {8}), 0, slice_of_concat) ==
        "fuse 'third' into 'third': the producer's store does not walk each element of its result by its own dims");
  const SizeExpr stride = Dim("stride").at_least(1);
  LoopKernel strided = every_second(8);
  strided.loads[0].indices[0].coefficients[0] = stride;
  CHECK(refusal(strided, 0,
                unary_nest("iota", DType::kF32, DType::kF32, {8},
                           [](auto& b, auto) { return b.convert(DType::kF32, b.index(0)); })) ==
        "fuse 'iota' into 'slice': the producer's index 0 is (stride)*d0 + 1 in the consumer, which no "
        "body can compute");
}

TEST_CASE("a consumer fuses after a map, a contraction, in another order of dims") {
  check_consumer(third(DType::kF32, {3, 5}), third(DType::kF32, {3, 5}), 0);
  check_consumer(matmul_nest(4, 6, 3), third(DType::kF32, {4, 6}), 0);
  check_consumer(matmul_nest(4, 6, 3), transpose(DType::kF32, 6, 4), 0);

  NestBuilder bias("bias");
  bias.parallel("m", 4).parallel("n", 6);
  bias.operand("b", DType::kF32, {6}, {bias.dim(1)});
  bias.operand("x", DType::kF32, {4, 6}, {bias.dim(0), bias.dim(1)});
  bias.result("y", DType::kF32, {4, 6}, {bias.dim(0), bias.dim(1)});
  bias.epilogue([](BodyBuilder& b) {
    const BodyValue x = b.load(1, DType::kF32);
    b.yield(b.add(b.load(0, DType::kF32), b.mul(x, b.convert(DType::kF32, b.index(1)))));
  });
  check_consumer(matmul_nest(4, 6, 3), bias.kernel(), 1);
}

TEST_CASE("a consumer is refused with the reason") {
  const auto refusal = [](const LoopKernel& producer, const LoopKernel& consumer, std::uint32_t operand) {
    const Result<LoopKernel> fused = fuse_consumer(producer, 0, consumer, operand, false);
    CHECK(fused.status().code() == StatusCode::kFailedPrecondition);
    return fused.status().message();
  };
  CHECK(refusal(third(DType::kF32, {4, 3}), matmul_nest(4, 6, 3), 0) ==
        "fuse 'matmul' after 'third': the consumer is a contract, expected a map");
  CHECK(refusal(third(DType::kF32, {8}), every_second(8), 0) ==
        "fuse 'slice' after 'third': the consumer's d0 is no dim of the producer");
  CHECK(refusal(third(DType::kF32, {8}), third(DType::kF32, {9}), 0) ==
        "fuse 'third' after 'third': makes f32[8], operand 0 is f32[9]");
  LoopKernel twice = third(DType::kF32, {8});
  twice.loads.push_back({0, {{0, {SizeExpr(0)}}}, {}, {}});
  CHECK(refusal(third(DType::kF32, {8}), twice, 0) ==
        "fuse 'third' after 'third': load 1 reads another point of the result than the one just made");
}

TEST_CASE("operands that are one tensor merge, and so do their loads") {
  NestBuilder nest("square");
  nest.parallel("i", 4);
  nest.operand("x", DType::kF32, {4}, {nest.dim(0)});
  nest.operand("z", DType::kF32, {4}, {nest.dim(0)});
  nest.operand("y", DType::kF32, {4}, {nest.dim(0)});
  nest.result("r", DType::kF32, {4}, {nest.dim(0)});
  nest.epilogue([](BodyBuilder& b) {
    const BodyValue x = b.load(0, DType::kF32);
    const BodyValue y = b.load(2, DType::kF32);
    b.yield(b.mul(b.mul(x, y), b.load(1, DType::kF32)));
  });
  const LoopKernel merged = merge_operands(nest.kernel(), 0, 2);
  REQUIRE(verify(merged).message() == "");
  CHECK(merged.operands.size() == 2);
  CHECK(merged.loads.size() == 2);
  const Bytes x = random_tensor(nest.kernel().operands[0], 1), z = random_tensor(nest.kernel().operands[1], 2);
  CHECK(evaluate_on(merged, {x, z}) == evaluate_on(nest.kernel(), {x, z, x}));
}

}  // namespace
}  // namespace millrace
