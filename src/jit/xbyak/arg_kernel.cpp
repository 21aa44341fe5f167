// SPDX-License-Identifier: Apache-2.0
#include "jit/xbyak/arg_kernel.h"

#include <algorithm>

#include <fmt/format.h>

#include "hal/host/routines/arg_rows.h"
#include "jit/lanes/arg_leaves.h"
#include "jit/xbyak/lane_image.h"
#include "jit/xbyak/row_pair.h"

namespace millrace {
namespace {

/// The level whose vectors read elements. Those of 256 bits read as fast as those of 512, and have fewer lanes to join
/// at the end of a row; but AVX2 has no minimum of 64-bit integers.
IsaLevel level_of(const ArgLanes& lanes, const TargetSpec& spec) {
  return lanes.lane_bits() == 64 && !is_float(lanes.dtype) ? spec.isa : IsaLevel::kAvx2;
}

bool is_load(const BodyInstruction& instruction) {
  return instruction.op == KernelOp::kLoad && instruction.num_operands == 0;
}

/// Whether argmax compares the operand in reverse order: negated floats, inverted integers. Refuses other terms.
Result<bool> reads_smallest(const Body& term) {
  const BodyInstruction& last = term.instructions[term.yields[0]];
  if (is_load(last)) return false;
  const auto operand = [&](std::size_t i) -> const BodyInstruction& { return term.instructions[last.operands[i]]; };
  if (last.op == KernelOp::kNeg && is_float(last.dtype) && is_load(operand(0))) return true;
  const auto is_ones = [](const BodyInstruction& instruction) {
    return instruction.op == KernelOp::kConstant &&
           instruction.immediate == Scalar::from_int(instruction.dtype, -1).bits;
  };
  if (last.op == KernelOp::kXor && is_load(operand(0)) && is_ones(operand(1))) return true;
  return unimplemented(
      fmt::format("an argmax of computed values, the last by {}; takes the operand's elements", to_text(last.op)));
}

Status check_epilogue(const LoopKernel& kernel) {
  const bool is_index = kernel.stores.size() == 1 && kernel.epilogue.yields.size() == 1 &&
                        kernel.epilogue.instructions[kernel.epilogue.yields[0]].op == KernelOp::kReduced;
  if (is_index) return {};
  return unimplemented("an argmax whose index enters an epilogue, takes the index as the one result");
}

/// What arg_rows needs of a nest with collapsed dims.
struct ArgDesign {
  ArgLanes lanes;
  RowPair rows;
};

Result<ArgDesign> design_arg(const LoopKernel& kernel) {
  if (kernel.reductions.size() != 1 || kernel.loads.size() != 1) {
    return unimplemented(fmt::format("an argmax beside {} reductions of {} loads, takes one of one",
                                     kernel.reductions.size() - 1, kernel.loads.size()));
  }
  const Access &load = kernel.loads[0], &store = kernel.stores[0];
  if (load.fill || load.dynamic_dim) return unimplemented("an argmax of padded or gathered elements, takes plain rows");
  ArgDesign design;
  design.lanes.dtype = kernel.operands[load.tensor].type.dtype;
  MILLRACE_TRY_ASSIGN(design.lanes.smallest, reads_smallest(kernel.term));
  MILLRACE_TRY(check_epilogue(kernel));
  const AffineIndex &from = load.indices[0], &to = store.indices[0];
  const std::size_t axis = kernel.num_parallel();
  if (!from.coefficients[axis].is(1)) {
    return unimplemented(fmt::format("an argmax of elements that are {} apart, takes contiguous rows",
                                     from.coefficients[axis].to_text()));
  }
  design.rows = {kernel.domain[axis].extent, from.offset, to.offset, {}};
  for (std::size_t d = 0; d < axis; ++d) {
    design.rows.dims.push_back({kernel.domain[d].extent, from.coefficients[d], to.coefficients[d]});
  }
  return design;
}

}  // namespace

bool is_argmax(const LoopKernel& kernel) {
  return std::ranges::any_of(kernel.reductions,
                             [](const Reduction& one) { return one.kind == ReductionKind::kArgMax; });
}

Result<PlannedKernel> plan_arg(const LoopKernel& kernel) {
  LoopKernel collapsed = collapse_dims(kernel);
  MILLRACE_TRY_ASSIGN(const ArgDesign design, design_arg(collapsed));
  MILLRACE_TRY_ASSIGN(PlannedKernel planned, plan_rows(kernel.name, design.rows));
  planned.key_text = fmt::format("{} {} smallest {} dims {}\n", kArgRowsRoutineName, to_text(design.lanes.dtype),
                                 design.lanes.smallest, design.rows.dims.size());
  planned.mapped = std::move(collapsed);
  return planned;
}

Result<ExecutableImage> emit_arg(const LoopKernel& collapsed, const TargetSpec& spec) {
  MILLRACE_TRY_ASSIGN(const ArgDesign design, design_arg(collapsed));
  return emit_lane_image([&](LaneAssembler& assembler) {
    const IsaLevel level = level_of(design.lanes, spec);
    ArgRowsParameters p{};
    p.element_bytes = static_cast<std::int64_t>(size_bytes(design.lanes.dtype));
    p.num_other_dims = static_cast<std::int64_t>(design.rows.dims.size());
    p.chunk_elements = chunk_elements(level, design.lanes);
    p.most_at_once = kMostPlaces;
    p.find_in_few = append_lanes(assembler, find_in_few_function(level, design.lanes));
    p.survey_chunks = append_lanes(assembler, survey_chunks_function(level, design.lanes));
    p.find_in_chunks = append_lanes(assembler, find_in_chunks_function(level, design.lanes));
    return call_of(kArgRowsRoutineName, kArgRowsRoutineAbi, p);
  });
}

}  // namespace millrace
