// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "millrace/base/status.h"
#include "millrace/hal/gfx_target.h"

namespace millrace {

/// The instruction sets for which CPU code is generated. The level is chosen at run time, not by an #ifdef, so that a
/// test can choose a lower level than the host's.
enum class IsaLevel : std::uint8_t {
  kBaseline,  // x86-64-v2: SSE4.2
  kAvx2,      // x86-64-v3: AVX2, FMA, F16C
  kAvx512,    // x86-64-v4: AVX-512 F, BW, CD, DQ, VL
};

/// "baseline", "avx2", "avx512".
std::string_view to_text(IsaLevel);
/// The levels that this host can execute, lowest first. Not empty on any x86-64 host that Millrace supports.
std::span<const IsaLevel> host_isa_levels();

/// Instruction sets beyond a level, for kernels that benefit from them. Cores have them since Ice Lake and Zen 4.
struct CpuFeatures {
  bool vbmi2 = false;      // AVX-512 VBMI2: compresses bytes
  bool vpopcntdq = false;  // AVX-512 VPOPCNTDQ: counts the bits of lanes

  bool any() const { return *this != CpuFeatures{}; }
  /// Whether these features include all features of the argument.
  bool covers(const CpuFeatures&) const;
  friend bool operator==(const CpuFeatures&, const CpuFeatures&) = default;
};
/// "+vbmi2+vpopcntdq", or nothing.
std::string to_text(const CpuFeatures&);
/// The features that this host can execute.
CpuFeatures host_cpu_features();

/// The cores that CPU code is scheduled for. Every core of the level executes the code, with the same results.
enum class CpuTune : std::uint8_t {
  kGeneric,  // any x86-64-v2 for baseline, Zen 3 for avx2, Zen 4 for avx512
  kIntel,    // Skylake; Sapphire Rapids for avx512
};
/// "generic", "intel".
std::string_view to_text(CpuTune);
/// kIntel on a processor of Intel.
CpuTune host_cpu_tune();

/// The machine for which code is generated, as text: "cpu" (the host's best level, with its features, tuned for it),
/// "cpu:avx2", "cpu:avx512+vbmi2,tune=intel", "amdgpu:gfx1100", "sim:gfx1100". A level without "tune=" means generic
/// code. "tune=host" is also accepted.
struct TargetSpec {
  std::string family = "cpu";          // "cpu", "amdgpu", "sim"
  IsaLevel isa = IsaLevel::kBaseline;  // cpu only
  std::string gfx = {};                // GPUs only: a name of gfx_targets()
  CpuFeatures features = {};           // cpu only, avx512 only
  CpuTune tune = CpuTune::kGeneric;    // cpu only

  /// "cpu" alone means the host's best. For an unknown part, fails (with kNotFound if it is the family) and names the
  /// part and the known ones.
  static Result<TargetSpec> parse(std::string_view text);
  std::string to_text() const;
  /// Whether every machine that executes code for this target also executes code for `other`, however it is tuned.
  bool covers(const TargetSpec& other) const;
  /// This target without features beyond its level, and generic.
  TargetSpec plain() const { return {family, isa, gfx}; }
  bool is_cpu() const { return family == "cpu"; }
  /// True for simulated GPUs too: kernels are mapped and planned for both in the same way.
  bool is_gpu() const { return gfx_target() != nullptr; }
  /// Whether kernels are interpreted instead of emitted.
  bool is_simulated() const { return family == "sim"; }
  /// The GPU's row in the table; null if this is not a GPU.
  const GfxTarget* gfx_target() const { return family == "amdgpu" || is_simulated() ? find_gfx_target(gfx) : nullptr; }
  /// Threads that run in lockstep: 1 on a CPU.
  std::uint32_t subgroup_size() const { return is_gpu() ? gfx_target()->subgroup_size : 1; }
  bool has_fma() const { return is_gpu() || isa != IsaLevel::kBaseline; }
  /// Bytes of one vector register: 16, 32 or 64. On a GPU, the widest access of one thread.
  std::uint32_t vector_bytes() const { return 16u << static_cast<unsigned>(isa); }
  std::uint32_t num_vector_registers() const { return isa == IsaLevel::kAvx512 ? 32 : 16; }
  friend bool operator==(const TargetSpec&, const TargetSpec&) = default;
};

}  // namespace millrace
