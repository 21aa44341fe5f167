// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "millrace/graph/compile.h"
#include "millrace/graph/lowered_graph.h"
#include "millrace/hal/device.h"

namespace CLI {
class App;
}

namespace millrace::tool {

/// The arguments of all commands that compile: the graph and what to compile it for.
struct GraphArguments {
  std::string file = {};
  std::string target = "cpu";
  std::string generator = {};  // empty: the library chooses
  ScheduleOrder order = ScheduleOrder::kMaxConcurrency;
};

inline constexpr const char* kFileHelp =
    "The graph, as text, or an ONNX model (.onnx); - reads text from standard input.";
void add_graph_file(CLI::App&, GraphArguments&);
inline constexpr const char* kTargetHelp =
    "cpu (the host's best), cpu:avx2, cpu:threads=4 (or cores), hip (an AMD GPU), sim:gfx1100\n"
    "(a simulated GPU), isa:gfx1100 (a GPU's machine code, executed), ...: 'millrace devices' lists all.";
void add_order(CLI::App&, ScheduleOrder&);
/// `flag`: "--device" if the graph runs, "--target,--device" if it is only compiled.
void add_target(CLI::App&, GraphArguments&, const char* flag);

/// The file's name in messages.
std::string shown_file(const std::string& file);
/// If the text comes from standard input, files of constants are looked up in the working directory. A file whose name
/// ends with ".onnx" is imported without options, and the importer's notes go to standard error.
Result<Graph> read_graph(const GraphArguments&);
/// The whole text of the file, or of standard input.
Result<std::string> read_text(const std::string& file);
/// Compiles for `device` or, if `device` is null, for the device in the arguments. Shows progress on standard error if
/// standard error is a terminal and compiling takes long.
Result<Program> compile_graph(Graph, const GraphArguments&, std::shared_ptr<Device> device = nullptr);
/// Lowers the graph to everything except code, for a target that the host need not be able to run.
Result<LoweredGraph> lower_graph(Graph, const GraphArguments&, const Context&, bool prepares = true);

/// Writes to standard error at once. Ignores failures: if standard error is closed or full, they cannot be reported.
void write_notice(std::string_view text);
/// Writes to the file, or to standard output if the path is empty.
Status write_text(const std::string& path, std::string_view text);

}  // namespace millrace::tool
