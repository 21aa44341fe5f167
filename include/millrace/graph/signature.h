// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "millrace/graph/binding.h"
#include "millrace/graph/graph.h"

namespace millrace {

/// An input or an output.
struct Argument {
  std::string name;
  TensorType type;
};

/// What a run of a graph takes and gives, known before anything is compiled. Immutable, cheap to copy.
class Signature {
 public:
  /// Fails for a symbol that is no input's extent and has no upper bound. Precondition: verify(graph) passed.
  static Result<Signature> of(const Graph& graph);

  const std::vector<Argument>& inputs() const;
  const std::vector<Argument>& outputs() const;
  /// Symbols that a run binds by name: no input's extents tell them, and their facts leave a choice.
  const std::vector<Dim>& named_dims() const;
  /// The outputs' types when the inputs have these extents. Fails where a run would; messages do not say who asks.
  Result<std::vector<TensorType>> output_types(std::span<const Extents> inputs,
                                               std::span<const DimBinding> dims = {}) const;

  struct State;

 private:
  explicit Signature(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  std::shared_ptr<const State> state_;
};

}  // namespace millrace
