// SPDX-License-Identifier: Apache-2.0
// Instructions that wait for memory accesses.
// Source: RDNA 3 ISA, 5.6 "Data Dependency Resolution" and 16.5 (S_WAITCNT); RDNA 4 ISA, 16.5 (S_WAIT_*).
#include <fmt/format.h>

#include "isa/decode.h"
#include "isa/text.h"
#include "isa/wave.h"

namespace millrace::isa {
namespace {

void run_nothing(Wave&, const Instruction&) {}

template <WaitCounter kCounter>
void run_wait(Wave& wave, const Instruction& instruction) {
  wave.in_flight.wait(kCounter, static_cast<std::uint32_t>(instruction.immediate));
}

/// gfx12: LDS in the lowest six bits, the other counter in bits 8 to 13.
template <WaitCounter kCounter>
void run_wait_two(Wave& wave, const Instruction& instruction) {
  wave.in_flight.wait(WaitCounter::kDs, static_cast<std::uint32_t>(instruction.immediate & 63));
  wave.in_flight.wait(kCounter, static_cast<std::uint32_t>(instruction.immediate >> 8 & 63));
}

void run_wait_idle(Wave& wave, const Instruction&) { wave.in_flight.wait_for_all(); }

// s_waitcnt: `immediate` has vmcnt in its lowest byte, then lgkmcnt.
constexpr std::int64_t kNoWait = 255;

void run_waitcnt(Wave& wave, const Instruction& instruction) {
  const std::int64_t vm = instruction.immediate & 255, lgkm = instruction.immediate >> 8;
  if (vm != kNoWait) wave.in_flight.wait(WaitCounter::kVm, static_cast<std::uint32_t>(vm));
  if (lgkm != kNoWait) wave.in_flight.wait(WaitCounter::kLgkm, static_cast<std::uint32_t>(lgkm));
}

/// "vmcnt(0) lgkmcnt(1)". Exports, which expcnt counts, are not modelled, so none is ever in flight.
Status adapt_waitcnt(const InstructionText& text, const Machine&, Instruction& instruction) {
  std::int64_t vm = kNoWait, lgkm = kNoWait;
  for (std::string_view part : text.operands) {
    const std::size_t bracket = part.find('(');
    const std::optional<std::int64_t> count = part.ends_with(')') && bracket != part.npos
                                                  ? parse_integer(part.substr(bracket + 1, part.size() - bracket - 2))
                                                  : std::nullopt;
    const std::string_view counter = part.substr(0, bracket);
    if (!count || *count < 0 || *count > 63 || (counter != "vmcnt" && counter != "lgkmcnt" && counter != "expcnt")) {
      return unimplemented(fmt::format("count '{}' is not modelled", part));
    }
    if (counter == "vmcnt") vm = *count;
    if (counter == "lgkmcnt") lgkm = *count;
  }
  instruction.immediate = vm | lgkm << 8;
  return {};
}

/// The operand is a number; on GFX10 and GFX11, "null" precedes it.
Status adapt_count(const InstructionText& text, const Machine&, Instruction& instruction) {
  const bool has_register = text.operands.size() == 2 && text.operands[0] == "null";
  if (text.operands.size() != 1 && !has_register) return unimplemented("a count in a register is not modelled");
  const std::optional<std::int64_t> count = parse_integer(text.operands.back());
  if (!count || *count < 0) return unimplemented(fmt::format("'{}' is not a count", text.operands.back()));
  instruction.immediate = *count;
  return {};
}

/// Accepts any argument, because it does not affect what is modelled.
Status adapt_any(const InstructionText&, const Machine&, Instruction&) { return {}; }

constexpr Row row(const char* name, Handler run, Adaptor adapt) {
  return {.name = name, .kind = Class::kWait, .run = run, .adapt = adapt};
}

constexpr Row kRows[] = {
    row("s_waitcnt", &run_waitcnt, &adapt_waitcnt),
    row("s_waitcnt_vmcnt", &run_wait<WaitCounter::kVm>, &adapt_count),
    row("s_waitcnt_vscnt", &run_wait<WaitCounter::kVs>, &adapt_count),
    row("s_waitcnt_lgkmcnt", &run_wait<WaitCounter::kLgkm>, &adapt_count),
    row("s_waitcnt_expcnt", &run_nothing, &adapt_count),
    // These wait for dependencies that the processor also checks itself, so they only stall.
    row("s_waitcnt_depctr", &run_nothing, &adapt_any),
    row("s_wait_alu", &run_nothing, &adapt_any),
    row("s_wait_loadcnt", &run_wait<WaitCounter::kLoad>, &adapt_count),
    row("s_wait_storecnt", &run_wait<WaitCounter::kStore>, &adapt_count),
    row("s_wait_dscnt", &run_wait<WaitCounter::kDs>, &adapt_count),
    row("s_wait_kmcnt", &run_wait<WaitCounter::kKm>, &adapt_count),
    row("s_wait_loadcnt_dscnt", &run_wait_two<WaitCounter::kLoad>, &adapt_count),
    row("s_wait_storecnt_dscnt", &run_wait_two<WaitCounter::kStore>, &adapt_count),
    row("s_wait_idle", &run_wait_idle, &adapt_any),
    // Images, ray tracing and exports are not modelled, so none is ever in flight.
    row("s_wait_samplecnt", &run_nothing, &adapt_count),
    row("s_wait_bvhcnt", &run_nothing, &adapt_count),
    row("s_wait_expcnt", &run_nothing, &adapt_count),
};

}  // namespace

std::span<const Row> wait_rows() { return kRows; }

}  // namespace millrace::isa
