// SPDX-License-Identifier: Apache-2.0
// Help of the command line, and its messages about wrong usage.
#include <doctest/doctest.h>

#include "tests/tools/workplace.h"

namespace millrace {
namespace {

using test::contains;
using test::Workplace;

constexpr const char* kCommands[] = {"run", "import", "dump", "explain", "bench", "cache", "devices", "check", "ops"};

TEST_CASE("the help names every command that is for people, and each command's help has examples") {
  const Workplace here;
  const std::string help = here.output_of("--help");
  for (const std::string command : kCommands) {
    CHECK(contains(help, "\n  " + command + " "));
    const std::string own = here.output_of(command + " --help");
    CHECK(contains(own, "Examples:\n  millrace " + command));
  }
  CHECK_FALSE(contains(help, "\n  man "));
  CHECK(here.output_of("--version") == "millrace " MILLRACE_VERSION "\n");
}

TEST_CASE("the manual page names every command with its options and examples") {
  const Workplace here;
  const std::string page = here.output_of("man");
  CHECK(page.starts_with(".TH MILLRACE 1 "));
  for (const std::string command : kCommands) {
    CHECK(contains(page, "\n.SS " + command + "\n"));
    CHECK(contains(page, "\n  millrace " + command));
  }
  CHECK_FALSE(contains(page, ".SS man"));
  for (const char* option :
       {"\\-\\-input", "\\-\\-output", "\\-\\-dim", "\\-\\-device", "\\-\\-trace", "\\-\\-repeat", "\\-\\-counts",
        "\\-\\-seed", "\\-\\-stage", "\\-\\-target", "\\-\\-format", "\\-\\-kernel", "\\-\\-kernels", "\\-\\-dispatch",
        "\\-\\-json", "\\-\\-min\\-time", "\\-\\-generator"}) {
    CHECK(contains(page, std::string("\\fB") + option));
  }
}

TEST_CASE("wrong usage exits with 2 and prints the mistake and where help is") {
  const Workplace here;
  const auto usage = [&](const std::string& arguments) { return here.error_of(arguments, 2); };
  CHECK(usage("") == "millrace: A subcommand is required; see 'millrace --help'\n");
  CHECK(usage("fly") == "millrace: unknown command 'fly'; see 'millrace --help'\n");
  CHECK(usage("check") == "millrace: FILE is required; see 'millrace check --help'\n");
  CHECK(usage("check top.mr --fast") ==
        "millrace: The following argument was not expected: --fast; see 'millrace check --help'\n");
  CHECK(usage("dump top.mr") == "millrace: --stage is required; see 'millrace dump --help'\n");
  CHECK(usage("dump top.mr --stage soup") ==
        "millrace: --stage: soup not in {graph,dispatch,kernels,plan,schedule,commands,llvm,asm,object}; see 'millrace "
        "dump --help'\n");
  CHECK(usage("dump top.mr --stage plan --format dot") ==
        "millrace: --format dot: is for the stages graph, dispatch and schedule; see 'millrace dump --help'\n");
  CHECK(usage("dump top.mr --stage plan --kernel 0") ==
        "millrace: --kernel: is for the stages llvm, asm and object; see 'millrace dump --help'\n");
  CHECK(usage("dump top.mr --stage plan --line-tables") ==
        "millrace: --line-tables: is for the stages llvm, asm and object; see 'millrace dump --help'\n");
  CHECK(usage("run top.mr --input x") ==
        "millrace: --input: found 'x', expected NAME=VALUE; see 'millrace run --help'\n");
  CHECK(usage("run top.mr --dim =3") ==
        "millrace: --dim: found '=3', expected NAME=VALUE; see 'millrace run --help'\n");
  CHECK(usage("run top.mr --output x=") ==
        "millrace: --output: found 'x=', expected NAME=VALUE; see 'millrace run --help'\n");
  CHECK(usage("bench top.mr --min-time nan") ==
        "millrace: --min-time: found 'nan', expected a number; see 'millrace bench --help'\n");
  CHECK(usage("explain top.mr --input x=ones") ==
        "millrace: --input: is for --measure; see 'millrace explain --help'\n");
  CHECK(usage("cache --target cpu:avx2") ==
        "millrace: --target: applies only to the kernels of a FILE; see 'millrace cache --help'\n");
  CHECK(usage("run top.mr --repeat 0") ==
        "millrace: --repeat: Value 0 not in range 1 to 1000000000; see 'millrace run --help'\n");
}

TEST_CASE("errors and notices are dropped if standard error is closed or full, and do not end the process") {
  const Workplace here;
  for (const std::string nowhere : {" 2>&-", " 2> /dev/full"}) {
    CAPTURE(nowhere);
    CHECK(here.run("check none.mr" + nowhere).exit_code == 1);
    CHECK(here.run("frob" + nowhere).exit_code == 2);
    CHECK(here.run("run net.mr --input x=ones --input w=ones --repeat 2 --output best=@b.npy" + nowhere).exit_code ==
          0);
    CHECK(here.read("b.npy").size() == 128 + 4 * 24);
    CHECK(here.run("explain none.mr" + nowhere).exit_code == 1);
  }
}

TEST_CASE("output that cannot be written is an error with its path and the reason, for every command") {
  const Workplace here;
  const std::string run = "run net.mr --input x=ones --input w=ones ",
                    bench = "bench net.mr --input x=ones --input w=ones --min-time 0.001 ";
  const auto full = [](const std::string& where) {
    return "millrace: " + where +
           ": the file cannot be written: No space left on device; check the path and the space\n";
  };
  CHECK(here.error_of(run + "--output h=@/dev/full") == full("npy '/dev/full'"));
  const test::ToolRun traced = here.run(run + "--trace /dev/full");
  CHECK(traced.exit_code == 1);
  CHECK(contains(traced.out, "best: f32[24]\n"));  // the results are not lost
  CHECK(traced.error == full("'/dev/full'"));
  CHECK(here.error_of("dump net.mr --stage plan -o /dev/full") == full("'/dev/full'"));
  CHECK(here.error_of("dump net.mr --stage graph -o /dev/full") == full("graph '/dev/full'"));
  const test::ToolRun measured = here.run(bench + "--json /dev/full");
  CHECK(measured.exit_code == 1);
  CHECK(contains(measured.out, "net/real_time "));  // the measurements are not lost
  CHECK(measured.error.ends_with("\n" + full("'/dev/full'")));
  CHECK(here.error_of("dump top.mr --stage graph --format dot -o none/top.dot") ==
        "millrace: 'none/top.dot': the file cannot be written: No such file or directory; check the path and the "
        "space\n");
  const std::string standard =
      "millrace: standard output: cannot be written: No space left on device; check where it leads\n";
  CHECK(here.error_of("devices > /dev/full") == standard);
  CHECK(here.error_of("--help > /dev/full") == standard);
  CHECK(here.error_of("run --help > /dev/full") == standard);
  CHECK(here.error_of("--version > /dev/full") == standard);
  CHECK(here.error_of(run + "> /dev/full") == standard);
  CHECK(here.run(bench + "> /dev/full").error.ends_with("\n" + standard));
}

}  // namespace
}  // namespace millrace
