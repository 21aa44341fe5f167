// SPDX-License-Identifier: Apache-2.0
// Kernels of hand-written assembler text.
#pragma once

#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "isa/execute.h"

namespace millrace::isa::test {

struct Assembly {
  const char* gfx = "gfx1100";
  std::uint32_t num_lanes = 32;
  std::uint32_t workgroup_size = 32;
  std::uint64_t workgroup_bytes = 0;
  std::uint64_t private_bytes = 0;
  std::uint64_t argument_bytes = 16;
  std::uint32_t num_vector_registers = 32;
  /// An instruction per line; "s_endpgm" is added. Each has 4 bytes, whatever it would have.
  std::string text = {};
};

/// A kernel "kernel" that starts with the arguments' address in s[0:1], its workgroup in s2 (from gfx12 on in ttmp9)
/// and the thread in v0.
inline MachineCode assemble(const Assembly& assembly) {
  MachineCodeKernel kernel{.symbol = "kernel",
                           .argument_bytes = assembly.argument_bytes,
                           .workgroup_bytes = assembly.workgroup_bytes,
                           .private_bytes = assembly.private_bytes,
                           .workgroup_size = assembly.workgroup_size,
                           .subgroup_size = assembly.num_lanes,
                           .num_vector_registers = assembly.num_vector_registers};
  // Two user registers and the workgroup's number; a pointer to the arguments. LLVM's "Kernel Descriptor".
  const std::uint32_t rsrc2 = 2u << 1 | 1u << 7, properties = 1u << 3;
  std::memcpy(kernel.descriptor.data() + 52, &rsrc2, sizeof(rsrc2));
  std::memcpy(kernel.descriptor.data() + 56, &properties, sizeof(properties));
  const auto add = [&](std::string_view line) {
    const std::size_t first = line.find_first_not_of(' ');
    if (first == line.npos) return;
    kernel.instructions.push_back(
        {.address = 4 * kernel.instructions.size(), .size_bytes = 4, .text = std::string(line.substr(first))});
  };
  std::string_view rest = assembly.text;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    add(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  add("s_endpgm");
  MachineCode code{.gfx = assembly.gfx};
  code.segments.push_back({.memory_bytes = 4 * kernel.instructions.size()});
  code.kernels.push_back(std::move(kernel));
  return code;
}

/// A buffer of words, "@0" and so on.
struct Words {
  std::vector<std::uint32_t> words;
  bool is_written = true;
};

struct AssemblyRun {
  Status status;
  IsaCounts counts = {};
};

/// Runs a kernel whose arguments are the addresses of buffers.
inline AssemblyRun run(Assembly assembly, std::vector<Words>& buffers, std::uint32_t num_groups = 1,
                       bool finds_mistakes = true, std::uint64_t seed = 0) {
  assembly.argument_bytes = 8 * buffers.size();
  const Result<std::shared_ptr<const Program>> program = load_program(assemble(assembly));
  if (!program.ok()) return {program.status()};
  std::vector<std::uint64_t> arguments;
  std::vector<LaunchBuffer> launched;
  for (Words& buffer : buffers) {
    arguments.push_back(reinterpret_cast<std::uint64_t>(buffer.words.data()));
    launched.push_back({.name = "@" + std::to_string(launched.size()),
                        .address = arguments.back(),
                        .size_bytes = 4 * buffer.words.size(),
                        .is_written = buffer.is_written});
  }
  const Launch launch{.num_groups = num_groups,
                      .arguments = std::as_bytes(std::span(arguments)),
                      .buffers = launched,
                      .seed = seed,
                      .finds_mistakes = finds_mistakes};
  const Result<IsaCounts> counts = run_kernel(*(*program)->find("kernel"), launch);
  return counts.ok() ? AssemblyRun{{}, *counts} : AssemblyRun{counts.status()};
}

/// The message of a kernel that fails.
inline std::string mistake_of(const Assembly& assembly, std::vector<Words> buffers, std::uint32_t num_groups = 1) {
  return std::string(run(assembly, buffers, num_groups).status.message());
}

}  // namespace millrace::isa::test
