// SPDX-License-Identifier: Apache-2.0
// The part that the plans of all row kernels share: sizes, grid and buffers.
#include "jit/xbyak/row_plan.h"

#include <limits>

#include <fmt/format.h>

namespace millrace {
namespace {

/// Whether, in every tensor, one step of the outer dim equals `inner.extent` steps of the inner dim.
bool continues_in(const RowDim& outer, const RowDim& inner) {
  for (std::size_t i = 0; i < outer.strides.size(); ++i) {
    if (outer.strides[i] != inner.strides[i] * inner.extent) return false;
  }
  return true;
}

}  // namespace

std::vector<RowDim> row_dims(const std::vector<SizeExpr>& extents, std::size_t axis,
                             const std::vector<const std::vector<SizeExpr>*>& strides) {
  std::vector<RowDim> dims;
  for (std::size_t d = 0; d < extents.size(); ++d) {
    if (d == axis || extents[d].is(1)) continue;
    RowDim dim = {extents[d], {}};
    for (const auto* tensor : strides) dim.strides.push_back(tensor != nullptr ? (*tensor)[d] : SizeExpr(0));
    if (!dims.empty() && continues_in(dims.back(), dim)) {
      dim.extent = dims.back().extent * dim.extent;
      dims.pop_back();
    }
    dims.push_back(std::move(dim));
  }
  return dims;
}

void append_dims(std::vector<SizeExpr>& sizes, const std::vector<RowDim>& dims) {
  for (const RowDim& dim : dims) {
    sizes.push_back(dim.extent);
    sizes.insert(sizes.end(), dim.strides.begin(), dim.strides.end());
  }
}

RowPair::RowPair(const KernelTensor& input, const KernelTensor& result, std::size_t axis, const SizeExpr& parts)
    : sizes({input.type.shape[axis], parts, input.layout.offset, result.layout.offset}), num_groups(parts) {
  const auto dims = row_dims(input.type.shape.dims(), axis, {&input.layout.strides, &result.layout.strides});
  num_dims = std::ssize(dims);
  for (const RowDim& dim : dims) num_groups = num_groups * dim.extent;
  append_dims(sizes, dims);
}

PlannedKernel plan_routine(const std::string& name, const SizeExpr& num_groups, std::vector<SizeExpr> sizes,
                           std::vector<bool> buffer_is_written) {
  PlannedKernel planned;
  planned.name = planned.info.name = name;
  planned.generator = "xbyak";
  planned.num_groups = num_groups;
  planned.sizes = std::move(sizes);
  planned.info.num_sizes = static_cast<std::uint32_t>(planned.sizes.size());
  planned.info.buffer_is_written = std::move(buffer_is_written);
  planned.info.num_buffers = static_cast<std::uint32_t>(planned.info.buffer_is_written.size());
  return planned;
}

Result<PlannedKernel> plan_row_pair(const std::string& name, const RowPair& rows, std::vector<bool> buffer_is_written) {
  constexpr std::int64_t kMaxGroups = std::numeric_limits<std::uint32_t>::max();
  if (rows.num_groups.lower_bound() > kMaxGroups) {
    return unimplemented(fmt::format("{} rows, expected at most {}", rows.num_groups.to_text(), kMaxGroups));
  }
  return plan_routine(name, rows.num_groups, rows.sizes, std::move(buffer_is_written));
}

void add_slot(PlannedKernel& planned, const char* name, std::int64_t bytes) {
  if (bytes == 0) return;
  std::uint64_t& end = planned.memory.workgroup_bytes;
  planned.memory.slots.push_back({name, MemoryKind::kWorkgroup, end, static_cast<std::uint64_t>(bytes), 0, 0});
  end += static_cast<std::uint64_t>(bytes);
  planned.info.workgroup_bytes = end;
}

}  // namespace millrace
