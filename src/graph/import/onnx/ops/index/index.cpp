// SPDX-License-Identifier: Apache-2.0
// Imports ops that select, order and mark elements.
#include "graph/composites/index.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "graph/import/onnx/node_context.h"

namespace millrace {

#define MILLRACE_ONNX_OP(name, since_version, function) Result<OnnxResults> function(OnnxNodeContext&);
#include "graph/import/onnx/ops/index.inc"
#undef MILLRACE_ONNX_OP

namespace {

/// To select the last of equal elements, selects the first one of the flipped axis.
Result<OnnxResults> import_arg(OnnxNodeContext& node, Tensor (*function)(Tensor, std::int64_t, bool)) {
  MILLRACE_TRY_ASSIGN(const Tensor x, node.tensor(0));
  MILLRACE_TRY_ASSIGN(const std::int64_t axis, node.axis_attribute("axis", x.shape().rank(), 0));
  MILLRACE_TRY_ASSIGN(const bool keep_dims, node.flag_attribute("keepdims", true));
  bool selects_last = false;
  if (node.version() >= 12) {
    MILLRACE_TRY_ASSIGN(selects_last, node.flag_attribute("select_last_index", false));
  }
  if (!selects_last) return function(x, axis, keep_dims);
  const Tensor last = size_of(node.graph(), x.shape()[static_cast<std::size_t>(axis)] - 1);
  return last - function(flip(x, {axis}), axis, keep_dims);
}

Result<OnnxResults> import_scan(OnnxNodeContext& node, Tensor (*function)(Tensor, ScanAttrs)) {
  MILLRACE_TRY_ASSIGN(const Tensor x, node.tensor(0));
  MILLRACE_TRY_ASSIGN(const std::int64_t axis, node.integer(1));
  MILLRACE_TRY_ASSIGN(const bool exclusive, node.flag_attribute("exclusive", false));
  MILLRACE_TRY_ASSIGN(const bool reverse, node.flag_attribute("reverse", false));
  return function(x, {.axis = axis, .exclusive = exclusive, .reverse = reverse});
}

}  // namespace

Result<OnnxResults> import_argmax(OnnxNodeContext& node) { return import_arg(node, argmax); }
Result<OnnxResults> import_argmin(OnnxNodeContext& node) { return import_arg(node, argmin); }
Result<OnnxResults> import_cumsum(OnnxNodeContext& node) { return import_scan(node, cumulative_sum); }
Result<OnnxResults> import_cumprod(OnnxNodeContext& node) { return import_scan(node, cumulative_prod); }

/// The condition decides the size of the result, so it must be known. It may be shorter than the axis.
Result<OnnxResults> import_compress(OnnxNodeContext& node) {
  MILLRACE_TRY_ASSIGN(Tensor x, node.tensor(0));
  MILLRACE_TRY_ASSIGN(const std::vector<std::int64_t> condition, node.integers(1));
  std::int64_t axis = 0;
  if (node.has_attribute("axis")) {
    MILLRACE_TRY_ASSIGN(axis, node.axis_attribute("axis", x.shape().rank()));
  } else {
    x = reshape(x, {x.shape().num_elements()});
  }
  std::vector<std::int64_t> kept;
  for (std::size_t i = 0; i < condition.size(); ++i) {
    if (condition[i] != 0) kept.push_back(static_cast<std::int64_t>(i));
  }
  const auto count = static_cast<std::int64_t>(kept.size());
  return gather(x, node.graph().constant({count}, kept), axis);
}

namespace {

/// The positions of the elements that are not 0, one row per dim and one column per element. For a scalar, there are no
/// rows, but there may be a column.
OnnxConstant find_nonzero(const OnnxConstant& x) {
  const std::vector<double> numbers = numbers_of(x);
  const std::size_t rank = x.type.shape.rank();
  std::vector<std::vector<std::int64_t>> rows(rank);
  std::int64_t count = 0;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (numbers[i] == 0) continue;
    ++count;
    auto rest = static_cast<std::int64_t>(i);
    for (std::size_t d = rank; d-- > 0;) {
      rows[d].push_back(rest % x.type.shape[d].constant());
      rest /= x.type.shape[d].constant();
    }
  }
  std::vector<std::int64_t> all;
  for (const std::vector<std::int64_t>& row : rows) all.insert(all.end(), row.begin(), row.end());
  return constant_of(Shape{static_cast<std::int64_t>(rank), count}, std::span<const std::int64_t>(all));
}

Status decided_by_elements() {
  return unimplemented(": the elements of an operand decide the size of the result, which is not supported");
}

}  // namespace

