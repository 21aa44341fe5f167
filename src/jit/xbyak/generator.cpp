// SPDX-License-Identifier: Apache-2.0
// The generator that emits x86 code with xbyak. It passes each kernel to the planner for its kind.
#include <limits>

#include <fmt/format.h>

#include "jit/cache/build_id.h"
#include "jit/lanes/match_arg.h"
#include "jit/llvm_client/open_module.h"
#include "jit/xbyak/gemm_kernel.h"
#include "jit/xbyak/lane_assembler.h"
#include "jit/xbyak/row_kernels.h"
#include "jit/xbyak/row_plan.h"
#include "millrace/jit/kernel_compiler.h"

namespace millrace {
namespace {

/// The maximum size of an epilogue that is unrolled over the cells of a tile. A longer one becomes a loop over the
/// cells.
constexpr std::size_t kMaxEpilogueBytes = 4 << 10;

/// The minimum row length for an argmin or argmax. This generator's code makes two calls per row; for shorter rows,
/// LLVM's code handles one row per SIMD lane.
constexpr std::int64_t kMinArgElements = 16;

/// What plan() decides for emit_gemm_image().
struct GemmDesign {
  GemmProblem problem;
  EpilogueProgram epilogue;
  GemmBlocking blocking;
};

Result<GemmDesign> design_gemm(const LoopKernel& collapsed, const TargetSpec& spec) {
  GemmDesign design;
  MILLRACE_TRY_ASSIGN(design.problem, match_gemm(collapsed));
  MILLRACE_TRY_ASSIGN(design.epilogue, compile_epilogue(collapsed.epilogue, design.problem));
  const std::int64_t registers = spec.num_vector_registers();
  if (design.epilogue.num_slots + 1 > registers) {
    return unimplemented(fmt::format("the epilogue needs {} vectors at a time, {} has {} registers",
                                     design.epilogue.num_slots, spec.to_text(), registers));
  }
  const auto usual_cells = static_cast<std::size_t>(registers - registers / 4);
  const std::size_t cell_bytes = measure_epilogue(design.epilogue, design.problem, spec.isa);
  design.epilogue.loops = usual_cells * cell_bytes > kMaxEpilogueBytes;
  const std::int64_t epilogue_registers = design.epilogue.loops ? 0 : design.epilogue.num_slots - 1;
  design.blocking = choose_gemm_blocking(design.problem, {registers, epilogue_registers}, spec);
  return design;
}

LoopKernel without_names(LoopKernel kernel) {
  kernel.name.clear();
  for (LoopDim& dim : kernel.domain) dim.name.clear();
  for (KernelTensor& tensor : kernel.operands) tensor.name.clear();
  for (KernelTensor& tensor : kernel.results) tensor.name.clear();
  return kernel;
}

void add_slots(PlannedKernel& planned, const GemmDesign& design) {
  add_slot(planned, "packed_b", design.blocking.packed_b_bytes());
  add_slot(planned, "partial_sums", design.blocking.partial_bytes());
  if (!design.epilogue.loops) return;
  const auto bytes = static_cast<std::uint64_t>(design.blocking.partial_tile_bytes());
  planned.memory.slots.push_back({"cells", MemoryKind::kPrivate, 0, bytes, 0, 0});
  planned.memory.private_bytes = planned.info.private_bytes = bytes;
}

Result<std::int64_t> count_groups(const GemmDesign& design) {
  if (design.problem.is_empty) return 0;
  double groups =
      static_cast<double>(design.blocking.tile_groups()) * static_cast<double>(design.blocking.panel_groups());
  for (const std::int64_t extent : design.problem.batch_extents) groups *= static_cast<double>(extent);
  if (groups > std::numeric_limits<std::uint32_t>::max()) {
    return unimplemented(fmt::format("{:.3g} groups, expected at most 2^32 - 1 per launch", groups));
  }
  return static_cast<std::int64_t>(groups);
}

class XbyakGenerator final : public KernelCompiler {
 public:
  std::string_view name() const override { return "xbyak"; }
  std::string version() const override {
    return fmt::format("xbyak {:#x} {}, for {}", int{Xbyak::VERSION}, build_id(), to_text(host_tuning()));
  }

