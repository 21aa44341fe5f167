// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "millrace/jit/kernel_compiler.h"

namespace millrace::test {

/// The mistake found when the kernel is printed and parsed; empty if the parsed kernel and its text are equal to the
/// original. Precondition: verified.
std::string round_trip_problem(const LoopKernel&);
std::string round_trip_problem(const MachineKernel&);
/// The same for the machine kernel that it is mapped to, if there is one.
std::string round_trip_problem(const PlannedKernel&);
/// The same; empty for a kernel of another form, which has no text.
std::string round_trip_problem(const Kernel&);

/// The text with a byte changed, removed or added, a line dropped or doubled, or its end missing.
std::string mutate_text(std::string text, std::uint64_t seed);

/// Parses and verifies mutated texts of the kernel, which may fail but not crash. What is verified all the same must
/// have a text of its own that comes back: the problem with it, or empty.
std::string mutated_text_problem(const Kernel&, std::uint64_t seed, int num_mutations);

}  // namespace millrace::test
