// SPDX-License-Identifier: Apache-2.0
#include "tests/support/kernels/path_counts.h"

#include <array>
#include <csignal>
#include <cstring>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

namespace millrace::test {
namespace {

constexpr std::uint8_t kBreakpoint = 0xcc;

/// One instruction as far as it matters here. Source: Intel SDM, volume 2, chapter 2.
struct Instruction {
  bool is_locked = false;
  std::uint8_t opcode = 0;
  std::uint8_t modrm = 0;

  explicit Instruction(const std::array<std::uint8_t, 16>& bytes) {
    std::size_t i = 0;
    for (; i < 8; ++i) {
      const bool is_prefix = bytes[i] == 0x66 || bytes[i] == 0x67 || bytes[i] == 0xf2 || bytes[i] == 0xf3 ||
                             bytes[i] == 0x2e || bytes[i] == 0x3e || bytes[i] == 0x64 || bytes[i] == 0x65;
      const bool is_rex = (bytes[i] & 0xf0) == 0x40;
      if (bytes[i] == 0xf0) {
        is_locked = true;
      } else if (!is_prefix && !is_rex) {
        break;
      }
    }
    opcode = bytes[i];
    modrm = bytes[i + 1];
  }

  bool is_atomic() const {
    const bool is_exchange = (opcode == 0x86 || opcode == 0x87) && modrm >> 6 != 3;
    return is_locked || is_exchange;
  }
  bool is_indirect_call() const {
    const bool is_call = opcode == 0xff && (modrm >> 3 & 7) == 2;
    const bool is_through_table_of_imports = modrm == 0x15;  // relative to the instruction
    return is_call && !is_through_table_of_imports;
  }
};

std::array<std::uint8_t, 16> bytes_at(pid_t child, std::uint64_t address) {
  std::array<std::uint8_t, 16> bytes{};
  for (std::size_t i = 0; i < 2; ++i) {
    const long word = ptrace(PTRACE_PEEKTEXT, child, address + 8 * i, nullptr);
    std::memcpy(bytes.data() + 8 * i, &word, sizeof(word));
  }
  return bytes;
}

bool stops_with(pid_t child, int signal) {
  int status = 0;
  return waitpid(child, &status, 0) == child && WIFSTOPPED(status) && WSTOPSIG(status) == signal;
}

/// From the first breakpoint to the second.
std::optional<PathCounts> step_through(pid_t child) {
  if (!stops_with(child, SIGSTOP)) return {};
  if (ptrace(PTRACE_CONT, child, nullptr, nullptr) != 0 || !stops_with(child, SIGTRAP)) return {};
  PathCounts counts;
  for (;;) {
    user_regs_struct registers{};
    if (ptrace(PTRACE_GETREGS, child, nullptr, &registers) != 0) return {};
    const auto bytes = bytes_at(child, registers.rip);
    if (bytes[0] == kBreakpoint) return counts;
    const Instruction instruction(bytes);
    ++counts.instructions;
    counts.atomics += instruction.is_atomic() ? 1 : 0;
    counts.indirect_calls += instruction.is_indirect_call() ? 1 : 0;
    if (ptrace(PTRACE_SINGLESTEP, child, nullptr, nullptr) != 0 || !stops_with(child, SIGTRAP)) return {};
  }
}

}  // namespace

std::optional<PathCounts> count_path(const std::function<void()>& body) {
  const pid_t child = fork();
  if (child == 0) {
    body();
    body();
    if (ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) _exit(1);
    raise(SIGSTOP);
    asm volatile("int3" ::: "memory");
    body();
    asm volatile("int3" ::: "memory");
    _exit(0);
  }
  if (child < 0) return {};
  const std::optional<PathCounts> counts = step_through(child);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  return counts;
}

}  // namespace millrace::test
