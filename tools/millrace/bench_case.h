// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tools/millrace/graph_arguments.h"
#include "tools/millrace/measure.h"
#include "tools/millrace/run_arguments.h"

namespace millrace::tool {

/// A graph and the inputs of its runs, which its cases share.
struct BenchGraph {
  std::string file;
  Graph graph;
  InputArguments own;  // those arguments that are the graph's
  struct Run {
    explicit Run(RunArguments made)
        : arguments(std::move(made)), inputs(arguments.bind_inputs()), outputs(arguments.bind_outputs()) {}
    RunArguments arguments;
    std::vector<TensorBinding> inputs, outputs;
  };
  std::vector<std::unique_ptr<Run>> runs;  // used in rotation
};

/// Reads the graph, and makes its inputs. Beside others, it takes the arguments that name what it has; alone, all must
/// be its own.
Result<std::shared_ptr<BenchGraph>> make_bench_graph(const GraphArguments&, const InputArguments&, bool is_alone);

/// What the rows of a graph on one device, by one generator, are called and how long they take.
struct BenchCase {
  std::string name;
  GraphArguments arguments;
  bool has_kernels = false;  // a row for each kernel, too
  double min_seconds = 0.5;
};

/// Compiles the graph and runs it once, which tells what is wrong before anything is measured.
Result<std::vector<Measurement>> make_measurements(const std::shared_ptr<BenchGraph>&, const BenchCase&);

}  // namespace millrace::tool
