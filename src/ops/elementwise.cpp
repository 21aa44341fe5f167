// SPDX-License-Identifier: Apache-2.0
// The definitions of elementwise ops without attributes, from the bodies in bodies.h, and their rules on dtypes.
#include "ops/elementwise.h"

#include <fmt/format.h>

#include "millrace/ops/bodies.h"
#include "ops/request.h"

namespace millrace {
namespace ops {

Result<std::vector<KernelRequest>> build_elementwise(const OpInstance& node, BodyFunction body, bool reads_bits) {
  const TensorType& result = node.results[0];
  LoopKernelBuilder nest("elementwise");
  const std::vector<AffineIndex> point = nest.parallel_dims(result.shape);
  std::vector<BodyValue> values;
  for (const TensorType& type : node.operands) {
    const OperandId operand = nest.operand(fmt::format("x{}", values.size()), type);
    const BodyValue loaded = nest.load(nest.epilogue(), operand, point);
    values.push_back(reads_bits ? nest.epilogue().convert(type.dtype, loaded) : loaded);
  }
  const BodyValue value = body(nest.epilogue(), {nest.epilogue(), values}, node.attributes);
  // The body has already rounded f16 and bf16.
  nest.store("y0", result, point, nest.epilogue().convert(body_dtype(value.dtype), value));
  return finish_request(nest);
}

namespace {
template <const DTypeSet& kSet>
InferResult infer_alike(Types operands) {
  MILLRACE_TRY(expect_alike(operands, kSet));
  return std::vector<TensorType>{operands[0]};
}
constexpr DTypeSet kLogical = {kIntegers.bits | kBoolOnly.bits, "bool or an integer"};

InferResult infer_arithmetic(Types operands, const Attributes&) { return infer_alike<kArithmetic>(operands); }
InferResult infer_floats(Types operands, const Attributes&) { return infer_alike<kFloats>(operands); }
InferResult infer_logical(Types operands, const Attributes&) { return infer_alike<kLogical>(operands); }

InferResult as_bool(Types operands) { return std::vector<TensorType>{{DType::kBool, operands[0].shape}}; }

InferResult infer_comparison(Types operands, const Attributes&) {
  MILLRACE_TRY(expect_alike(operands, kArithmetic));
  return as_bool(operands);
}

InferResult infer_equality(Types operands, const Attributes&) {
  MILLRACE_TRY(expect_like(operands, 1, 0));
  return as_bool(operands);
}

InferResult infer_float_test(Types operands, const Attributes&) {
  MILLRACE_TRY(expect_alike(operands, kFloats));
  return as_bool(operands);
}

}  // namespace
}  // namespace ops

using namespace ops;

#define MILLRACE_OP(name, operands, results, traits, attributes, meaning, example)
#define MILLRACE_UNARY(name, rule, meaning)                                                  \
  OpDef define_##name() {                                                                    \
    return elementwise<[](auto& b, auto x) { return bodies::name(b, x[0]); }>(infer_##rule); \
  }
#define MILLRACE_BINARY(name, traits, rule, meaning)                                               \
  OpDef define_##name() {                                                                          \
    return elementwise<[](auto& b, auto x) { return bodies::name(b, x[0], x[1]); }>(infer_##rule); \
  }
#include "millrace/ops/op_table.inc"

}  // namespace millrace
