// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "millrace/graph/npy.h"
#include "millrace/graph/program.h"

namespace millrace::tool {

/// What --input and --dim said.
struct InputArguments {
  std::vector<std::string> inputs, dims;
};
void add_inputs(CLI::App&, InputArguments&);

/// What a run is given and gives, in the program's order.
struct RunArguments {
  std::vector<NpyArray> inputs;
  std::vector<NpyArray> outputs;  // of the types that these inputs make, zeroed
  SymbolValues symbols;           // all that --dim and the inputs' extents tell

  std::vector<TensorBinding> bind_inputs();
  std::vector<TensorBinding> bind_outputs();
  /// Those of the program that no input tells. Names are the program's.
  std::vector<DimBinding> bind_dims(const Program&) const;
};

/// Reads the files, and generates what is to be generated: `seed` decides the random elements.
Result<RunArguments> make_run_arguments(const Program&, const InputArguments&, std::uint64_t seed);

}  // namespace millrace::tool