  Status supports(const TargetSpec& spec) const override {
    if (!spec.is_cpu()) {
      return unimplemented(fmt::format("xbyak: makes x86-64 code, not code for '{}'", spec.to_text()));
    }
    if (!spec.has_fma()) {
      return unimplemented(fmt::format("xbyak: needs FMA, {} has none; say cpu:avx2 or cpu:avx512", spec.to_text()));
    }
    return {};
  }

  Result<PlannedKernel> plan(const Kernel& kernel, const TargetSpec& spec) const override {
    MILLRACE_TRY(supports(spec));
    if (const auto* rows = std::get_if<RowKernel>(&kernel)) {
      const auto plan = [&](const auto& operation) { return plan_row_operation(operation, spec); };
      return std::visit(plan, static_cast<const RowOperation::variant&>(*rows->operation));
    }
    const auto* loop = std::get_if<LoopKernel>(&kernel);
    if (loop == nullptr) return unimplemented("a machine kernel, expected a contraction, argmin, argmax, sort or scan");
    if (finds_index(*loop)) {
      MILLRACE_TRY_ASSIGN(const ArgDescriptor arg, match_arg(*loop));
      const SizeExpr& n = arg.input.type.shape.dims().back();
      if (n.upper_bound() >= kMinArgElements) return plan_row_operation(arg, spec);
      return unimplemented(fmt::format("an argmin or argmax of rows of {} elements, expected at least {} to pay off",
                                       n.to_text(), kMinArgElements));
    }
    // Refuse maps early: collapsing dims takes time, and does not turn a map into another kind.
    if (classify(*loop) == LoopKind::kMap) return unimplemented("a map nest, expected a contraction, argmin or argmax");
    const LoopKernel collapsed = collapse_dims(*loop);
    MILLRACE_TRY_ASSIGN(GemmDesign design, design_gemm(collapsed, spec));
    MILLRACE_TRY_ASSIGN(const std::int64_t num_groups, count_groups(design));
    std::vector<bool> buffer_is_written(loop->operands.size(), false);
    buffer_is_written.resize(loop->operands.size() + loop->results.size(), true);
    PlannedKernel planned = plan_routine(loop->name, num_groups, {}, std::move(buffer_is_written));
    add_slots(planned, design);
    planned.key_text = to_text(without_names(collapsed)) + design.blocking.to_text();
    // With a short epilogue, the code is far below kMaxGemmCodeBytes. With a long one, the code must be emitted to know
    // its size.
    if (design.epilogue.loops) {
      MILLRACE_TRY(emit_gemm_image(design.problem, design.blocking, design.epilogue, spec.isa).status());
    }
    planned.mapping = describe(design.blocking);
    planned.mapped = OpaquePlan{[design = std::move(design)](const TargetSpec& target) {
      return emit_gemm_image(design.problem, design.blocking, design.epilogue, target.isa);
    }};
    return planned;
  }

  Result<ExecutableImage> emit(const PlannedKernel& planned, const TargetSpec& spec) const override {
    MILLRACE_TRY_ASSIGN(ExecutableImage image, std::get<OpaquePlan>(planned.mapped).emit(spec));
    image.target = planned.target_of(spec).to_text();
    image.info = planned.info;
    return image;
  }

  Result<std::string> listing(const PlannedKernel& planned, const TargetSpec& spec, ListingKind kind) const override {
    if (kind != ListingKind::kAssembly) return KernelCompiler::listing(planned, spec, kind);
    MILLRACE_TRY_ASSIGN(const ExecutableImage image, emit(planned, spec));
    return disassemble_with_llvm(std::span(image.bytes).first(static_cast<std::size_t>(image.code_bytes)), spec);
  }

 private:
  static std::string describe(const GemmBlocking& blocking) {
    std::string text =
        fmt::format("tiles of {} rows x {} vectors of {} lanes, {} x {} tiles per group", blocking.tiles.largest(),
                    blocking.panels.largest(), blocking.lanes, blocking.tiles_per_group, blocking.panels_per_group);
    if (blocking.k_blocks.parts > 1) text += fmt::format(", k in {} blocks", blocking.k_blocks.parts);
    return text + (blocking.pack_b ? ", panels packed" : "");
  }
};

}  // namespace

std::shared_ptr<const KernelCompiler> make_xbyak_generator() { return std::make_shared<XbyakGenerator>(); }

}  // namespace millrace
