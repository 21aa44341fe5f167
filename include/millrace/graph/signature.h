// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "millrace/base/shape.h"
#include "millrace/base/status.h"
#include "millrace/graph/binding.h"

namespace millrace {

struct Graph;  // graph.h

/// An input, an output or a variable.
struct Argument {
  std::string name;
  TensorType type;
};

/// The inputs and outputs of a graph's runs, known before compiling. Immutable, cheap to copy.
class Signature {
 public:
  /// The signature of a graph. Fails if a symbol is neither an input's extent nor bounded above. Precondition:
  /// verify(graph) passed.
  static Result<Signature> of(const Graph& graph);

  const std::vector<Argument>& inputs() const;
  const std::vector<Argument>& outputs() const;
  /// The tensors that a session keeps from run to run.
  const std::vector<Argument>& variables() const;
  /// Symbols that must be bound by name: no input's extents determine them, and their facts allow several values.
  const std::vector<Dim>& named_dims() const;
  /// The output types for inputs with these extents. Fails if a run with these extents would be refused; the messages
  /// do not name a function.
  Result<std::vector<TensorType>> output_types(std::span<const Extents> inputs,
                                               std::span<const DimBinding> dims = {}) const;

  struct State;

 private:
  explicit Signature(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  std::shared_ptr<const State> state_;
};

}  // namespace millrace
