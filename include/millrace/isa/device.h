// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "millrace/hal/device.h"
#include "millrace/hal/machine_code.h"

namespace millrace {

/// The work that the machine code of one dispatch did, summed over its waves. An instruction counts once per wave;
/// bytes are those that threads request, before caches and coalescing.
struct IsaCounts {
  std::uint64_t num_groups = 0;
  std::uint64_t num_waves = 0;
  std::uint64_t vector_instructions = 0;  // VALU; a VOPD counts once
  std::uint64_t scalar_instructions = 0;  // SALU
  std::uint64_t scalar_loads = 0;         // SMEM
  std::uint64_t global_instructions = 0;  // GLOBAL, FLAT and MUBUF
  std::uint64_t local_instructions = 0;   // DS
  std::uint64_t branches = 0;             // taken or not
  std::uint64_t waits = 0;                // S_WAITCNT and similar instructions
  std::uint64_t barriers = 0;             // once for each wave that reaches one
  std::uint64_t other_instructions = 0;   // S_NOP, S_DELAY_ALU, S_CLAUSE, S_ENDPGM and the like
  std::uint64_t lane_instructions = 0;    // vector instructions times their active lanes
  std::uint64_t global_bytes_read = 0;    // an atomic counts as a read and a write
  std::uint64_t global_bytes_written = 0;
  std::uint64_t local_bytes_read = 0;
  std::uint64_t local_bytes_written = 0;
  /// Extra cycles of instructions on workgroup memory; see SimCounts::bank_conflicts.
  std::uint64_t bank_conflicts = 0;

  std::uint64_t wave_instructions() const {
    return vector_instructions + scalar_instructions + scalar_loads + global_instructions + local_instructions +
           branches + waits + barriers + other_instructions;
  }
  IsaCounts& operator+=(const IsaCounts&);
  friend bool operator==(const IsaCounts&, const IsaCounts&) = default;
};

/// One count per line: "vector instructions      4096".
std::string to_text(const IsaCounts&);

/// How often a dispatch executed each instruction of its kernel, indexed like MachineCodeKernel::instructions.
struct IsaProfile {
  std::vector<std::uint64_t> executed = {};  // once per wave
  /// How often the instruction had an effect: a wait had to wait for data, or EXEC changed. For other instructions,
  /// equal to `executed`.
  std::vector<std::uint64_t> effective = {};
};

struct IsaDispatch {
  std::string kernel;
  std::string label = {};  // DispatchCommand::label
  IsaCounts counts = {};
  IsaProfile profile = {};  // empty unless the device makes profiles
};

struct IsaDeviceOptions {
  /// 0 runs workgroups and waves in order, and gives approximate instructions (exp, log, rcp, rsq, sqrt, sin, cos)
  /// their correctly rounded results. Any other value shuffles the orders and changes these results by up to one unit
  /// in the last place, differently for each dispatch.
  std::uint64_t seed = 0;
  /// If false, computes results and counts, and finds only mistakes that would harm this process (accesses outside the
  /// buffers).
  bool finds_mistakes = true;
  bool makes_profiles = false;
  /// A dispatch that executes more instructions than this fails, which ends endless loops.
  std::uint64_t max_wave_instructions = std::uint64_t{1} << 32;
};

/// A GPU whose machine code is executed in the host's memory, instruction by instruction. These mistakes end the
/// submission with kInternal, and the message names the kernel, the address, the instruction, the line of the kernel's
/// text if the object has a line table, the workgroup, the wave and the lanes:
///  - a register that is used while its load is in flight;
///  - undefined data that reaches a store, an address, a branch, EXEC, a scalar register or a barrier;
///  - a value taken from an inactive lane;
///  - an access that is misaligned, or outside workgroup memory or the buffer to which its address belongs;
///  - a barrier that not all waves reach; a race between waves; an endless loop;
///  - an instruction without a row in the table of semantics: loading a kernel that contains one fails.
/// The following are not modelled, so mistakes that concern them are not found:
///  - time;
///  - hazards that need S_NOP or other instructions in between, which LLVM's hazard recogniser handles (see
///    "Manually Inserted Wait States" in the ISA manuals);
///  - caches and the scopes of accesses: an access takes effect at once, for all waves;
///  - whether the bytes of a buffer were ever written: all of them count as defined;
///  - FLAT addresses of other segments: they count as global ones, and are then outside the buffers.
/// MUBUF accesses, loads into half of a register on GFX9, the global data share, and barriers other than the
/// workgroup's have no row in the table of semantics, so a kernel that contains one cannot be loaded. Reading an
/// inactive lane by DPP, V_PERMLANE* or DS_BPERMUTE is a mistake here, even where the manual defines the result.
class IsaDevice : public Device {
 public:
  /// What each dispatch of the last submission did, in order. A failed dispatch is left out. If submissions run
  /// concurrently, their dispatches are mixed.
  virtual std::vector<IsaDispatch> dispatches() const = 0;

 protected:
  using Device::Device;
};

/// `target` is "amdgpu:<gfx>". Fails for any other target.
Result<std::shared_ptr<IsaDevice>> create_isa_device(const TargetSpec& target, MachineCodeDecoder,
                                                     const IsaDeviceOptions& = {});

}  // namespace millrace
