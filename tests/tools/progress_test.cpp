// SPDX-License-Identifier: Apache-2.0
// The progress line of long compiles, which is only for terminals.
#include <chrono>
#include <cstdio>
#include <fcntl.h>
#include <initializer_list>
#include <pty.h>
#include <regex>
#include <unistd.h>

#include <doctest/doctest.h>

#include "tests/tools/workplace.h"
#include "tools/millrace/progress_line.h"

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

/// A terminal, and the end at which its output is read.
struct Terminal {
  Terminal() { is_open = openpty(&master, &slave, nullptr, nullptr, nullptr) == 0; }
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;
  ~Terminal() {
    if (is_open) close(master);
    if (is_open) close(slave);
  }
  int master = -1, slave = -1;
  bool is_open = false;
};

/// The output of the line when it is shown after each of these times in milliseconds and then removed.
std::string shown_after(std::initializer_list<int> milliseconds, int slave, int master) {
  std::chrono::nanoseconds now{};
  std::FILE* file = fdopen(dup(slave), "w");
  REQUIRE(file != nullptr);
  {
    tool::ProgressLine line(file, [&] { return now; });
    std::size_t kernel = 0;
    for (const int time : milliseconds) {
      now = std::chrono::milliseconds(time);
      line.show({.kernel = kernel++, .num_kernels = 9, .name = "a\x1b"});
    }
  }
  std::fclose(file);
  return drained(master);
}

TEST_CASE("progress is shown from 300 ms on, only on a terminal, and is removed at the end") {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  CHECK(shown_after({1000, 2000}, ends[1], ends[0]) == "");
  close(ends[0]);
  close(ends[1]);
  const Terminal terminal;
  if (!terminal.is_open) {
    MESSAGE("not tried on a terminal: no pseudo-terminals are mounted here");
    return;
  }
  const auto shown = [&](std::initializer_list<int> times) {
    return shown_after(times, terminal.slave, terminal.master);
  };
  CHECK(shown({}) == "");
  CHECK(shown({0, 299}) == "");
  CHECK(shown({299, 300}) == "\rcompiling kernel 2 of 9: a\\x1b\033[K\r\033[K");
  CHECK(shown({300, 301}) == "\rcompiling kernel 1 of 9: a\\x1b\033[K\rcompiling kernel 2 of 9: a\\x1b\033[K\r\033[K");
}

/// A graph of a few kernels that take LLVM a while.
std::string slow_graph() {
  std::string text = "graph slow(%x: f64[40]) {\n  %v0 = abs(%x)\n", value = "%v0";
  for (int i = 1; i <= 120; ++i) {
    const std::string next = "%v" + std::to_string(i);
    text += "  " + next + " = pow(" + value + ", %x)\n";
    value = next;
  }
  return text + "  %s, %i = sort(" + value + ") {axis = 0}\n  return s = %s\n}\n";
}

TEST_CASE("a compile on a terminal shows kernels, and erases them at the end") {
  const Workplace here;
  const Terminal terminal;
  if (!terminal.is_open) {
    MESSAGE("not tried: no pseudo-terminals are mounted here");
    return;
  }
  here.write("slow.mr", slow_graph());
  Workplace::forget_kernels();
  const std::string error = " 2> /proc/self/fd/" + std::to_string(terminal.slave);
  CHECK(here.run("run slow.mr --input x=randn" + error).exit_code == 0);
  // How many of them there are depends on how fast this machine compiles.
  const std::regex expected("((\rcompiling kernel [0-9]+ of [0-9]+: [a-z0-9_]+\x1b\\[K)+\r\x1b\\[K)?");
  const std::string text = drained(terminal.master);
  CHECK_MESSAGE(std::regex_match(text, expected), text);
}

}  // namespace
}  // namespace millrace
