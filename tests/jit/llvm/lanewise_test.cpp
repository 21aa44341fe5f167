// SPDX-License-Identifier: Apache-2.0
// Emitted code against `evaluate`: every lanewise op, dtype, lane count and instruction set.
#include <algorithm>
#include <cstring>
#include <limits>
#include <random>

#include <doctest/doctest.h>

#include "millrace/jit/machine_builder.h"
#include "tests/jit/llvm/edge_values.h"
#include "tests/jit/llvm/emit_support.h"
#include "tests/support/sliced.h"

namespace millrace {
namespace {

/// f16 and bf16 stand in memory only.
bool is_in_registers(DType dtype) { return dtype != DType::kF16 && dtype != DType::kBF16; }

struct Triple {
  Scalar x, y, z, condition;
};

struct Expression {
  KernelOp op;
  DType result;
};

/// Every pair of edge values, with a third that wanders, then random values; a multiple of 16.
std::vector<Triple> sample_triples(DType dtype) {
  std::vector<Triple> triples;
  const std::vector<Scalar> edges = edge_values(dtype);
  for (std::size_t i = 0; i < edges.size(); ++i) {
    for (std::size_t j = 0; j < edges.size(); ++j) {
      triples.push_back({edges[i], edges[j], edges[(i * 7 + j * 3) % edges.size()], Scalar::of((i + j) % 2 == 0)});
    }
  }
  std::mt19937_64 random(11);
  for (int i = 0; i < 500 || triples.size() % 16 != 0; ++i) {
    triples.push_back({random_value(dtype, random), random_value(dtype, random), random_value(dtype, random),
                       random_value(DType::kBool, random)});
  }
  return triples;
}

/// All that can be asked of operands of `dtype`.
std::vector<Expression> expressions_on(DType dtype) {
  std::vector<Expression> expressions;
  for (const KernelOp op : kAllKernelOps) {
    if (!is_lanewise(op) || op == KernelOp::kConstant || !takes(op, dtype)) continue;
    for (const DType to : kAllDTypes) {
      if (!is_in_registers(to)) continue;
      const bool is_conversion = rule_of(op) == KernelOpRule::kConvert && to != dtype;
      const bool is_compare = rule_of(op) == KernelOpRule::kCompare;
      const bool is_same = rule_of(op) == KernelOpRule::kArith || rule_of(op) == KernelOpRule::kSelect;
      const DType operands[] = {dtype};
      if (is_conversion && !follows_rule(op, to, operands)) continue;
      if (is_conversion || (is_compare && to == DType::kBool) || (is_same && to == dtype)) {
        expressions.push_back({op, to});
      }
    }
  }
  return expressions;
}

Scalar expected_value(const Expression& expression, const Triple& t, IsaLevel isa) {
  const Scalar all[] = {t.x, t.y, t.z};
  const Scalar selected[] = {t.condition, t.x, t.y};
  if (expression.op == KernelOp::kSelect) return evaluate(expression.op, expression.result, selected);
  if (expression.op == KernelOp::kMulAdd && is_float(t.x.dtype) && isa == IsaLevel::kBaseline) {
    const Scalar product[] = {evaluate(KernelOp::kMul, t.x.dtype, std::span(all).first(2)), t.z};
    return evaluate(KernelOp::kAdd, t.x.dtype, product);
  }
  return evaluate(expression.op, expression.result, std::span(all).first(num_operands(expression.op)));
}

MachineKernel build_kernel(DType dtype, const std::vector<Expression>& expressions, std::uint32_t lanes,
                           std::int64_t num_elements) {
  MachineBuilder b("lanewise");
  const MemoryHandle x = b.buffer("x", dtype, BufferAccess::kRead), y = b.buffer("y", dtype, BufferAccess::kRead),
                     z = b.buffer("z", dtype, BufferAccess::kRead),
                     condition = b.buffer("c", DType::kBool, BufferAccess::kRead);
  std::vector<MemoryHandle> results;
  for (std::size_t i = 0; i < expressions.size(); ++i) {
    results.push_back(b.buffer("r" + std::to_string(i), expressions[i].result, BufferAccess::kWrite));
  }
  b.for_loop(b.i64(0), b.i64(num_elements), b.i64(lanes), {}, [&](MachineValue i, const MachineBuilder::Values&) {
    const MachineValue vx = b.load(x, i, lanes), vy = b.load(y, i, lanes), vz = b.load(z, i, lanes);
    const MachineValue vc = b.load(condition, i, lanes);
    for (std::size_t k = 0; k < expressions.size(); ++k) {
      const auto [op, result] = expressions[k];
      MachineValue value;
      if (op == KernelOp::kSelect) {
        value = b.emit(op, result, {vc, vx, vy});
      } else if (num_operands(op) == 1) {
        value = b.emit(op, result, {vx});
      } else if (num_operands(op) == 2) {
        value = b.emit(op, result, {vx, vy});
      } else {
        value = b.emit(op, result, {vx, vy, vz});
      }
      b.store(results[k], i, value);
    }
    return MachineBuilder::Values{};
  });
  return b.finish();
}

void check_dtype(DType dtype, IsaLevel isa) {
  const std::vector<Triple> triples = sample_triples(dtype);
  const std::vector<Expression> expressions = expressions_on(dtype);
  std::vector<std::vector<std::byte>> operands(4), expected(expressions.size());
  for (const Triple& t : triples) {
    put(operands[0], t.x);
    put(operands[1], t.y);
    put(operands[2], t.z);
    put(operands[3], t.condition);
    for (std::size_t k = 0; k < expressions.size(); ++k) put(expected[k], expected_value(expressions[k], t, isa));
  }
  for (const std::uint32_t lanes : {1u, 2u, 4u, 8u, 16u}) {
    std::vector<std::vector<std::byte>> found = expected;
    std::vector<void*> buffers;
    for (auto& operand : operands) buffers.push_back(operand.data());
    for (auto& result : found) {
      std::ranges::fill(result, std::byte{0xaa});
      buffers.push_back(result.data());
    }
    const auto num_elements = static_cast<std::int64_t>(triples.size());
    const EmittedKernel kernel(build_kernel(dtype, expressions, lanes, num_elements), isa);
    CHECK(kernel.run(buffers) == 0);
    for (std::size_t k = 0; k < expressions.size(); ++k) {
      INFO(to_text(isa), " ", to_text(expressions[k].op), " ", to_text(dtype), "x", lanes, " -> ",
           to_text(expressions[k].result));
      CHECK(first_difference(expressions[k].result, found[k].data(), expected[k].data(), triples.size()) == "");
    }
  }
}

TEST_CASE("every lanewise op equals evaluate, in any number of lanes, on every instruction set" * test::Sliced()) {
  for (const IsaLevel isa : host_isa_levels()) {
    for (const DType dtype : kAllDTypes) {
      if (is_in_registers(dtype)) check_dtype(dtype, isa);
    }
  }
}

/// min and max of each edge value with one number, which the code knows, on either side.
void check_limits(DType dtype, const Scalar& number, IsaLevel isa) {
  const std::vector<Scalar> values = edge_values(dtype);
  std::vector<std::byte> operand;
  for (const Scalar& value : values) put(operand, value);
  for (const std::uint32_t lanes : {1u, 4u}) {
    const auto size = static_cast<std::int64_t>(values.size() / lanes * lanes);
    for (const KernelOp op : {KernelOp::kMin, KernelOp::kMax}) {
      MachineBuilder b("limits");
      const MemoryHandle x = b.buffer("x", dtype, BufferAccess::kRead);
      const MemoryHandle left = b.buffer("left", dtype, BufferAccess::kWrite),
                         right = b.buffer("right", dtype, BufferAccess::kWrite);
      b.for_loop(b.i64(0), b.i64(size), b.i64(lanes), {}, [&](MachineValue i, const MachineBuilder::Values&) {
        const MachineValue value = b.load(x, i, lanes), limit = b.constant_scalar(number);
        b.store(left, i, op == KernelOp::kMin ? b.min(limit, value) : b.max(limit, value));
        b.store(right, i, op == KernelOp::kMin ? b.min(value, limit) : b.max(value, limit));
        return MachineBuilder::Values{};
      });
      std::vector<std::byte> expected;
      for (const Scalar& value : values) {
        const Scalar operands[] = {value, number};
        put(expected, evaluate(op, dtype, operands));
      }
      std::vector<std::byte> found_left(expected.size()), found_right(expected.size());
      CHECK(EmittedKernel(b.finish(), isa).run({operand.data(), found_left.data(), found_right.data()}) == 0);
      INFO(to_text(isa), " ", to_text(op), " ", to_text(dtype), "x", lanes, " with ", to_text(number));
      for (const auto* found : {&found_left, &found_right}) {
        CHECK(first_difference(dtype, found->data(), expected.data(), static_cast<std::size_t>(size)) == "");
      }
    }
  }
}

TEST_CASE("the minimum and maximum with a constant equal evaluate") {
  for (const IsaLevel isa : host_isa_levels()) {
    for (const DType dtype : {DType::kF32, DType::kF64}) {
      const double nan = std::numeric_limits<double>::quiet_NaN();
      for (const double number : {0.0, -0.0, 1.0, -80.0, nan})
        check_limits(dtype, Scalar::from_double(dtype, number), isa);
    }
  }
}

}  // namespace
}  // namespace millrace
