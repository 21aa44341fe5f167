// SPDX-License-Identifier: Apache-2.0
// Plans products that run as gemm_f32, and emits their images.
#include <fmt/format.h>

#include "hal/host/routines/gemm/gemm_f32.h"
#include "jit/xbyak/gemm_kernel.h"
#include "jit/xbyak/lane_image.h"

namespace millrace {
namespace {

/// The minimum number of steps of k for a microkernel with prefetches. With this many steps, less than one instruction
/// in fifty is a prefetch.
constexpr std::int64_t kMinStepsToPrefetch = 192;

GemmParameters::Access parameters_of(const GemmAccess& access) {
  GemmParameters::Access result{access.buffer, access.offset, access.m, access.n, access.k, {}};
  std::copy(access.batch.begin(), access.batch.end(), result.batch.begin());
  return result;
}

GemmParameters describe(const GemmProblem& problem, const GemmBlocking& blocking) {
  GemmParameters p{};
  p.tiles = blocking.tiles;
  p.panels = blocking.panels;
  p.k_blocks = blocking.k_blocks;
  p.lanes = blocking.lanes;
  p.tiles_per_group = blocking.tiles_per_group;
  p.panels_per_group = blocking.panels_per_group;
  p.tile_groups = blocking.tile_groups();
  p.panel_groups = blocking.panel_groups();
  p.pack_b = blocking.pack_b;
  p.packed_panel_bytes = blocking.packed_panel_bytes();
  p.partial_offset = blocking.packed_b_bytes();
  p.partial_tile_bytes = blocking.k_blocks.parts > 1 ? blocking.partial_tile_bytes() : 0;
  p.num_batch = static_cast<std::int64_t>(problem.batch_extents.size());
  p.num_inner_groups = 1;
  for (std::size_t i = 0; i < problem.batch_extents.size(); ++i) {
    p.batch_extents[i] = problem.batch_extents[i];
    if (i >= problem.num_outer_batch) p.num_inner_groups *= problem.batch_extents[i];
  }
  p.a = parameters_of(problem.a);
  p.b = parameters_of(problem.b);
  for (const auto* accesses : {&problem.loads, &problem.stores}) {
    for (const GemmAccess& access : *accesses) p.epilogue[p.num_accesses++] = parameters_of(access);
  }
  return p;
}

class GemmImageEmitter {
 public:
  GemmImageEmitter(const GemmProblem& problem, const GemmBlocking& blocking, const EpilogueProgram& epilogue,
                   VectorAssembler& assembler)
      : problem_(problem), blocking_(blocking), epilogue_(epilogue), as_(assembler), p_(describe(problem, blocking)) {}

  GemmParameters emit() {
    for (const bool tall : {true, false}) {
      const EvenSplit& tiles = blocking_.tiles;
      if (tall ? tiles.extra == 0 : tiles.extra == tiles.parts) continue;
      const int rows = static_cast<int>(tiles.base + tall);
      for (std::size_t kind = 0; kind < 3; ++kind) {
        if (has_panel(kind)) emit_kernel(tall ? 0 : 1, rows, kind);
      }
    }
    for (std::size_t kind = 0; blocking_.pack_b && kind < 3; ++kind) {
      if (has_panel(kind)) emit_pack_b(kind);
    }
    as_.finish();
    return p_;
  }

 private:
  /// Whether panels of this kind exist besides the last one: wide (0), narrow (1) or last (2). The last panel is a kind
  /// of its own, because it may end inside a vector.
  bool has_panel(std::size_t kind) const {
    const EvenSplit& panels = blocking_.panels;
    if (kind == 2) return true;
    return kind == 0 ? panels.extra > 0 && panels.parts > 1 : panels.parts - 1 > panels.extra;
  }
  int vectors(std::size_t kind) const {
    const EvenSplit& panels = blocking_.panels;
    return static_cast<int>(kind == 2 ? panels.size(panels.parts - 1) : panels.base + (kind == 0));
  }
  int valid_lanes(std::size_t kind) const {
    const int rest = static_cast<int>(problem_.n % blocking_.lanes);
    return kind == 2 && rest != 0 ? rest : as_.lanes();
  }
  std::int64_t position() const { return static_cast<std::int64_t>((as_.getSize() + 63) / 64 * 64); }

  void emit_kernel(std::size_t tile, int rows, std::size_t kind) {
    GemmKernelSpec spec;
    spec.rows = rows;
    spec.vectors = vectors(kind);
    spec.valid_lanes = valid_lanes(kind);
    spec.a_row_bytes = problem_.a.m * 4;
    spec.a_step_bytes = problem_.a.k * 4;
    spec.b_step_bytes = (blocking_.pack_b ? vectors(kind) * blocking_.lanes : problem_.b.k) * 4;
    spec.b_is_padded = blocking_.pack_b;
    spec.has_partial = blocking_.has_partial();
    spec.prefetches = blocking_.k_blocks.base >= kMinStepsToPrefetch;
    spec.loops_epilogue = epilogue_.loops && spec.rows * spec.vectors > 1;
    p_.multiply_tile[tile][kind] = {position()};
    emit_gemm_kernel(as_, spec, epilogue_, problem_);
  }

  void emit_pack_b(std::size_t kind) {
    p_.pack_panel[kind] = {position()};
    const std::int64_t packed_step = vectors(kind) * blocking_.lanes * 4;
    if (problem_.b.n == 1) {
      emit_gemm_copy(as_, {vectors(kind), valid_lanes(kind), problem_.b.k * 4, packed_step});
    } else {
      const int columns = (vectors(kind) - 1) * as_.lanes() + valid_lanes(kind);
      emit_gemm_transpose(as_, {columns, problem_.b.n * 4, packed_step});
    }
  }

  const GemmProblem& problem_;
  const GemmBlocking& blocking_;
  const EpilogueProgram& epilogue_;
  VectorAssembler& as_;
  GemmParameters p_;
};

Status too_long(std::size_t min_bytes) {
  return unimplemented(
      fmt::format("the epilogue makes {} bytes of code or more, expected at most {}", min_bytes, kMaxGemmCodeBytes));
}

}  // namespace

Result<ExecutableImage> emit_gemm_image(const GemmProblem& problem, const GemmBlocking& blocking,
                                        const EpilogueProgram& epilogue, IsaLevel isa) {
  const auto emit = [&](std::span<std::byte> buffer, std::size_t& num_bytes) {
    VectorAssembler assembler(isa, buffer);
    RoutineCall call = call_of(Routine::gemm_f32, GemmImageEmitter(problem, blocking, epilogue, assembler).emit());
    num_bytes = assembler.getSize();
    return call;
  };
  MILLRACE_TRY_ASSIGN(ExecutableImage image, emit_image(emit, too_long(kMaxImageBytes)));
  if (image.code_bytes > kMaxGemmCodeBytes) return too_long(image.code_bytes);
  return image;
}

}  // namespace millrace
