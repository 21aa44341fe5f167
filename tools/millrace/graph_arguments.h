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

/// The arguments of all commands that compile: which graph, for what.
struct GraphArguments {
  std::string file = {};
  std::string target = "cpu";
  std::string generator = {};  // empty: as the library chooses
  ScheduleOrder order = ScheduleOrder::kMaxConcurrency;
};

inline constexpr const char* kFileHelp = "The graph, as text; - reads it from standard input.";
void add_graph_file(CLI::App&, GraphArguments&);
inline constexpr const char* kTargetHelp =
    "cpu (the host's best), cpu:avx2, cpu:threads=4 (or cores), hip (an AMD GPU), sim:gfx1100\n"
    "(one simulated), isa:gfx1100 (its machine code, executed), ...: 'millrace devices' lists all.";
void add_order(CLI::App&, ScheduleOrder&);
/// `flag`: "--device" where the graph runs, "--target,--device" where it is only looked at.
void add_target(CLI::App&, GraphArguments&, const char* flag);

/// The file's name in messages.
std::string shown_file(const std::string& file);
/// Constants of a text on standard input are looked for in the working directory.
Result<Graph> read_graph(const GraphArguments&);
/// Shows progress on standard error when that is a terminal and compiling takes long.
/// On `device`, or where that is null on one made for the arguments.
Result<Program> compile_graph(Graph, const GraphArguments&, std::shared_ptr<Device> device = nullptr);
/// All but code, for targets that the host need not be able to run.
Result<LoweredGraph> lower_graph(Graph, const GraphArguments&, const Context&, bool prepares = true);

/// To standard error, at once. Where that is closed or full, there is nobody to tell.
void write_notice(std::string_view text);
/// To the file, or to standard output when the path is empty.
Status write_text(const std::string& path, std::string_view text);

}  // namespace millrace::tool
