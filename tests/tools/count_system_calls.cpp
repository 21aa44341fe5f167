// SPDX-License-Identifier: Apache-2.0
#include "tests/tools/count_system_calls.h"

#include <cstdlib>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

namespace millrace::test {
namespace {

constexpr int kSystemCall = SIGTRAP | 0x80;  // how PTRACE_O_TRACESYSGOOD marks them

[[noreturn]] void become_millrace(const std::string& directory, const std::string& arguments) {
  setenv("ASAN_OPTIONS", "detect_leaks=0", 1);  // that checker traces, too
  setenv("XDG_CACHE_HOME", directory.c_str(), 1);
  const std::string command =
      "cd '" + directory + "' && exec '" MILLRACE_TOOL "' > /dev/null 2>&1 < /dev/null " + arguments;
  if (ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) == 0) execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
  _exit(127);
}

/// Each call stops the child twice: before it and behind it.
std::optional<std::uint64_t> count_stops(pid_t child, std::uint64_t max_calls) {
  int status = 0, signal = 0;
  if (waitpid(child, &status, 0) != child || !WIFSTOPPED(status)) return {};
  if (ptrace(PTRACE_SETOPTIONS, child, nullptr, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL) != 0) return {};
  for (std::uint64_t stops = 0; stops <= 2 * max_calls;) {
    if (ptrace(PTRACE_SYSCALL, child, nullptr, signal) != 0 || waitpid(child, &status, 0) != child) return {};
    if (WIFEXITED(status)) return WEXITSTATUS(status) == 0 ? std::optional(stops / 2) : std::nullopt;
    if (!WIFSTOPPED(status)) return {};
    signal = WSTOPSIG(status) == SIGTRAP || WSTOPSIG(status) == kSystemCall ? 0 : WSTOPSIG(status);
    stops += WSTOPSIG(status) == kSystemCall ? 1 : 0;
  }
  return max_calls + 1;
}

}  // namespace

std::optional<std::uint64_t> count_system_calls(const std::string& directory, const std::string& arguments,
                                                std::uint64_t max_calls) {
  const pid_t child = fork();
  if (child == 0) become_millrace(directory, arguments);
  if (child < 0) return {};
  const std::optional<std::uint64_t> count = count_stops(child, max_calls);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  return count;
}

}  // namespace millrace::test
