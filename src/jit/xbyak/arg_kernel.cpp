// SPDX-License-Identifier: Apache-2.0
#include "jit/xbyak/arg_kernel.h"

#include <fmt/format.h>

#include "hal/host/routines/arg_rows.h"
#include "jit/lanes/arg_microkernels.h"
#include "jit/xbyak/lane_image.h"
#include "jit/xbyak/row_pair.h"

namespace millrace {
namespace {

ArgLanes lanes_of(const ArgDescriptor& arg) { return {arg.input.type.dtype, arg.smallest}; }

/// The level whose vectors read elements. Those of 256 bits read as fast as those of 512, and have fewer lanes to join
/// at the end of a row; but AVX2 has no minimum of 64-bit integers.
IsaLevel level_of(const ArgLanes& lanes, const TargetSpec& spec) {
  return lanes.lane_bits() == 64 && !is_float(lanes.dtype) ? spec.isa : IsaLevel::kAvx2;
}

RowPair rows_of(const ArgDescriptor& arg) {
  const Shape& shape = arg.input.type.shape;
  const Layout &input = arg.input.layout, &result = arg.indices.layout;
  const std::size_t axis = shape.rank() - 1;
  RowPair rows = {shape[axis], input.offset, result.offset, {}, arg.parts};
  for (std::size_t d = 0; d < axis; ++d) rows.dims.push_back({shape[d], input.strides[d], result.strides[d]});
  return rows;
}

Result<ExecutableImage> emit_arg(const ArgDescriptor& arg, const TargetSpec& spec) {
  return emit_lane_image([&](LaneAssembler& assembler) {
    const ArgLanes lanes = lanes_of(arg);
    const IsaLevel level = level_of(lanes, spec);
    ArgRowsParameters p{};
    p.element_bytes = static_cast<std::int64_t>(size_bytes(lanes.dtype));
    p.num_other_dims = static_cast<std::int64_t>(rows_of(arg).dims.size());
    p.has_input_indices = arg.input_indices.has_value();
    p.has_values = arg.values.has_value();
    p.chunk_elements = chunk_elements(level, lanes);
    p.most_at_once = kMostPlaces;
    p.find_in_few = append_microkernel(assembler, find_in_few_function(level, lanes));
    p.survey_chunks = append_microkernel(assembler, survey_chunks_function(level, lanes));
    p.find_in_chunks = append_microkernel(assembler, find_in_chunks_function(level, lanes));
    return call_of(Routine::arg_rows, p);
  });
}

}  // namespace

Result<PlannedKernel> plan_rows_work(const ArgDescriptor& arg, const TargetSpec&) {
  const RowPair rows = rows_of(arg);
  MILLRACE_TRY_ASSIGN(PlannedKernel planned, plan_rows(arg.name, rows));
  planned.info.buffer_is_written.assign(arg.input_indices ? 2 : 1, false);
  planned.info.buffer_is_written.resize(planned.info.buffer_is_written.size() + (arg.values ? 2 : 1), true);
  planned.info.num_buffers = static_cast<std::uint32_t>(planned.info.buffer_is_written.size());
  planned.key_text = fmt::format("{} {} smallest {} dims {} of {} values {}\n", row_of(Routine::arg_rows).name,
                                 to_text(arg.input.type.dtype), arg.smallest, rows.dims.size(),
                                 arg.input_indices ? "elements" : "positions", arg.values.has_value());
  planned.mapped = KernelDesign{[arg](const TargetSpec& target) { return emit_arg(arg, target); }};
  return planned;
}

}  // namespace millrace
