// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tools/millrace/bench/measure.h"
#include "tools/millrace/graph_arguments.h"
#include "tools/millrace/run_arguments.h"

namespace millrace::tool {

/// A graph and the inputs of its runs, which its cases share.
struct BenchGraph {
  std::string file;
  Graph graph;
  InputArguments own;  // the arguments that belong to this graph
  struct Run {
    explicit Run(RunArguments made)
        : arguments(std::move(made)), inputs(arguments.bind_inputs()), outputs(arguments.bind_outputs()) {}
    RunArguments arguments;
    std::vector<TensorBinding> inputs, outputs;
  };
  std::vector<std::unique_ptr<Run>> runs;  // used in rotation
};

/// Reads the graph and makes its inputs. If the graph is alone, every argument must name something in it; if there are
/// other graphs, it ignores arguments that name nothing in it.
Result<std::shared_ptr<BenchGraph>> make_bench_graph(const GraphArguments&, const InputArguments&, bool is_alone);

/// A device and a generator to measure a graph with, and the name with which the graph's rows begin.
struct BenchCase {
  std::string name;
  GraphArguments arguments;
  bool has_kernels = false;  // also a row for each kernel
  double min_seconds = 0.5;
};

/// Compiles the graph and runs it once, so that errors appear before anything is measured.
Result<std::vector<Measurement>> make_measurements(const std::shared_ptr<BenchGraph>&, const BenchCase&);

}  // namespace millrace::tool
