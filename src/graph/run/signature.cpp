// SPDX-License-Identifier: Apache-2.0
// The interface of a program: its arguments, and the types of its outputs for given inputs.
#include "millrace/graph/signature.h"

#include <fmt/format.h>

#include "base/guard_allocations.h"
#include "graph/run/signature_state.h"

namespace millrace {

Result<std::vector<TensorType>> Signature::State::output_types(std::span<const Extents> extents,
                                                               std::span<const DimBinding> dims) const {
  if (extents.size() != inputs.size()) {
    return invalid_argument(fmt::format("extents of {} inputs given, expected {}; give those of each input",
                                        extents.size(), inputs.size()));
  }
  SymbolValues values;
  MILLRACE_TRY(bind_symbols(symbols, inputs, extents, dims, values));
  std::vector<TensorType> types;
  for (const Argument& output : outputs) {
    MILLRACE_TRY_ASSIGN(TensorType type, bind_type(output.type, values));
    types.push_back(std::move(type));
  }
  return types;
}

const std::vector<Argument>& Signature::inputs() const { return state_->inputs; }
const std::vector<Argument>& Signature::outputs() const { return state_->outputs; }
const std::vector<Argument>& Signature::variables() const { return state_->variables; }
const std::vector<Dim>& Signature::named_dims() const { return state_->named_dims; }

Result<std::vector<TensorType>> Signature::output_types(std::span<const Extents> inputs,
                                                        std::span<const DimBinding> dims) const {
  return guard_allocations([&]() -> Result<std::vector<TensorType>> { return state_->output_types(inputs, dims); });
}

}  // namespace millrace
