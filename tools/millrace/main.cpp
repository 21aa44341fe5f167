// SPDX-License-Identifier: Apache-2.0
// The command line. Exit codes: 0 for success, 1 for an error that a message on standard error explains, 2 for wrong
// usage.
#include <CLI/CLI.hpp>
#include <exception>
#include <new>
#include <sstream>
#include <string_view>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>

#include "millrace/base/printable.h"
#include "tools/millrace/command.h"
#include "tools/millrace/graph_arguments.h"

namespace millrace::tool {
namespace {

struct Command {
  const char* name;
  const char* summary;
  Action (*add)(CLI::App&);
  const char* examples;
};

constexpr Command kCommands[] = {
    {"run", "Compile a graph and run it, with NumPy files in and out.", add_run,
     "  millrace run top.mr --input x=@x.npy --output values=@values.npy\n"
     "  millrace run top.mr --input x=randn --dim rows=8\n"
     "  millrace run model.onnx --input image=@image.npy\n"
     "  echo 'graph g(%x: f32[4]) { %y = softmax(%x) return y = %y }' | millrace run - --input x=arange\n"
     "  millrace run top.mr --input x=arange,8x32000 --device cpu:avx2,threads=4 --repeat 100\n"
     "  millrace run top.mr --input x=@x.npy --trace trace.json\n"
     "  millrace run top.mr --input x=randn --dim rows=8 --device isa:gfx1100 --seed 1 --counts"},
    {"import", "Write an ONNX model as a graph, whose weights stay in the model's files.", add_import,
     "  millrace import model.onnx -o model.mr\n"
     "  millrace import model.onnx -o model.mr --dim batch=1 --dim 'length=length in 1..512'\n"
     "  millrace import model.onnx -o model.mr --set use_cache_branch=true --copy-weights"},
    {"dump", "Print a graph at a stage of its compilation, down to machine code.", add_dump,
     "  millrace dump top.mr --stage kernels\n"
     "  millrace dump top.mr --stage graph --format dot | dot -Tsvg -o top.svg\n"
     "  millrace dump top.mr --stage asm --target cpu:avx512\n"
     "  millrace dump top.mr --stage object --kernel 0 -o top.o"},
    {"explain", "Say why nodes form each dispatch, what runs it and why, and its cost.", add_explain,
     "  millrace explain top.mr\n"
     "  millrace explain top.mr --dispatch 0 --dim rows=8\n"
     "  millrace explain top.mr --dim rows=8 --measure     (each kernel's time, and its share of the machine's limit)\n"
     "  millrace explain top.mr --target amdgpu:gfx1100    (how to launch it, and its occupancy)"},
    {"bench", "Measure graphs with Google Benchmark, over 16 inputs in rotation.", add_bench,
     "  millrace bench top.mr --input x=randn --dim rows=8\n"
     "  millrace bench top.mr --input x=@x.npy --json times.json\n"
     "  millrace bench top.mr net.mr --input x=randn --device cpu:avx2 --device cpu:avx512 --kernels\n"
     "  millrace bench net.mr --input x=randn --generator xbyak --generator llvm --benchmark_repetitions=5"},
    {"cache", "Show the kernel cache, prune it, or compile graphs into it.", add_cache,
     "  millrace cache\n"
     "  millrace cache --prune 100000000\n"
     "  millrace cache top.mr net.mr --target cpu:avx2 --target cpu:avx512 --directory kernels    (to ship)"},
    {"devices", "List devices, targets and code generators, and say why others are absent.", add_devices,
     "  millrace devices"},
    {"check", "Read and verify a graph, and do nothing else.", add_check, "  millrace check top.mr"},
    {"ops", "List ops and composites: operands, results, attributes, meaning.", add_ops,
     "  millrace ops\n"
     "  millrace ops topk"},
    {"man", "Print the manual page.", add_man, "  millrace man | man -l -"},
};

int report(int exit_code, const std::string& message) {
  std::fflush(stdout);
  write_notice(fmt::format("millrace: {}\n", printable_message(message)));
  return exit_code;
}

int exit_code_of(const Status& status) { return status.ok() ? 0 : report(1, status.message()); }

int run_program(int argc, const char* const* argv) {
  CLI::App program("Compiles, runs, shows and measures tensor graphs.", "millrace");
  program.set_version_flag("--version", "millrace " MILLRACE_VERSION, "Print the version and exit.");
  program.set_help_flag("-h,--help", "Print this help and exit.");
  program.require_subcommand(1);
  program.footer("'millrace COMMAND --help' shows a command's options, and examples.");
  std::vector<std::pair<CLI::App*, Action>> actions;
  for (const Command& command : kCommands) {
    CLI::App* app = program.add_subcommand(command.name, command.summary);
    app->footer(std::string("Examples:\n") + command.examples);
    actions.emplace_back(app, command.add(*app));
  }
  program.get_subcommand("man")->group("");  // hidden: the build calls it
  try {
    program.parse(argc, argv);
  } catch (const CLI::Success& asked) {
    std::ostringstream text;  // --help, --version
    program.exit(asked, text);
    return exit_code_of(write_text("", text.str()));
  } catch (const CLI::ParseError& error) {
    const auto used = program.get_subcommands();
    const bool is_unknown = used.empty() && argc > 1 && argv[1][0] != '-';
    return report(2, fmt::format("{}; see 'millrace {}--help'",
                                 is_unknown ? fmt::format("unknown command '{}'", printable(argv[1]))
                                            : printable(error.what(), 1024),
                                 used.empty() ? "" : used.front()->get_name() + " "));
  }
  for (const auto& [app, action] : actions) {
    if (!*app) continue;
    return exit_code_of(action());
  }
  return 2;
}

int run_or_report_mistake(int argc, const char* const* argv) {
  try {
    return run_program(argc, argv);
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    return report(1, fmt::format("{}; this is a bug in millrace, please report it", error.what()));
  }
}

/// Allocates no memory.
int report_out_of_memory() {
  static constexpr std::string_view kText = "millrace: not enough memory for these arguments; say smaller sizes\n";
  std::fflush(stdout);
  (void)!write(STDERR_FILENO, kText.data(), kText.size());
  return 1;
}

}  // namespace
}  // namespace millrace::tool

int main(int argc, char** argv) {
  try {
    return millrace::tool::run_or_report_mistake(argc, argv);
  } catch (const std::bad_alloc&) {
    return millrace::tool::report_out_of_memory();
  }
}