/// The elements must be known, because they decide the size of the result.
Result<OnnxResults> import_nonzero(OnnxNodeContext& node) {
  MILLRACE_TRY_ASSIGN(const std::optional<OnnxConstant> known, node.known(0));
  if (!known) return decided_by_elements();
  const auto count = static_cast<std::uint64_t>(known->type.shape.num_elements().constant());
  MILLRACE_TRY(node.reserve_elements(count * (known->type.shape.rank() + 1)));
  return find_nonzero(*known);
}

Result<OnnxResults> import_unique(OnnxNodeContext&) { return decided_by_elements(); }

/// Along the axes other than `axis`, the indices may be shorter than x.
Result<OnnxResults> import_gather_elements(OnnxNodeContext& node) {
  MILLRACE_TRY_ASSIGN(Tensor x, node.tensor(0));
  MILLRACE_TRY_ASSIGN(const Tensor indices, node.tensor(1));
  const std::size_t rank = x.shape().rank();
  MILLRACE_TRY_ASSIGN(const std::int64_t axis, node.axis_attribute("axis", rank, 0));
  if (indices.shape().rank() != rank) {
    return node.operand_error(1, fmt::format("has rank {}, expected {}", indices.shape().rank(), rank));
  }
  std::vector<SizeExpr> stop = indices.shape().dims();
  stop[static_cast<std::size_t>(axis)] = x.shape()[static_cast<std::size_t>(axis)];
  if (stop != x.shape().dims()) x = slice(x, std::vector<SizeExpr>(rank, 0), std::move(stop));
  return take_along_axis(x, indices, axis);
}

namespace {

/// x with the first `count` dims joined into one.
Tensor join_first(Tensor x, std::size_t count) {
  const auto split = x.shape().dims().begin() + static_cast<std::ptrdiff_t>(count);
  std::vector<SizeExpr> dims = {Shape(std::vector<SizeExpr>(x.shape().dims().begin(), split)).num_elements()};
  dims.insert(dims.end(), split, x.shape().dims().end());
  return reshape(x, Shape(std::move(dims)));
}

}  // namespace

/// The batch dims are joined into one, and the position along it becomes the first part of each index.
Result<OnnxResults> import_gather_nd(OnnxNodeContext& node) {
  MILLRACE_TRY_ASSIGN(const Tensor x, node.tensor(0));
  MILLRACE_TRY_ASSIGN(const Tensor indices, node.tensor(1));
  std::int64_t count = 0;
  if (node.version() >= 12) {
    MILLRACE_TRY_ASSIGN(count, node.integer_attribute("batch_dims", 0));
  }
  if (count == 0) return gather_nd(x, indices);
  const auto num_batch_dims = static_cast<std::size_t>(count);
  const Shape &from = x.shape(), &at = indices.shape();
  if (count < 0 || num_batch_dims >= std::min(from.rank(), at.rank())) {
    return node.attribute_error("batch_dims", fmt::format("found {}, expected 0 or more, and less than {}", count,
                                                          std::min(from.rank(), at.rank())));
  }
  if (!std::equal(from.dims().begin(), from.dims().begin() + count, at.dims().begin())) {
    return node.operand_error(1, fmt::format("is {}, expected it to begin with the first {} dims of operand 0, {}",
                                             indices.type().to_text(), count, x.type().to_text()));
  }
  std::vector<SizeExpr> dims(at.dims().begin(), at.dims().end() - 1);
  const SizeExpr parts = at.dims().back();
  if (!parts.is_constant() || num_batch_dims + static_cast<std::size_t>(parts.constant()) > from.rank()) {
    return node.operand_error(1, fmt::format("is {}, expected up to {} parts in the last dim", indices.type().to_text(),
                                             from.rank() - num_batch_dims));
  }
  dims.insert(dims.end(), from.dims().begin() + count + parts.constant(), from.dims().end());
  const Tensor rows = join_first(indices, num_batch_dims);
  MILLRACE_TRY_ASSIGN(const Tensor index, node.built(cast(rows, DType::kI64)));
  Shape position = index.shape();
  position[position.rank() - 1] = 1;
  const Tensor place = positions(node.graph(), position, 0);
  const Tensor places = concat({place, index}, static_cast<std::int64_t>(position.rank()) - 1);
  return reshape(gather_nd(join_first(x, num_batch_dims), places), Shape(std::move(dims)));
}

