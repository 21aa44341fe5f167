// SPDX-License-Identifier: Apache-2.0
#include "millrace/graph/program.h"

#include <fmt/format.h>

#include "graph/program/program_state.h"

namespace millrace {

const std::vector<Program::Argument>& Program::inputs() const { return state_->inputs; }
const std::vector<Program::Argument>& Program::outputs() const { return state_->outputs; }
const std::vector<Dim>& Program::named_dims() const { return state_->named_dims; }

Result<std::vector<TensorType>> Program::output_types(std::span<const Extents> inputs,
                                                      std::span<const DimBinding> dims) const {
  if (inputs.size() != state_->inputs.size()) {
    return invalid_argument(fmt::format("output types: extents of {} inputs given, expected {}; give each input's",
                                        inputs.size(), state_->inputs.size()));
  }
  SymbolValues values;
  const Status bound = bind_symbols(state_->symbols, state_->inputs, inputs, dims, values);
  if (!bound.ok()) return Status(bound.code(), "output types: " + bound.message());
  std::vector<TensorType> types;
  for (const Argument& output : state_->outputs) {
    MILLRACE_TRY_ASSIGN(TensorType type, bind_type(output.type, values));
    types.push_back(std::move(type));
  }
  return types;
}

const CompileReport& Program::report() const { return state_->report; }

const LoweredGraph& Program::lowered() const { return *state_; }

}  // namespace millrace
