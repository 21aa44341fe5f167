// SPDX-License-Identifier: Apache-2.0
// Injects mistakes that a compiler could make into machine code.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "millrace/hal/machine_code.h"
#include "millrace/isa/device.h"

namespace millrace::test {

enum class CodeMistake {
  kNoWait,        // a wait for a load, a store or workgroup memory is gone
  kNoBarrier,     // a barrier is gone
  kNoExec,        // an instruction that switches lanes off, or on again, is gone
  kOtherOffset,   // a memory instruction accesses another place
  kSunkExchange,  // an exchange between lanes runs after the branch that follows it
};
std::string_view to_text(CodeMistake);

/// A mistake at one instruction.
struct CodeMutation {
  CodeMistake mistake{};
  std::size_t number = 0;  // of the instruction
};

/// The mistakes that this kernel's code allows, where its run executed the instruction and it did something: a wait
/// that nothing was in flight for can go.
std::vector<CodeMutation> find_mutations(const MachineCodeKernel&, const IsaProfile&);

/// Makes the mistake. Addresses and sizes stay those of the object.
void mutate(MachineCodeKernel&, const CodeMutation&);

}  // namespace millrace::test
