// SPDX-License-Identifier: Apache-2.0
// Imports ops that select and join elements, of tensors and of sizes.
#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "graph/import/onnx/ops/shape_helpers.h"
#include "millrace/graph/composites.h"

namespace millrace {

#define MILLRACE_ONNX_OP(name, since_version, function) Result<OnnxResults> function(OnnxNodeContext&);
#include "graph/import/onnx/ops/shape.inc"
#undef MILLRACE_ONNX_OP

namespace {

/// Concatenates the lists, if all are known as sizes.
std::optional<OnnxSizes> join_sizes(OnnxNodeContext& node, DType dtype) {
  std::size_t num_symbolic = 0;
  for (std::size_t i = 0; i < node.num_operands(); ++i) num_symbolic += node.value(i).sizes() != nullptr ? 1 : 0;
  OnnxSizes joined = OnnxSizes::vector({}, dtype);
  for (std::size_t i = 0; i < node.num_operands(); ++i) {
    const OnnxValue& value = node.value(i);
    const std::optional<OnnxSizes> part = num_symbolic > 0 ? value.as_fractions() : value.as_sizes();
    if (!part || part->dtype != dtype || part->rank() != 1) return {};
    std::optional<std::pair<OnnxSizes, OnnxSizes>> both = with_common_divisor(joined, *part);
    if (!both || both->first.values.size() + both->second.values.size() > kMaxSizes) return {};
    joined = std::move(both->first);
    joined.values.insert(joined.values.end(), both->second.values.begin(), both->second.values.end());
    joined.shape = {static_cast<std::int64_t>(joined.values.size())};
  }
  return joined;
}

}  // namespace

/// Lists of sizes stay sizes. Before version 4, the axis is 1 by default.
Result<OnnxResults> import_concat(OnnxNodeContext& node) {
  if (node.num_operands() == 0) return invalid_argument(": has no operands");
  MILLRACE_TRY_ASSIGN(const TensorType first, node.type(0));
  const std::optional<std::int64_t> otherwise = node.version() < 4 ? std::optional<std::int64_t>(1) : std::nullopt;
  MILLRACE_TRY_ASSIGN(const std::int64_t axis, node.axis_attribute("axis", first.shape.rank(), otherwise));
  if (first.shape.rank() == 1) {
    std::optional<OnnxSizes> joined = join_sizes(node, first.dtype);
    if (joined) return *std::move(joined);
  }
  MILLRACE_TRY_ASSIGN(std::vector<Tensor> tensors, node.tensors());
  for (Tensor& tensor : tensors) {
    for (std::size_t d = 0; d < std::min(tensor.shape().rank(), tensors[0].shape().rank()); ++d) {
      if (d != static_cast<std::size_t>(axis)) MILLRACE_TRY(node.match_dim(tensor, d, tensors[0].shape()[d]));
    }
  }
  return concat(tensors, axis);
}

Result<OnnxResults> import_gather(OnnxNodeContext& node) {
  MILLRACE_TRY_ASSIGN(const TensorType type, node.type(0));
  MILLRACE_TRY_ASSIGN(const std::int64_t axis, node.axis_attribute("axis", type.shape.rank(), 0));
  const std::optional<OnnxSizes> sizes = node.value(0).as_sizes(), indices = node.value(1).as_sizes();
  if (sizes && indices && sizes->rank() == 1 && indices->are_numbers()) {
    OnnxSizes picked{sizes->dtype, indices->shape, {}, sizes->divisor};
    for (const SizeExpr& index : indices->values) {
      const std::optional<std::int64_t> place = find_axis(index.constant(), sizes->values.size());
      if (!place) {
        return node.operand_error(
            1, fmt::format("found index {}, but there are {} elements", index.constant(), sizes->values.size()));
      }
      picked.values.push_back(sizes->values[static_cast<std::size_t>(*place)]);
    }
    return picked;
  }
  MILLRACE_TRY_ASSIGN(const Tensor x, node.tensor(0));
  MILLRACE_TRY_ASSIGN(const Tensor at, node.tensor(1));
  return gather(x, at, axis);
}

namespace {

struct SliceRange {
  SizeExpr start, stop;
  std::int64_t step = 1;
};

/// The position that `given` means in a dim, clamped to [low, high]. A negative one counts from the end. Empty if the
/// sign of `given` is not known.
std::optional<SizeExpr> clamp_place(const SizeExpr& given, const SizeExpr& extent, const SizeExpr& low,
                                    const SizeExpr& high) {
  // Exporters write the limits of int64, or numbers near them, for "to the end". No dim has more elements than this.
  constexpr std::int64_t kMaxExtent = std::int64_t{1} << 48;
  if (given.lower_bound() >= kMaxExtent) return high;
  if (given.upper_bound() <= -kMaxExtent) return low;
  if (given.lower_bound() >= 0) return min(given, high);
  if (given.upper_bound() < 0) return max(given + extent, low);
  return {};
}

/// The range in the form of slice(): for negative steps, a stop before the first element is -1 - extent.
std::optional<SliceRange> read_range(const SizeExpr& start, const SizeExpr& end, std::int64_t step,
                                     const SizeExpr& extent) {
  if (step > 0) {
    const std::optional<SizeExpr> first = clamp_place(start, extent, 0, extent);
    const std::optional<SizeExpr> last = clamp_place(end, extent, 0, extent);
    if (!first || !last) return {};
    return SliceRange{*first, max(*last, *first), step};
  }
  const SizeExpr last_index = extent - 1;
  const std::optional<SizeExpr> first =
      start.is(-1) ? last_index : clamp_place(start, extent, min(0, last_index), last_index);
  const std::optional<SizeExpr> last = clamp_place(end, extent, -1, extent - 1);
  if (!first || !last) return {};
  const SizeExpr stop = min(*last, *first);
  return SliceRange{*first, stop.is(-1) ? -1 - extent : stop, step};
}

/// The operands of Slice, which are attributes before version 10.
struct SliceOperands {
  OnnxSizes starts, ends;
  std::optional<std::vector<std::int64_t>> axes, steps;
};

Result<SliceOperands> read_slice(OnnxNodeContext& node) {
  SliceOperands operands;
  if (node.version() < 10) {
    const auto required = [&](std::string_view name) -> Result<OnnxSizes> {
      MILLRACE_TRY_ASSIGN(const std::optional<std::vector<std::int64_t>> list, node.integers_attribute(name));
      if (!list) return node.attribute_error(name, "is missing");
      return OnnxSizes::vector({list->begin(), list->end()});
    };
    MILLRACE_TRY_ASSIGN(operands.starts, required("starts"));
    MILLRACE_TRY_ASSIGN(operands.ends, required("ends"));
    MILLRACE_TRY_ASSIGN(operands.axes, node.integers_attribute("axes"));
    return operands;
  }
  MILLRACE_TRY_ASSIGN(operands.starts, node.sizes(1));
  MILLRACE_TRY_ASSIGN(operands.ends, node.sizes(2));
  if (node.has(3)) {
    MILLRACE_TRY_ASSIGN(operands.axes, node.integers(3));
  }
  if (node.has(4)) {
    MILLRACE_TRY_ASSIGN(operands.steps, node.integers(4));
  }
  return operands;
}

/// The elements of a list of sizes that the range selects; empty if the range depends on symbols.
std::optional<OnnxSizes> slice_sizes(const OnnxSizes& sizes, const SliceRange& range) {
  if (sizes.rank() != 1 || !range.start.is_constant() || !range.stop.is_constant()) return {};
  OnnxSizes picked{sizes.dtype, {}, {}, sizes.divisor};
  const auto count = static_cast<std::int64_t>(sizes.values.size());
  const std::int64_t stop = range.stop.constant() < 0 ? range.stop.constant() + count : range.stop.constant();
  const std::int64_t step = std::clamp(range.step, -count - 1, count + 1);  // a longer step also picks one element
  for (std::int64_t i = range.start.constant(); step > 0 ? i < stop : i > stop; i += step) {
    picked.values.push_back(sizes.values[static_cast<std::size_t>(i)]);
  }
  picked.shape = {static_cast<std::int64_t>(picked.values.size())};
  return picked;
}

}  // namespace

Result<OnnxResults> import_slice(OnnxNodeContext& node) {
  MILLRACE_TRY_ASSIGN(const TensorType type, node.type(0));
  MILLRACE_TRY_ASSIGN(const SliceOperands operands, read_slice(node));
  const std::size_t rank = type.shape.rank(), count = operands.starts.values.size();
  const bool is_even = operands.ends.values.size() == count && (!operands.axes || operands.axes->size() == count) &&
                       (!operands.steps || operands.steps->size() == count) && (operands.axes || count <= rank);
  if (!is_even) return invalid_argument(": starts, ends, axes and steps differ in length, or are longer than the rank");
  std::vector<SizeExpr> start(rank), stop = type.shape.dims();
  std::vector<std::int64_t> step(rank, 1);
  for (std::size_t i = 0; i < count; ++i) {
    const std::int64_t named = operands.axes ? (*operands.axes)[i] : static_cast<std::int64_t>(i);
    const std::optional<std::int64_t> axis = find_axis(named, rank);
    if (!axis)
      return invalid_argument(fmt::format(": found axis {}, expected one of a tensor of rank {}", named, rank));
    const auto d = static_cast<std::size_t>(*axis);
    const std::int64_t by = operands.steps ? (*operands.steps)[i] : 1;
    if (by == 0) return invalid_argument(fmt::format(": the step along axis {} is 0", d));
    const SizeExpr &from = operands.starts.values[i], &to = operands.ends.values[i];
    const std::optional<SliceRange> range = read_range(from, to, by, type.shape[d]);
    if (!range) {
      return invalid_argument(fmt::format(": whether {} or {} is below 0 is not known; give the dims bounds or values",
                                          from.to_text(), to.to_text()));
    }
    start[d] = range->start;
    stop[d] = range->stop;
    step[d] = range->step;
  }
  if (const std::optional<OnnxSizes> sizes = node.value(0).as_sizes(); sizes && rank == 1) {
    std::optional<OnnxSizes> picked = slice_sizes(*sizes, {start[0], stop[0], step[0]});
    if (picked) return *std::move(picked);
  }
  MILLRACE_TRY_ASSIGN(const Tensor x, node.tensor(0));
  return slice(x, std::move(start), std::move(stop), std::move(step));
}

}  // namespace millrace
