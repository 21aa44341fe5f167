// SPDX-License-Identifier: Apache-2.0
// The state of a running wave: registers, which of their bits are undefined, and the loads in flight.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "isa/in_flight.h"
#include "isa/instruction.h"
#include "isa/machine.h"

namespace millrace::isa {

struct Workgroup;

/// One 32-bit word per lane.
struct alignas(64) LaneWords {
  std::array<std::uint32_t, kMaxLanes> lanes = {};
};

/// Fields of the MODE register.
struct Mode {
  std::uint8_t round_f32 = 0, round_f16_f64 = 0;  // 0: to nearest even, 1: up, 2: down, 3: to zero
  bool flushes_f32_inputs = false, flushes_f32_results = false;
  bool flushes_f16_f64_inputs = false, flushes_f16_f64_results = false;
  bool clamps_nan_to_zero = false;  // DX10_CLAMP
  bool is_ieee = false;             // min and max make signalling NaNs quiet
};

enum class WaveState : std::uint8_t { kRunning, kAtBarrier, kEnded };

/// A running wave. Undefined bits are tracked bit by bit, as in Memcheck (Seward and Nethercote, USENIX 2005): a set
/// bit of a shadow word means that the register's bit has no defined value. Undefined bits flow through instructions;
/// using them for an address, a branch and the like is a mistake.
struct Wave {
  Wave(const Machine&, Workgroup&, std::uint32_t number, std::uint32_t num_vector_registers, bool finds_mistakes);

  const Machine& machine;
  Workgroup& group;
  std::uint32_t number = 0;  // its index in the workgroup
  std::uint32_t pc = 0;      // the index of the next instruction
  WaveState state = WaveState::kRunning;
  std::array<std::uint32_t, kNumScalars> scalars = {};
  std::array<std::uint32_t, kNumScalars> undefined_scalars = {};
  bool scc = false, is_scc_undefined = false;
  Mode mode = {};
  std::vector<LaneWords> vectors;
  std::vector<LaneWords> undefined_vectors;  // empty if mistakes are not looked for
  std::vector<std::uint8_t> has_undefined;   // per vector register: false if its shadow is zero
  InFlight in_flight;
  std::string failure = {};            // the mistake of the current instruction
  std::uint64_t failing_lanes = 0;     // the lanes that made it; 0: the whole wave made it
  bool has_signalled_barrier = false;  // gfx12: signalled, but not waited for yet
  // gfx12: accesses that may happen after the barrier that the wave has signalled: those in flight at the signal, and
  // all later ones.
  std::vector<Footprint> passing_barrier = {};

  std::uint64_t exec() const { return mask(kExec); }
  /// A mask of lanes in scalar registers.
  std::uint64_t mask(std::uint32_t first) const;
  /// The undefined bits of a mask.
  std::uint64_t undefined_mask(std::uint32_t first) const;
  /// Writes a mask of lanes. An undefined bit in EXEC is a mistake.
  void set_mask(std::uint32_t first, std::uint64_t lanes, std::uint64_t undefined = 0);

  /// The value of a scalar register, constant or SCC, of up to 64 bits.
  std::uint64_t read_scalar(const Operand&) const;
  std::uint64_t undefined_bits(const Operand&) const;
  /// Writes one or two scalar registers. See set_mask for EXEC.
  void write_scalar(const Operand&, std::uint64_t value, std::uint64_t undefined = 0);

  bool finds_mistakes() const { return !undefined_vectors.empty(); }
  /// Whether any lane of a vector operand, or any bit of another operand, may be undefined.
  bool may_be_undefined(const Operand&) const;
  /// Sets the undefined bits of a register in the lanes of `lanes` to `bits`.
  void set_undefined(std::uint32_t vector_register, std::uint64_t lanes, const LaneWords& bits);
  void set_defined(std::uint32_t vector_register, std::uint64_t lanes);

  /// Records a mistake of the running instruction; only the first one counts.
  void fail(std::string what, std::uint64_t lanes = 0);
};

/// "v3", "v[2:3]", "a0", "s[4:5]", "vcc", "exec_lo".
std::string register_text(const RegisterRange&);

}  // namespace millrace::isa
