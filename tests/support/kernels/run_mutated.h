// SPDX-License-Identifier: Apache-2.0
// Runs programs with a mistake in their machine code.
#pragma once

#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "millrace/graph/compile.h"
#include "millrace/graph/program.h"
#include "millrace/isa/device.h"
#include "tests/support/kernels/mutate_code.h"

namespace millrace::test {

/// Inputs of one kind, and the seed of the device, which decides the order of waves and the errors of approximations.
struct Trial {
  std::uint64_t device_seed;
  float (*value)(std::mt19937&, std::size_t i);
};
extern const std::vector<Trial> kTrials;

/// A mistake in a kernel. No symbol: no mistake.
struct MutatedKernel {
  std::string symbol = {};
  CodeMutation mutation = {};
};

/// One run's outputs, one after another, and its dispatches.
struct MutatedRun {
  Status status;
  std::vector<std::byte> outputs;
  std::vector<IsaDispatch> dispatches;
};

/// Makes a program for a device that executes machine code.
Program compile_for_mutation(const Graph&, const TargetSpec&);
/// Runs it. Not thread-safe.
MutatedRun run_mutated(const Program&, const TargetSpec&, const Trial&, const MutatedKernel& = {},
                       bool makes_profiles = false);
/// Adds the profile of each kernel over all dispatches of a run that made profiles.
void add_profiles(const Program&, const MutatedRun&, std::map<std::string, IsaProfile>&);
/// The right code of a kernel that has run. Equal kernels have one name on every target. Null: none has run.
const MachineCodeKernel* find_decoded_kernel(const std::string& symbol, const std::string& gfx);

}  // namespace millrace::test
