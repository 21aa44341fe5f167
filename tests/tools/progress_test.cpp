// SPDX-License-Identifier: Apache-2.0
// Progress on long compiles, for people alone.
#include <fcntl.h>
#include <pty.h>
#include <unistd.h>

#include <doctest/doctest.h>

#include "tests/tools/workplace.h"

namespace millrace {
namespace {

using test::Workplace;

/// All that can be read without waiting.
std::string drained(int file) {
  fcntl(file, F_SETFL, O_NONBLOCK);
  std::string text;
  char part[4096];
  for (ssize_t size = 0; (size = read(file, part, sizeof part)) > 0;) text.append(part, static_cast<std::size_t>(size));
  return text;
}

/// What a run writes to standard error, which is `slave`; the other end is `master`. Nothing is cached.
std::string error_on(const Workplace& here, const std::string& arguments, int slave, int master) {
  Workplace::forget_kernels();
  CHECK(here.run(arguments + " 2> /proc/self/fd/" + std::to_string(slave)).exit_code == 0);
  std::string text = drained(master);
  close(slave);
  close(master);
  return text;
}

/// A graph of two kernels, of which the first takes LLVM about a second.
std::string slow_graph() {
  std::string text = "graph slow(%x: f64[40]) {\n  %v0 = abs(%x)\n", value = "%v0";
  for (int i = 1; i <= 120; ++i) {
    const std::string next = "%v" + std::to_string(i);
    text += "  " + next + " = pow(" + value + ", %x)\n";
    value = next;
  }
  return text + "  %s, %i = sort(" + value + ") {axis = 0}\n  return s = %s\n}\n";
}

TEST_CASE(
    "a long compile shows its progress on a terminal, on one line that is gone in the end; on a pipe it is silent") {
  const Workplace here;
  here.write("slow.mr", slow_graph());
  const std::string run = "run slow.mr --input x=randn";
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  CHECK(error_on(here, run, ends[1], ends[0]) == "");
  int master = -1, slave = -1;
  if (access("/dev/pts/ptmx", F_OK) != 0) {
    MESSAGE("not tried on a terminal: no pseudo-terminals are mounted here");
    return;
  }
  REQUIRE(openpty(&master, &slave, nullptr, nullptr, nullptr) == 0);
  const std::string shown = error_on(here, run, slave, master);
  // The first kernel is shown too where even what comes before it takes long.
  const std::string second = "\rcompiling kernel 2 of 2: sort_1\033[K\r\033[K";
  REQUIRE(shown.ends_with(second));
  const std::string before = shown.substr(0, shown.size() - second.size());
  CHECK((before.empty() || (before.starts_with("\rcompiling kernel 1 of 2: abs_pow_pow_pow_and_117_0") &&
                            before.ends_with("\033[K") && before.find('\n') == std::string::npos)));
}

}  // namespace
}  // namespace millrace
