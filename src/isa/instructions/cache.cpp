// SPDX-License-Identifier: Apache-2.0
// Instructions that write caches back or invalidate them. Memory here has no caches, so these instructions have no
// effect on it. An instruction that a wait counter counts is nevertheless in flight until a wait.
// Source: RDNA 3 ISA, 8.1.3 "S_DCACHE_INV and S_GL1_INV" and 9.1 (BUFFER_GL0_INV); LLVM's "User Guide for AMDGPU
// Backend", "Memory Model", and SIInsertWaitcnts.
#include "isa/decode.h"
#include "isa/memory_access.h"

namespace millrace::isa {
namespace {

void run_nothing(Wave&, const Instruction&) {}

template <FlightKind kKind>
void run_counted(Wave& wave, const Instruction&) {
  begin_flight(wave, kKind);
}

Status adapt_cache(const InstructionText& text, const Machine&, Instruction& instruction) {
  if (!text.operands.empty()) return unimplemented("its operands are not modelled");
  return decode_memory_modifiers(text, instruction);
}

constexpr Row row(const char* name, Handler run) {
  return {.name = name, .kind = Class::kOther, .run = run, .adapt = &adapt_cache};
}

constexpr Row kRows[] = {
    row("buffer_gl0_inv", &run_nothing),
    row("buffer_gl1_inv", &run_nothing),
    row("buffer_inv", &run_nothing),
    row("buffer_invl2", &run_nothing),
    row("buffer_wbinvl1", &run_nothing),
    row("buffer_wbinvl1_vol", &run_nothing),
    row("buffer_wbl2", &run_counted<FlightKind::kStore>),
    row("global_inv", &run_counted<FlightKind::kLoad>),
    row("global_wb", &run_counted<FlightKind::kStore>),
    row("global_wbinv", &run_counted<FlightKind::kStore>),
    row("s_dcache_inv", &run_counted<FlightKind::kScalarLoad>),
    row("s_dcache_wb", &run_counted<FlightKind::kScalarLoad>),
    row("s_gl1_inv", &run_counted<FlightKind::kScalarLoad>),
    row("s_icache_inv", &run_nothing),
};

}  // namespace

std::span<const Row> cache_rows() { return kRows; }

}  // namespace millrace::isa
