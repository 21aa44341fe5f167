// SPDX-License-Identifier: Apache-2.0
// Plans argmin and argmax kernels, and emits their images.
#include <fmt/format.h>

#include "hal/host/routines/arg_rows.h"
#include "jit/lanes/arg_microkernels.h"
#include "jit/lanes/match_arg.h"
#include "jit/xbyak/lane_image.h"
#include "jit/xbyak/row_kernels.h"
#include "jit/xbyak/row_plan.h"

namespace millrace {
namespace {

/// The ISA level of the vectors that read the elements. AVX2 loads as fast as AVX-512, and has fewer lanes to join at
/// the end of a row; but it has no minimum of 64-bit integers.
IsaLevel level_of(DType dtype, const TargetSpec& spec) {
  return size_bytes(dtype) == 8 && !is_float(dtype) ? spec.isa : IsaLevel::kAvx2;
}

/// The tensor cut down to a single column: one group searches all columns.
KernelTensor without_columns(KernelTensor tensor, const std::optional<std::size_t>& columns) {
  if (columns) tensor.type.shape[*columns] = 1;
  return tensor;
}

}  // namespace

Result<PlannedKernel> plan_row_operation(const ArgDescriptor& arg, const TargetSpec&) {
  const DType dtype = arg.input.type.dtype;
  const std::optional<std::size_t> columns = columns_dim(arg);
  if (columns && (arg.input_indices || arg.indices.layout.strides[*columns] != arg.parts)) {
    return unimplemented("the indices of interleaved rows are not contiguous, expected contiguous ones");
  }
  const RowPair rows(without_columns(arg.input, columns), without_columns(arg.indices, columns),
                     arg.input.type.shape.rank() - 1, arg.parts);
  std::vector<bool> buffer_is_written(arg.input_indices ? 2 : 1, false);
  buffer_is_written.resize(buffer_is_written.size() + (arg.values ? 2 : 1), true);
  MILLRACE_TRY_ASSIGN(PlannedKernel planned, plan_row_pair(arg.name, rows, std::move(buffer_is_written)));
  planned.key_text =
      fmt::format("{} {} smallest {} dims {} columns {} of {} values {}\n", row_of(Routine::arg_rows).name,
                  to_text(dtype), arg.smallest, rows.num_dims, num_columns(arg),
                  arg.input_indices ? "elements" : "positions", arg.values.has_value());
  ArgRowsParameters p{};
  p.element_bytes = static_cast<std::int64_t>(size_bytes(dtype));
  p.num_other_dims = rows.num_dims;
  p.has_input_indices = arg.input_indices.has_value();
  p.has_values = arg.values.has_value();
  planned.mapped = OpaquePlan{[p, lanes = ArgLanes{dtype, arg.smallest, num_columns(arg)}](const TargetSpec& target) {
    return emit_lane_image(level_of(lanes.dtype, target), [&](const MicrokernelSink& sink) {
      ArgRowsParameters parameters = p;
      append_arg(parameters, sink, lanes);
      return call_of(Routine::arg_rows, parameters);
    });
  }};
  return planned;
}

}  // namespace millrace
