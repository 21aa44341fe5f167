// SPDX-License-Identifier: Apache-2.0
// The definitions of dot and dot_i32: their type rules and the contraction that they request.
#include <algorithm>

#include <fmt/format.h>

#include "ops/infer.h"
#include "ops/request.h"

namespace millrace {

using namespace ops;

namespace {

/// The attributes' axes, counted from the front, and the remaining dims.
struct DotDims {
  std::vector<std::size_t> batch, contract, free;
};

Result<DotDims> resolve_dims(Types operands, std::size_t operand, const std::vector<std::int64_t>& batch,
                             const std::vector<std::int64_t>& contract) {
  const std::string_view side = operand == 0 ? "x" : "y";
  DotDims dims;
  MILLRACE_TRY_ASSIGN(dims.batch, resolve_axes(batch, operands, operand, fmt::format("{}_batch", side)));
  MILLRACE_TRY_ASSIGN(dims.contract, resolve_axes(contract, operands, operand, fmt::format("{}_contract", side)));
  for (std::size_t d = 0; d < operands[operand].shape.rank(); ++d) {
    const bool in_batch = std::ranges::find(dims.batch, d) != dims.batch.end();
    const bool in_contract = std::ranges::find(dims.contract, d) != dims.contract.end();
    if (in_batch && in_contract) {
      return invalid_argument(fmt::format(
          "axis {} of operand {} is in {}_batch and in {}_contract, expected in one; remove it from the other", d,
          operand, side, side));
    }
    if (!in_batch && !in_contract) dims.free.push_back(d);
  }
  return dims;
}

Status expect_paired(std::string_view role, std::size_t x, std::size_t y) {
  if (x == y) return {};
  return invalid_argument(
      fmt::format("x_{} has {} dims and y_{} has {}, expected equal counts; pair the dims in order", role, x, role, y));
}

Status expect_equal_extents(Types operands, const std::vector<std::size_t>& x, const std::vector<std::size_t>& y) {
  for (std::size_t i = 0; i < x.size(); ++i) {
    const SizeExpr& expected = operands[0].shape[x[i]];
    if (operands[1].shape[y[i]] == expected) continue;
    return invalid_argument(fmt::format(
        "operand 1 is {}, expected extent {} in dim {} like dim {} of operand 0, {}; transpose or reshape one of them",
        operands[1].to_text(), expected.to_text(), y[i], x[i], operands[0].to_text()));
  }
  return {};
}

/// Checks the dims only, not the dtypes.
InferResult infer_shape(Types operands, const Attributes& attributes, DType result) {
  const auto& attrs = std::get<DotAttrs>(attributes);
  MILLRACE_TRY(expect_paired("batch", attrs.x_batch.size(), attrs.y_batch.size()));
  MILLRACE_TRY(expect_paired("contract", attrs.x_contract.size(), attrs.y_contract.size()));
  MILLRACE_TRY_ASSIGN(const DotDims x, resolve_dims(operands, 0, attrs.x_batch, attrs.x_contract));
  MILLRACE_TRY_ASSIGN(const DotDims y, resolve_dims(operands, 1, attrs.y_batch, attrs.y_contract));
  MILLRACE_TRY(expect_equal_extents(operands, x.batch, y.batch));
  MILLRACE_TRY(expect_equal_extents(operands, x.contract, y.contract));
  std::vector<SizeExpr> dims;
  for (const std::size_t d : x.batch) dims.push_back(operands[0].shape[d]);
  for (const std::size_t d : x.free) dims.push_back(operands[0].shape[d]);
  for (const std::size_t d : y.free) dims.push_back(operands[1].shape[d]);
  return std::vector<TensorType>{{result, Shape(std::move(dims))}};
}

InferResult infer_dot(Types operands, const Attributes& attributes) {
  MILLRACE_TRY(expect_dtype(operands, 0, kArithmetic));
  if (operands[1].dtype != operands[0].dtype) {
    return invalid_argument(fmt::format("operand 1 is {}, expected {} like operand 0; insert a cast",
                                        operands[1].to_text(), to_text(operands[0].dtype)));
  }
  return infer_shape(operands, attributes, operands[0].dtype);
}

InferResult infer_dot_i32(Types operands, const Attributes& attributes) {
  MILLRACE_TRY(expect_dtype(operands, 0, kBytes));
  MILLRACE_TRY(expect_dtype(operands, 1, kBytes));
  return infer_shape(operands, attributes, DType::kI32);
}

/// C[b, m, n] = sum over k of X[b, m, k] * Y[b, k, n], for any order of the operands' dims, accumulated in f32 (f64 for
/// f64; integers wrap). dot_i32 multiplies and adds in i32.
/// Error: |error| <= K * eps * sum |x||y|; not bit-equal across targets.
/// If no dims are contracted, adds a reduction dim of extent 1, so that the nest is still a contraction.
Result<std::vector<KernelRequest>> build_dot(const OpInstance& node) {
  const auto& attrs = std::get<DotAttrs>(node.attributes);
  const DotDims x = *resolve_dims(node.operands, 0, attrs.x_batch, attrs.x_contract);
  const DotDims y = *resolve_dims(node.operands, 1, attrs.y_batch, attrs.y_contract);
  const Shape& x_shape = node.operands[0].shape;
  const Shape& y_shape = node.operands[1].shape;
  LoopKernelBuilder nest(std::string(node.results[0].dtype == node.operands[0].dtype ? "dot" : "dot_i32"));
  std::vector<AffineIndex> x_walk(x_shape.rank()), y_walk(y_shape.rank()), point;
  for (std::size_t i = 0; i < x.batch.size(); ++i) {
    point.push_back(nest.parallel(fmt::format("b{}", i), x_shape[x.batch[i]]));
    x_walk[x.batch[i]] = y_walk[y.batch[i]] = point.back();
  }
  for (std::size_t i = 0; i < x.free.size(); ++i) {
    point.push_back(nest.parallel(fmt::format("m{}", i), x_shape[x.free[i]]));
    x_walk[x.free[i]] = point.back();
  }
  for (std::size_t i = 0; i < y.free.size(); ++i) {
    point.push_back(nest.parallel(fmt::format("n{}", i), y_shape[y.free[i]]));
    y_walk[y.free[i]] = point.back();
  }
  for (std::size_t i = 0; i < x.contract.size(); ++i) {
    x_walk[x.contract[i]] = y_walk[y.contract[i]] = nest.reduction(fmt::format("k{}", i), x_shape[x.contract[i]]);
  }
  if (x.contract.empty()) nest.reduction("k", 1);
  BodyBuilder& term = nest.term();
  const BodyValue a = nest.load(term, nest.operand("x0", node.operands[0]), std::move(x_walk));
  const BodyValue b = nest.load(term, nest.operand("x1", node.operands[1]), std::move(y_walk));
  const DType accumulator = body_dtype(node.results[0].dtype);
  const BodyValue product = term.mul(term.convert(accumulator, a), term.convert(accumulator, b));
  const BodyValue sum = nest.reduce(ReductionKind::kSum, product);
  nest.store("y0", node.results[0], std::move(point), sum);
  return finish_request(nest);
}

}  // namespace

OpDef define_dot() { return {infer_dot, nullptr, nullptr, build_dot}; }
OpDef define_dot_i32() { return {infer_dot_i32, nullptr, nullptr, build_dot}; }

}  // namespace millrace
