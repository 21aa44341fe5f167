// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "millrace/graph/npy.h"
#include "millrace/graph/signature.h"

namespace CLI {
class App;
}

namespace millrace::tool {

/// The arguments --input and --dim, as given.
struct InputArguments {
  std::vector<std::string> inputs, dims;
};
void add_inputs(CLI::App&, InputArguments&);

/// The inputs, outputs and symbols of a run, in the graph's order.
struct RunArguments {
  std::vector<NpyView> inputs;          // files are mapped, not read into memory
  std::vector<NpyArray> outputs;        // of the types that these inputs determine, zeroed
  SymbolValues symbols;                 // from --dim, the inputs' extents and facts
  std::vector<std::string> named_dims;  // the symbols that must be bound by name

  std::vector<TensorBinding> bind_inputs() const;
  std::vector<TensorBinding> bind_outputs();
  std::vector<DimBinding> bind_dims() const;
};

/// "x, weights", or "none".
std::string names_text(const std::vector<Argument>&);

/// One --input: a file, or a kind of elements with or without a shape.
struct InputSource {
  std::string argument;                // as it was given
  std::optional<NpyReader> file = {};  // until it is mapped
  std::optional<NpyView> array = {};   // the content of the file
  std::string kind = {};
  std::optional<std::vector<std::int64_t>> shape = {};
};

/// Makes runs from the arguments. Checks all of them before memory is allocated and anything is compiled.
class RunMaker {
 public:
  /// Maps the files last. Fails for arguments that do not fit the graph, and if the tensors of `num_runs` runs do not
  /// fit into this machine's memory.
  static Result<RunMaker> create(const Graph&, const InputArguments&, std::size_t num_runs = 1);
  /// Makes a run with its own memory; `seed` determines the random elements.
  RunArguments make(std::uint64_t seed) const;
  const Signature& signature() const { return signature_; }

 private:
  explicit RunMaker(Signature signature) : signature_(std::move(signature)) {}
  Status add_source(const std::string& argument);
  Status require_sources() const;
  /// Determines the types and sizes of a run from --dim and from facts that allow only one value.
  Status resolve(const SymbolValues& given, const SymbolValues& pinned);
  Status require_memory(std::size_t num_runs) const;
  Status map_files();

  Signature signature_;
  std::map<std::string, InputSource> sources_;
  std::vector<TensorType> input_types_, output_types_;
  SymbolValues symbols_;
};

}  // namespace millrace::tool
