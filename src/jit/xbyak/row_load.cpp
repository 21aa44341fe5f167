// SPDX-License-Identifier: Apache-2.0
// Plans the body that a sort, TopK or scan computes while it reads a row.
#include "jit/xbyak/row_load.h"

#include <algorithm>

#include <fmt/format.h>

#include "jit/ir/affine.h"

namespace millrace {

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

RowLoadParameters RowLoad::append(const MicrokernelSink& sink, std::size_t first_size) const {
  RowLoadParameters p{};
  p.compute = sink.append(compute_elements_function(sink.isa, elements).value());
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
          fmt::format("'{}' is read with a fill or at gathered indices, expected plain loads", operand.name));
    }
    places.push_back(element_offset(access, operand.layout, load.domain.size()));
    const SizeExpr& step = places.back().coefficients[axis];
    const bool is_spread = step.is(0) || load.domain[axis].extent.is(1);
    if (!is_spread && !step.is(1)) {
      return unimplemented(fmt::format("'{}' has its elements {} apart along the axis, expected contiguous ones",
                                       operand.name, step.to_text()));
    }
    planned.elements.sources.push_back({operand.type.dtype, is_spread});
    planned.buffers.push_back(access.tensor);
  }
  std::vector<SizeExpr> extents;
  for (const LoopDim& dim : load.domain) extents.push_back(dim.extent);
  std::vector<const std::vector<SizeExpr>*> strides;
  for (const AffineIndex& place : places) {
    planned.sizes.push_back(place.offset);
    strides.push_back(&place.coefficients);
  }
  const std::vector<RowDim> dims = row_dims(extents, axis, strides);
  planned.num_dims = dims.size();
  append_dims(planned.sizes, dims);
  for (std::size_t i = 0; i < places.size(); ++i) {
    planned.elements.sources[i].is_repeated =
        !dims.empty() && std::ranges::all_of(dims, [&](const RowDim& dim) { return dim.strides[i].is(0); });
  }
  MILLRACE_TRY(compute_elements_function(isa, planned.elements).status());
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
