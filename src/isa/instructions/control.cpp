// SPDX-License-Identifier: Apache-2.0
// Branches, barriers, the program counter, MODE, and instructions that change nothing here.
// Source: RDNA 3 ISA, 5 "Program Flow Control", 16.3 (S_GETPC_B64) and 16.5 "SOPP"; RDNA 4 ISA, 16.3 (S_BARRIER_SIGNAL)
// and 16.5.
#include <bit>
#include <string_view>

#include <fmt/format.h>

#include "isa/decode.h"
#include "isa/text.h"
#include "isa/workgroup.h"

namespace millrace::isa {
namespace {

void jump(Wave& wave, const Instruction& instruction) { wave.pc = instruction.target; }

/// Branches if the lanes' mask is zero (kWhenZero), or if it is not.
template <std::uint32_t kMask, bool kWhenZero>
void jump_by_mask(Wave& wave, const Instruction& instruction) {
  const std::uint64_t mask = wave.mask(kMask), undefined = wave.undefined_mask(kMask);
  if (undefined != 0 && (mask & ~undefined) == 0) return wave.fail("undefined data decides a branch", undefined);
  if ((mask == 0) == kWhenZero) jump(wave, instruction);
}

template <bool kWhenSet>
void jump_by_scc(Wave& wave, const Instruction& instruction) {
  if (wave.is_scc_undefined) return wave.fail("undefined data decides a branch");
  if (wave.scc == kWhenSet) jump(wave, instruction);
}

constexpr Row branch(const char* name, Handler run) {
  return {.name = name, .kind = Class::kBranch, .run = run, .types = {Type::kImmediate}};
}

void end(Wave& wave, const Instruction&) {
  if (wave.has_signalled_barrier) return wave.fail("ends without waiting at the barrier that it has signalled");
  wave.state = WaveState::kEnded;
}

void stop_at_barrier(Wave& wave, const Instruction&) { wave.state = WaveState::kAtBarrier; }

/// On GFX12, arriving and waiting are separate. Other waves may pass the barrier as soon as the last wave has signalled
/// it. So the accesses that a wave has in flight when it signals, and those that it makes between its signal and its
/// wait, are not ordered with what other waves do after the barrier.
void signal_barrier(Wave& wave, const Instruction&) {
  if (wave.has_signalled_barrier) return wave.fail("signals a barrier twice without waiting at it in between");
  wave.has_signalled_barrier = true;
  for (const auto& footprint : wave.in_flight.footprints()) wave.passing_barrier.push_back(*footprint);
}

void wait_at_signalled_barrier(Wave& wave, const Instruction&) {
  if (!wave.has_signalled_barrier) return wave.fail("waits at a barrier that it has not signalled");
  wave.has_signalled_barrier = false;
  wave.state = WaveState::kAtBarrier;
}

/// The workgroup's own barrier is number -1.
Status expect_workgroup_barrier(const InstructionText& text, const Machine&, Instruction&) {
  if (text.rest == "-1" || text.rest == "0xffff") return {};
  return unimplemented(fmt::format("barrier '{}' is not modelled, only the workgroup's", text.rest));
}

/// s_code_end is the padding after a kernel, and must never run.
void run_past_end(Wave& wave, const Instruction&) { wave.fail("runs past the kernel's end"); }

void do_nothing(Wave&, const Instruction&) {}

Status accept(const InstructionText&, const Machine&, Instruction&) { return {}; }

Status expect_known_message(const InstructionText& text, const Machine&, Instruction&) {
  if (text.rest == "sendmsg(MSG_DEALLOC_VGPRS)") return {};
  return unimplemented(fmt::format("message '{}' is not modelled", text.rest));
}

/// MSG_DEALLOC_VGPRS also frees the wave's private memory. LLVM's SIInsertWaitcnts never sends this message while a
/// store to private memory is in flight.
void send_message(Wave& wave, const Instruction&) {
  if (!wave.finds_mistakes() || !wave.in_flight.has(FlightKind::kPrivateStore)) return;
  wave.fail("frees the threads' private memory while a store to it is in flight; a wait is missing");
}

/// Instructions that give hints to the scheduler or spend time: no value depends on them.
constexpr Row hint(const char* name) {
  return {.name = name, .kind = Class::kOther, .run = do_nothing, .adapt = accept};
}

void get_pc(Wave& wave, const Instruction& instruction) {
  const std::uint64_t next = instruction.address + instruction.size_bytes;
  wave.write_scalar(instruction.result(), wave.group.dispatch.kernel.entry_address + next);
}

void set_round_mode(Wave& wave, const Instruction& instruction) {
  wave.mode.round_f32 = instruction.immediate & 3;
  wave.mode.round_f16_f64 = instruction.immediate >> 2 & 3;
}

void set_denorm_mode(Wave& wave, const Instruction& instruction) {
  const auto flushes = [&](int bit) { return (instruction.immediate >> bit & 1) == 0; };
  wave.mode.flushes_f32_inputs = flushes(0);
  wave.mode.flushes_f32_results = flushes(1);
  wave.mode.flushes_f16_f64_inputs = flushes(2);
  wave.mode.flushes_f16_f64_results = flushes(3);
}

/// Adds the mask, which a branch reads without naming it, to the registers that are checked for loads in flight.
template <std::uint32_t kMask>
Status decode_branch_by_mask(const InstructionText& text, const Machine& machine, Instruction& instruction) {
  MILLRACE_TRY(decode_operands(text, machine, instruction));
  instruction.registers.push_back({false, kMask, static_cast<std::uint16_t>(machine.num_lanes / 32)});
  return {};
}

template <std::uint32_t kMask, bool kWhenZero>
constexpr Row branch_by_mask(const char* name) {
  Row row = branch(name, jump_by_mask<kMask, kWhenZero>);
  row.adapt = decode_branch_by_mask<kMask>;
  return row;
}

constexpr Row kRows[] = {
    branch("s_branch", jump),
    branch("s_cbranch_scc0", jump_by_scc<false>),
    branch("s_cbranch_scc1", jump_by_scc<true>),
    branch_by_mask<kVcc, true>("s_cbranch_vccz"),
    branch_by_mask<kVcc, false>("s_cbranch_vccnz"),
    branch_by_mask<kExec, true>("s_cbranch_execz"),
    branch_by_mask<kExec, false>("s_cbranch_execnz"),
    {.name = "s_endpgm", .kind = Class::kOther, .run = end},
    {.name = "s_barrier", .kind = Class::kBarrier, .run = stop_at_barrier},
    {.name = "s_barrier_signal", .kind = Class::kOther, .run = signal_barrier, .adapt = expect_workgroup_barrier},
    {.name = "s_barrier_wait",
     .kind = Class::kBarrier,
     .run = wait_at_signalled_barrier,
     .adapt = expect_workgroup_barrier},
    {.name = "s_getpc_b64", .kind = Class::kScalar, .run = get_pc, .num_results = 1, .types = {Type::kB64}},
    {.name = "s_round_mode", .kind = Class::kOther, .run = set_round_mode, .types = {Type::kImmediate}},
    {.name = "s_denorm_mode", .kind = Class::kOther, .run = set_denorm_mode, .types = {Type::kImmediate}},
    hint("s_nop"),
    {.name = "s_code_end", .kind = Class::kOther, .run = run_past_end},
    hint("s_delay_alu"),
    hint("s_clause"),
    hint("s_sleep"),
    hint("s_setprio"),
    hint("s_inst_prefetch"),
    hint("s_set_inst_prefetch_distance"),
    {.name = "s_sendmsg", .kind = Class::kOther, .run = send_message, .adapt = expect_known_message},
};

}  // namespace

std::span<const Row> control_rows() { return kRows; }

}  // namespace millrace::isa
