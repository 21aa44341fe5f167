// SPDX-License-Identifier: Apache-2.0
// Unpacks constants with several elements per byte.
#include "graph/import/onnx/ops/quantize/packed.h"

#include <fmt/format.h>

#include "graph/import/onnx/element_types.h"
#include "millrace/graph/composites.h"

namespace millrace {
namespace {

struct PackedType {
  std::int64_t bits;
  bool is_signed;
};

/// The packed type with this TensorProto.DataType; empty for types that are not packed integers.
std::optional<PackedType> packed_type(std::int32_t data_type) {
  constexpr std::int32_t kUint4 = 21, kInt4 = 22, kUint2 = 25, kInt2 = 26;
  switch (data_type) {
    case kUint4:
      return PackedType{4, false};
    case kInt4:
      return PackedType{4, true};
    case kUint2:
      return PackedType{2, false};
    case kInt2:
      return PackedType{2, true};
    default:
      return {};
  }
}

/// The shape of the tensor, whose dims are numbers.
Result<Shape> shape_of(OnnxNodeContext& node, std::size_t operand, const TensorProto& tensor) {
  if (tensor.dims.size() > kMaxRank) {
    return node.operand_error(operand, fmt::format("has rank {}, expected at most {}", tensor.dims.size(), kMaxRank));
  }
  std::vector<SizeExpr> dims;
  for (const std::int64_t dim : tensor.dims) {
    if (dim < 0) return node.operand_error(operand, fmt::format("has a dim of {}, expected 0 or more", dim));
    dims.emplace_back(dim);
  }
  return Shape(std::move(dims));
}

}  // namespace

Result<Tensor> quantized_tensor(OnnxNodeContext& node, std::size_t operand) {
  const OnnxForeign* foreign = node.value(operand).foreign();
  const std::optional<PackedType> type = foreign ? packed_type(foreign->tensor->data_type) : std::nullopt;
  if (foreign == nullptr) return node.tensor(operand);
  if (!type) {
    MILLRACE_TRY_ASSIGN(const OnnxConstant unpacked, node.unpacked(operand));
    return node.built(node.graph().constant_shared(unpacked.type, unpacked.bytes));
  }
  MILLRACE_TRY_ASSIGN(const Shape shape, shape_of(node, operand, *foreign->tensor));
  MILLRACE_TRY_ASSIGN(const SharedBytes bytes, node.packed(operand));
  const std::int64_t per_byte = 8 / type->bits, count = shape.num_elements().constant();
  const std::int64_t num_bytes = count / per_byte + (count % per_byte == 0 ? 0 : 1);
  // The first element is in the lowest bits.
  Tensor rest = node.graph().constant_shared({DType::kU8, {num_bytes}}, bytes);
  const std::int64_t range = std::int64_t{1} << type->bits;
  std::vector<Tensor> parts;
  for (std::int64_t i = 0; i < per_byte; ++i) {
    parts.push_back(logical_and(rest, range - 1));
    rest = rest / range;
  }
  Tensor elements = reshape(stack(parts, 1), {num_bytes * per_byte});
  if (num_bytes * per_byte != count) elements = slice(elements, {0}, {count});
  elements = reshape(elements, shape);
  if (!type->is_signed) return node.built(elements);
  return node.built(cast(logical_xor(elements, range / 2), DType::kI8) - range / 2);
}

}  // namespace millrace
