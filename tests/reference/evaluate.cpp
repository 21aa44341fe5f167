// SPDX-License-Identifier: Apache-2.0
#include "tests/reference/evaluate.h"

#include "tests/reference/families.h"

namespace millrace::reference {

std::vector<Tensor> evaluate(Op op, const Attributes& attributes, std::span<const Tensor> operands) {
  switch (op) {
    case Op::equal:
    case Op::not_equal:
    case Op::less:
    case Op::less_equal:
    case Op::greater:
    case Op::greater_equal:
    case Op::is_nan:
      return {compare(op, operands)};
    case Op::select:
      return {select(operands)};
    case Op::cast:
      return {cast(std::get<CastAttrs>(attributes).dtype, operands[0])};
    case Op::bit_cast:
      return {bit_cast(std::get<CastAttrs>(attributes).dtype, operands[0])};
    case Op::reduce_sum:
    case Op::reduce_prod:
    case Op::reduce_max:
    case Op::reduce_min:
    case Op::reduce_mean:
    case Op::reduce_any:
    case Op::reduce_all:
      return {reduce(op, std::get<ReduceAttrs>(attributes), operands[0])};
    case Op::argmax:
    case Op::argmin:
      return {arg(op, std::get<ArgAttrs>(attributes), operands[0])};
    case Op::dot:
      return {dot(std::get<DotAttrs>(attributes), operands, operands[0].type.dtype)};
    case Op::dot_i32:
      return {dot(std::get<DotAttrs>(attributes), operands, DType::kI32)};
    case Op::conv2d:
      return {conv2d(std::get<Conv2dAttrs>(attributes), operands, operands[0].type.dtype)};
    case Op::conv2d_i32:
      return {conv2d(std::get<Conv2dAttrs>(attributes), operands, DType::kI32)};
    case Op::max_pool2d:
    case Op::avg_pool2d:
      return {pool2d(op, std::get<Pool2dAttrs>(attributes), operands[0])};
    case Op::reshape:
      return {reshape(std::get<ShapeAttrs>(attributes), operands[0])};
    case Op::transpose:
      return {transpose(std::get<PermutationAttrs>(attributes), operands[0])};
    case Op::broadcast:
      return {broadcast(std::get<BroadcastAttrs>(attributes), operands[0])};
    case Op::slice:
      return {slice(std::get<SliceAttrs>(attributes), operands[0])};
    case Op::pad:
      return {pad(std::get<PadAttrs>(attributes), operands[0])};
    case Op::concat:
      return {concat(std::get<AxisAttrs>(attributes), operands)};
    case Op::gather:
      return {gather(std::get<GatherAttrs>(attributes), operands)};
    case Op::take_along_axis:
      return {take_along_axis(std::get<GatherAttrs>(attributes), operands)};
    case Op::iota:
      return {iota(std::get<IotaAttrs>(attributes))};
    case Op::size:
      return {size(std::get<SizeAttrs>(attributes))};
    case Op::scatter:
    case Op::scatter_add:
    case Op::scatter_mul:
    case Op::scatter_min:
    case Op::scatter_max:
      return {scatter(op, std::get<GatherAttrs>(attributes), operands)};
    case Op::cumulative_sum:
    case Op::cumulative_prod:
    case Op::cumulative_max:
    case Op::cumulative_min:
      return {scan(op, std::get<ScanAttrs>(attributes), operands[0])};
    case Op::sort: {
      const auto& attrs = std::get<SortAttrs>(attributes);
      const Extents extents = operands[0].extents();
      return order(operands[0], attrs.axis, attrs.descending, extents[from_front(attrs.axis, extents.size())]);
    }
    case Op::topk: {
      const auto& attrs = std::get<TopKAttrs>(attributes);
      return order(operands[0], attrs.axis, attrs.largest, attrs.k.constant());
    }
    default:
      return {elementwise(op, operands)};
  }
}

}  // namespace millrace::reference
