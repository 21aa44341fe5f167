// SPDX-License-Identifier: Apache-2.0
// Names from a graph's text may hold any bytes. Printed, they must not act on a terminal, or look like lines of the
// program.
#include <algorithm>
#include <string>
#include <string_view>

#include <doctest/doctest.h>

#include "tests/tools/workplace.h"

namespace millrace {
namespace {

using test::contains;
using test::Workplace;

constexpr std::string_view kHostile = R"(graph "g\n\x1b[2J" (%"x\n\x1b[2J": f32[n in 1..9, 4]) {
  %"s\n\x1b[2J" = exp(%"x\n\x1b[2J")
  return "y\n\x1b[2J" = %"s\n\x1b[2J", "z\n\x1b[2J" = %"s\n\x1b[2J"
}
)";

/// The same with another beginning of a terminal's command than ESC and '['.
std::string hostile_with(std::string_view introducer) {
  constexpr std::string_view kEscape = "\\x1b[";
  std::string text(kHostile);
  for (std::size_t at = text.find(kEscape); at != text.npos; at = text.find(kEscape, at + introducer.size())) {
    text.replace(at, kEscape.size(), introducer);
  }
  return text;
}

bool is_harmless(const std::string& text) {
  const auto is_control = [](char c) {
    return (static_cast<unsigned char>(c) < 0x20 && c != '\n') || static_cast<unsigned char>(c) >= 0x7f;
  };
  return std::ranges::none_of(text, is_control) && !contains(text, "\n[2J") && !contains(text, "\n\\x1b");
}

TEST_CASE("every command prints names with their control characters escaped") {
  const Workplace here;
  std::string introducer, for_printf;
  SUBCASE("ESC") { introducer = "\\x1b[", for_printf = "\\033["; }
  SUBCASE("U+009B") { introducer = "\xc2\x9b", for_printf = "\\302\\233"; }
  SUBCASE("a byte that is not UTF-8") { introducer = "\x9b", for_printf = "\\233"; }
  here.write("top\x1b.mr", hostile_with(introducer));
  const std::string graph = " 'top\x1b.mr'", input = " --input \"$(printf 'x\\n" + for_printf + "2J')=ones,2x4\"";
  for (const std::string& command : {
           "check" + graph,
           "explain" + graph,
           "dump --stage graph" + graph,
           "dump --stage graph --format dot" + graph,
           "dump --stage dispatch" + graph,
           "dump --stage kernels" + graph,
           "dump --stage plan" + graph,
           "dump --stage schedule" + graph,
           "dump --stage commands" + graph,
           "run" + graph + input,
           "run --device sim:gfx1100 --counts" + graph + input,
           "bench --min-time 0.001" + graph + input,
           "run --trace /dev/stdout" + graph + input,
       }) {
    CAPTURE(command);
    const test::ToolRun run = here.run(command);
    CHECK(run.exit_code == 0);
    CHECK(run.out != "");
    CHECK(is_harmless(run.out));
    CHECK(is_harmless(run.error));
  }
}

TEST_CASE("errors show names with their control characters escaped") {
  const Workplace here;
  here.write("top.mr", kHostile);
  const std::string input = R"( --input "$(printf 'x\n\033[2J')=ones)";
  CHECK(here.error_of("check 'none\x1b\n.mr'") ==
        "millrace: graph 'none\\x1b\\n.mr': the file cannot be opened: No such file or directory; check the path\n");
  CHECK(here.error_of("run top.mr") ==
        "millrace: input 'x\\n\\x1b[2J' of f32[n, 4] is not given; say --input x\\n\\x1b[2J=@FILE.npy, or zeros, "
        "ones, randn or arange instead\n");
  CHECK(here.error_of("run top.mr" + input + ",2x5\"") ==
        "millrace: input 'x\\n\\x1b[2J' is [2x5], expected 4 in dim 1 of f32[n, 4]; bind tensors that agree\n");
  CHECK(here.error_of("run top.mr --input z=ones") ==
        "millrace: --input z=ones: the graph has no input 'z'; it has: x\\n\\x1b[2J\n");
  const std::string name(100'000, 'n');
  CHECK(here.error_of(name, 2) == "millrace: unknown command '" + name.substr(0, 160) + "..." + name.substr(0, 64) +
                                      "'; see 'millrace --help'\n");
  CHECK(here.error_of("run --" + name, 2).size() < 2000);
  CHECK(here.error_of("run top.mr --dim " + name, 2).size() < 2000);
  CHECK(here.error_of("run top.mr --dim " + name + "=1").size() < 2000);
  CHECK(here.error_of("run top.mr --device " + name).size() < 2000);
  CHECK(here.error_of("run top.mr --input " + name + "=ones").size() < 2000);
  CHECK(here.error_of("nothing\x1b[2J", 2) == "millrace: unknown command 'nothing\\x1b[2J'; see 'millrace --help'\n");
  here.write("twice.mr", "graph g(%\"a\\x1b\": f32[], %\"a\\x1b\": f32[]) {\n  return y = %\"a\\x1b\"\n}\n");
  CHECK(is_harmless(here.error_of("check twice.mr")));
}

}  // namespace
}  // namespace millrace