/// values[1] at the index, otherwise values[0]. A negative index counts from the end.
Result<OnnxResults> import_one_hot(OnnxNodeContext& node) {
  MILLRACE_TRY_ASSIGN(const Tensor indices, node.tensor(0));
  MILLRACE_TRY_ASSIGN(const TensorType depth_type, node.type(1));
  SizeExpr depth;
  if (is_float(depth_type.dtype)) {
    MILLRACE_TRY_ASSIGN(const double number, node.number(1));
    if (!(number >= 0 && number < 0x1p53)) return node.operand_error(1, fmt::format("is {}, expected a size", number));
    depth = static_cast<std::int64_t>(number);
  } else {
    MILLRACE_TRY_ASSIGN(depth, node.size(1));
  }
  MILLRACE_TRY_ASSIGN(const Tensor values, node.tensor(2));
  const std::size_t rank = indices.shape().rank();
  MILLRACE_TRY_ASSIGN(const std::int64_t axis, node.axis_attribute("axis", rank + 1, -1));
  const Tensor index = cast(indices, DType::kI64);
  const Tensor wrapped = select(less(index, 0), index + size_of(node.graph(), depth), index);
  std::vector<SizeExpr> dims(rank + 1 - static_cast<std::size_t>(axis), 1);
  dims[0] = depth;
  const Tensor counts = reshape(iota(node.graph(), DType::kI64, {depth}, 0), Shape(std::move(dims)));
  const Tensor is_hot = equal(unsqueeze(wrapped, {axis}), counts);
  const auto value = [&](std::int64_t i) { return reshape(slice(values, {i}, {i + 1}), {}); };
  const Tensor off = value(0);
  return where(is_hot, value(1), off);
}

/// The first `sequence_lens[b]` elements of each sequence in reverse order, followed by the others as they are.
Result<OnnxResults> import_reverse_sequence(OnnxNodeContext& node) {
  MILLRACE_TRY_ASSIGN(const Tensor x, node.tensor(0));
  MILLRACE_TRY_ASSIGN(const Tensor given, node.tensor(1));
  const std::size_t rank = x.shape().rank();
  MILLRACE_TRY_ASSIGN(const std::int64_t batch_axis, node.axis_attribute("batch_axis", rank, 1));
  MILLRACE_TRY_ASSIGN(const std::int64_t time_axis, node.axis_attribute("time_axis", rank, 0));
  if (batch_axis == time_axis) {
    return node.attribute_error("batch_axis",
                                fmt::format("found {}, expected another axis than time_axis", batch_axis));
  }
  const Tensor lengths = broadcast(cast(given, DType::kI64), x.shape(), {batch_axis});
  const Tensor place = positions(node.graph(), x.shape(), static_cast<std::size_t>(time_axis));
  const Tensor reversed = lengths - 1 - place;
  return take_along_axis(x, select(less(place, lengths), reversed, place), time_axis);
}

Result<OnnxResults> import_topk(OnnxNodeContext& node) {
  MILLRACE_TRY_ASSIGN(const Tensor x, node.tensor(0));
  TopKAttrs attributes;
  MILLRACE_TRY_ASSIGN(attributes.axis, node.axis_attribute("axis", x.shape().rank(), -1));
  if (node.version() >= 11) {
    MILLRACE_TRY_ASSIGN(attributes.largest, node.flag_attribute("largest", true));
    MILLRACE_TRY_ASSIGN(attributes.sorted, node.flag_attribute("sorted", true));
  }
  SizeExpr k;
  if (node.version() < 10) {
    MILLRACE_TRY_ASSIGN(k, node.integer_attribute("k"));
  } else {
    MILLRACE_TRY_ASSIGN(k, node.size(1));
  }
  const ValuesAndIndices top = topk(x, k, attributes);
  return OnnxResults{top.values, top.indices};
}

}  // namespace millrace
