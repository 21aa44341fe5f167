// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "millrace/graph/npy.h"
#include "millrace/graph/signature.h"

namespace millrace::tool {

/// What --input and --dim said.
struct InputArguments {
  std::vector<std::string> inputs, dims;
};
void add_inputs(CLI::App&, InputArguments&);

/// What a run is given and gives, in the graph's order.
struct RunArguments {
  std::vector<NpyArray> inputs;
  std::vector<NpyArray> outputs;        // of the types that these inputs make, zeroed
  SymbolValues symbols;                 // all that --dim, the inputs' extents and facts tell
  std::vector<std::string> named_dims;  // of `symbols`, those that a run binds by name

  std::vector<TensorBinding> bind_inputs();
  std::vector<TensorBinding> bind_outputs();
  std::vector<DimBinding> bind_dims() const;
};

/// "x, weights", or "none".
std::string names_text(const std::vector<Argument>&);

/// One --input: a file, or a kind of elements with a shape or without.
struct InputSource {
  std::string argument;  // as it was said
  std::optional<NpyArray> file = {};
  std::string kind = {};
  std::optional<std::vector<std::int64_t>> shape = {};
};

/// Makes runs from what was said, all of it checked before anything is compiled.
class RunMaker {
 public:
  /// Reads the files. Fails for arguments that do not fit the graph.
  static Result<RunMaker> create(const Graph&, const InputArguments&);
  /// A run on its own memory: `seed` decides the random elements.
  Result<RunArguments> make(std::uint64_t seed) const;
  const Signature& signature() const { return signature_; }

 private:
  RunMaker(Signature signature, SymbolValues given, SymbolValues pinned)
      : signature_(std::move(signature)), given_(std::move(given)), pinned_(std::move(pinned)) {}
  Status add_source(const std::string& argument);
  Status require_sources() const;

  Signature signature_;
  SymbolValues given_;   // by --dim
  SymbolValues pinned_;  // by facts that leave one value
  std::map<std::string, InputSource> sources_;
};

}  // namespace millrace::tool
