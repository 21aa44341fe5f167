// SPDX-License-Identifier: Apache-2.0
#include "jit/xbyak/row_load.h"

#include <fmt/format.h>

#include "jit/ir/affine.h"
#include "jit/xbyak/lane_image.h"

namespace millrace {
namespace {

/// A dim of the rows: its extent, and the stride of each source.
struct RowDim {
  SizeExpr extent;
  std::vector<SizeExpr> strides;

  /// Whether this dim and a dim inside it are walked as one.
  bool continues_in(const RowDim& inner) const {
    for (std::size_t i = 0; i < strides.size(); ++i) {
      if (strides[i] != inner.strides[i] * inner.extent) return false;
    }
    return true;
  }
};

/// The dims except `axis`, outermost first, where neighbours are merged so that most rows are those of a matrix.
std::vector<RowDim> row_dims(const LoopKernel& load, const std::vector<AffineIndex>& places, std::uint32_t axis) {
  std::vector<RowDim> dims;
  for (std::size_t d = 0; d < load.domain.size(); ++d) {
    if (d == axis || load.domain[d].extent.is(1)) continue;
    RowDim dim = {load.domain[d].extent, {}};
    for (const AffineIndex& place : places) dim.strides.push_back(place.coefficients[d]);
    if (!dims.empty() && dims.back().continues_in(dim)) {
      dims.back() = {dims.back().extent * dim.extent, std::move(dim.strides)};
    } else {
      dims.push_back(std::move(dim));
    }
  }
  return dims;
}

/// Whether there are several rows, and they read the same elements.
bool is_repeated(const LoopKernel& load, const AffineIndex& place, std::uint32_t axis) {
  bool has_rows = false;
  for (std::size_t d = 0; d < load.domain.size(); ++d) {
    if (d == axis || load.domain[d].extent.is(1)) continue;
    if (!place.coefficients[d].is(0)) return false;
    has_rows = true;
  }
  return has_rows;
}

}  // namespace

std::string RowLoad::key_text() const {
  std::string text =
      fmt::format("load of {} from {} operands, {} dims\n", to_text(elements.dtype), num_operands, num_dims);
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    const ComputedElements::Source& source = elements.sources[i];
    text += fmt::format("  {} of operand {}{}{}\n", to_text(source.dtype), buffers[i],
                        source.is_spread ? " spread" : "", source.is_repeated ? " repeated" : "");
  }
  return text + to_text(elements.body);
}

RowLoadParameters RowLoad::emit(LaneAssembler& assembler, IsaLevel isa, std::size_t first_size) const {
  RowLoadParameters p{};
  p.compute = append_microkernel(assembler, compute_elements_function(isa, elements).value());
  p.num_operands = static_cast<std::int64_t>(num_operands);
  p.computed_bytes = static_cast<std::int64_t>(size_bytes(elements.dtype));
  p.num_sources = static_cast<std::int64_t>(buffers.size());
  p.num_dims = static_cast<std::int64_t>(num_dims);
  p.first_size = static_cast<std::int64_t>(first_size);
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    p.buffers[i] = buffers[i];
    p.element_bytes[i] = static_cast<std::int64_t>(size_bytes(elements.sources[i].dtype));
    p.is_spread[i] = elements.sources[i].is_spread;
  }
  return p;
}

Result<RowLoad> plan_row_load(const LoopKernel& load, std::uint32_t axis, IsaLevel isa) {
  RowLoad planned;
  planned.elements.body = load.epilogue;
  planned.elements.dtype = load.results[0].type.dtype;
  planned.num_operands = load.operands.size();
  std::vector<AffineIndex> places;
  for (const Access& access : load.loads) {
    const KernelTensor& operand = load.operands[access.tensor];
    if (access.fill || access.dynamic_dim) {
      return unimplemented(
          fmt::format("'{}' is read with a fill or at gathered indices, takes plain loads", operand.name));
    }
    places.push_back(element_offset(access, operand.layout, load.domain.size()));
    const SizeExpr& step = places.back().coefficients[axis];
    const bool is_spread = step.is(0) || load.domain[axis].extent.is(1);
    if (!is_spread && !step.is(1)) {
      return unimplemented(fmt::format("'{}' has its elements {} apart along the axis, takes contiguous ones",
                                       operand.name, step.to_text()));
    }
    planned.elements.sources.push_back({operand.type.dtype, is_spread, is_repeated(load, places.back(), axis)});
    planned.buffers.push_back(access.tensor);
  }
  MILLRACE_TRY(compute_elements_function(isa, planned.elements).status());
  for (const AffineIndex& place : places) planned.sizes.push_back(place.offset);
  const std::vector<RowDim> dims = row_dims(load, places, axis);
  planned.num_dims = dims.size();
  for (const RowDim& dim : dims) {
    planned.sizes.push_back(dim.extent);
    planned.sizes.insert(planned.sizes.end(), dim.strides.begin(), dim.strides.end());
  }
  return planned;
}

void add_row_load(PlannedKernel& planned, const RowLoad& load) {
  planned.sizes.insert(planned.sizes.end(), load.sizes.begin(), load.sizes.end());
  planned.info.num_sizes = static_cast<std::uint32_t>(planned.sizes.size());
  planned.info.buffer_is_written.erase(planned.info.buffer_is_written.begin());
  planned.info.buffer_is_written.insert(planned.info.buffer_is_written.begin(), load.num_operands, false);
  planned.info.num_buffers = static_cast<std::uint32_t>(planned.info.buffer_is_written.size());
  planned.key_text += load.key_text();
}

}  // namespace millrace
