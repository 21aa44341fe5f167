// SPDX-License-Identifier: Apache-2.0
#include "millrace/graph/program.h"

#include "graph/program/program_state.h"

namespace millrace {

const std::vector<Argument>& Program::inputs() const { return state_->inputs; }
const std::vector<Argument>& Program::outputs() const { return state_->outputs; }
const std::vector<Dim>& Program::named_dims() const { return state_->named_dims; }

Result<std::vector<TensorType>> Program::output_types(std::span<const Extents> inputs,
                                                      std::span<const DimBinding> dims) const {
  Result<std::vector<TensorType>> types = static_cast<const Signature::State&>(*state_).output_types(inputs, dims);
  const Status& status = types.status();
  return status.ok() ? std::move(types) : Status(status.code(), "output types: " + status.message());
}

const CompileReport& Program::report() const { return state_->report; }

const LoweredGraph& Program::lowered() const { return *state_; }

}  // namespace millrace
