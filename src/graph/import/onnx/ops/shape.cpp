// SPDX-License-Identifier: Apache-2.0
// Imports ops that read, make and change shapes.
#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "graph/import/onnx/ops/shape_helpers.h"
#include "millrace/graph/composites.h"

namespace millrace {

#define MILLRACE_ONNX_OP(name, since_version, function) Result<OnnxResults> function(OnnxNodeContext&);
#include "graph/import/onnx/ops/shape.inc"
#undef MILLRACE_ONNX_OP

/// From version 15 on, attributes can select a part of the shape.
Result<OnnxResults> import_shape(OnnxNodeContext& node) {
  MILLRACE_TRY_ASSIGN(const TensorType type, node.type(0));
  const auto rank = static_cast<std::int64_t>(type.shape.rank());
  std::int64_t start = 0, end = rank;
  if (node.version() >= 15) {
    MILLRACE_TRY_ASSIGN(start, node.integer_attribute("start", 0));
    MILLRACE_TRY_ASSIGN(end, node.integer_attribute("end", rank));
  }
  start = std::clamp<std::int64_t>(start < 0 ? start + rank : start, 0, rank);
  end = std::clamp<std::int64_t>(end < 0 ? end + rank : end, start, rank);
  const std::vector<SizeExpr>& dims = type.shape.dims();
  return OnnxSizes::vector({dims.begin() + start, dims.begin() + end});
}

Result<OnnxResults> import_size(OnnxNodeContext& node) {
  MILLRACE_TRY_ASSIGN(const TensorType type, node.type(0));
  return OnnxSizes::scalar(type.shape.num_elements());
}

namespace {

/// Replaces a dim of -1 by the remaining size, if that can be written without a division. Otherwise reshape() does it.
void resolve_rest(Shape& shape, const Shape& from) {
  std::vector<SizeExpr> dims = shape.dims();
  const auto rest = std::ranges::find_if(dims, [](const SizeExpr& dim) { return dim.is(-1); });
  if (rest == dims.end() || (from.is_static() && shape.is_static()) || !can_count_elements(dims)) return;
  SizeExpr others = 1;
  for (auto dim = dims.begin(); dim != dims.end(); ++dim) {
    if (dim != rest) others = others * *dim;
  }
  std::optional<SizeExpr> quotient = exact_quotient(from.dims(), others);
  if (!quotient) return;
  *rest = *std::move(quotient);
  shape = Shape(std::move(dims));
}

}  // namespace

namespace {

/// The shape that Reshape asks for: an operand, or before version 5, an attribute.
Result<Shape> read_new_shape(OnnxNodeContext& node) {
  if (node.version() >= 5) return shape_of_sizes(node, 1);
  MILLRACE_TRY_ASSIGN(const std::optional<std::vector<std::int64_t>> dims, node.integers_attribute("shape"));
  if (!dims) return node.attribute_error("shape", "is missing");
  if (dims->size() <= kMaxRank) return Shape(std::vector<SizeExpr>(dims->begin(), dims->end()));
  return node.attribute_error("shape", fmt::format("asks for rank {}, expected at most {}", dims->size(), kMaxRank));
}

}  // namespace

/// A 0 copies the operand's dim, unless allowzero is set (version 14); -1 stands for the remaining size.
Result<OnnxResults> import_reshape(OnnxNodeContext& node) {
  bool allows_zero = false;
  if (node.version() >= 14) {
    MILLRACE_TRY_ASSIGN(allows_zero, node.flag_attribute("allowzero", false));
  }
  MILLRACE_TRY_ASSIGN(Shape shape, read_new_shape(node));
  MILLRACE_TRY_ASSIGN(const TensorType type, node.type(0));
  for (std::size_t d = 0; d < shape.rank(); ++d) {
    if (!shape[d].is(0) || allows_zero) continue;
    if (d >= type.shape.rank()) {
      const std::string reason =
          fmt::format("dim {} is 0, which copies a dim that {} does not have", d, type.to_text());
      return node.version() >= 5 ? node.operand_error(1, reason) : node.attribute_error("shape", reason);
    }
    shape[d] = type.shape[d];
  }
  resolve_rest(shape, type.shape);
  const std::optional<OnnxSizes> sizes = node.value(0).as_sizes();
  if (sizes && shape.is_static() && shape.rank() <= 1) {
    const auto count = static_cast<std::int64_t>(sizes->values.size());
    const bool fits = shape.rank() == 0 ? count == 1 : shape[0].is(-1) || shape[0].is(count);
    if (fits) {
      OnnxSizes result = *sizes;
      result.shape.assign(shape.rank(), count);
      return result;
    }
  }
  MILLRACE_TRY_ASSIGN(const Tensor x, node.tensor(0));
  return reshape(x, std::move(shape));
}

Result<OnnxResults> import_transpose(OnnxNodeContext& node) {
  MILLRACE_TRY_ASSIGN(std::optional<std::vector<std::int64_t>> permutation, node.integers_attribute("perm"));
  MILLRACE_TRY_ASSIGN(const Tensor x, node.tensor(0));
  if (!permutation) {
    permutation.emplace(x.shape().rank());
    std::iota(permutation->rbegin(), permutation->rend(), 0);
  }
  return transpose(x, *std::move(permutation));
}

namespace {

/// The value in another shape with the same number of elements.
Result<OnnxResults> with_shape(OnnxNodeContext& node, Shape shape) {
  std::optional<OnnxSizes> sizes = node.value(0).as_sizes();
  if (sizes && shape.is_static()) {
    sizes->shape.clear();
    for (const SizeExpr& dim : shape.dims()) sizes->shape.push_back(dim.constant());
    return *std::move(sizes);
  }
  MILLRACE_TRY_ASSIGN(const Tensor x, node.tensor(0));
  return reshape(x, std::move(shape));
}

}  // namespace

Result<OnnxResults> import_squeeze(OnnxNodeContext& node) {
  MILLRACE_TRY_ASSIGN(const TensorType type, node.type(0));
  MILLRACE_TRY_ASSIGN(std::optional<std::vector<std::int64_t>> axes, read_axes(node, 13, type.shape.rank()));
  std::vector<SizeExpr> dims;
  for (std::size_t d = 0; d < type.shape.rank(); ++d) {
    const bool is_named = axes && std::ranges::find(*axes, static_cast<std::int64_t>(d)) != axes->end();
    if (is_named && !type.shape[d].is(1)) {
      return invalid_argument(
          fmt::format(": axis {} of {} cannot be dropped, expected extent 1; if it is 1, give the "
                      "dim that value",
                      d, type.to_text()));
    }
    if (!axes && !type.shape[d].is_constant() && type.shape[d].lower_bound() <= 1) {
      return invalid_argument(
          fmt::format(": whether dim {} of {} is 1 is not known; give the dim bounds or a value", d, type.to_text()));
    }
    if (axes ? !is_named : !type.shape[d].is(1)) dims.push_back(type.shape[d]);
  }
  return with_shape(node, Shape(std::move(dims)));
}

Result<OnnxResults> import_unsqueeze(OnnxNodeContext& node) {
  MILLRACE_TRY_ASSIGN(const TensorType type, node.type(0));
  // The axes are those of the result, whose rank depends on their number.
  std::size_t num_axes = 0;
  if (node.version() >= 13) {
    MILLRACE_TRY_ASSIGN(const std::vector<std::int64_t> axes, node.integers(1));
    num_axes = axes.size();
  } else {
    MILLRACE_TRY_ASSIGN(const std::optional<std::vector<std::int64_t>> axes, node.integers_attribute("axes"));
    num_axes = axes ? axes->size() : 0;
  }
  const std::size_t rank = type.shape.rank() + num_axes;
  if (rank > kMaxRank)
    return unimplemented(fmt::format(": the result has rank {}, expected at most {}", rank, kMaxRank));
  MILLRACE_TRY_ASSIGN(const std::optional<std::vector<std::int64_t>> axes, read_axes(node, 13, rank));
  std::vector<SizeExpr> dims;
  std::size_t next = 0;
  for (std::size_t d = 0; d < rank; ++d) {
    const bool is_new = axes && std::ranges::find(*axes, static_cast<std::int64_t>(d)) != axes->end();
    dims.push_back(is_new ? SizeExpr(1) : type.shape[next++]);
  }
  return with_shape(node, Shape(std::move(dims)));
}

/// The shape broadcasts with the operand's: either may be the larger one.
Result<OnnxResults> import_expand(OnnxNodeContext& node) {
  MILLRACE_TRY_ASSIGN(const Shape wanted, shape_of_sizes(node, 1));
  MILLRACE_TRY_ASSIGN(Tensor x, node.tensor(0));
  for (std::size_t d = 0; d < std::min(wanted.rank(), x.shape().rank()); ++d) {
    const std::size_t axis = x.shape().rank() - 1 - d;
    const SizeExpr size = wanted[wanted.rank() - 1 - d];
    if (!size.is(1) && !x.shape()[axis].is(1)) MILLRACE_TRY(node.match_dim(x, axis, size));
  }
  const Shape& from = x.shape();
  std::vector<SizeExpr> dims(std::max(wanted.rank(), from.rank()), SizeExpr(1));
  for (std::size_t d = 0; d < dims.size(); ++d) {  // counted from the last dim
    SizeExpr& dim = dims[dims.size() - 1 - d];
    if (d < from.rank()) dim = from[from.rank() - 1 - d];
    if (d < wanted.rank() && dim.is(1)) dim = wanted[wanted.rank() - 1 - d];
    const bool fits = d >= wanted.rank() || wanted[wanted.rank() - 1 - d].is(1) || wanted[wanted.rank() - 1 - d] == dim;
    if (!fits) {
      return node.operand_error(
          1, fmt::format("asks for {}, which does not broadcast with {}", wanted.to_text(), x.type().to_text()));
    }
  }
  return broadcast_to(x, Shape(std::move(dims)));
}

}  // namespace millrace
