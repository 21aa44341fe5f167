// SPDX-License-Identifier: Apache-2.0
// Program: a handle to the shared state that sessions run.
#include "millrace/graph/program.h"

#include "base/guard_allocations.h"
#include "graph/run/program_state.h"
#include "millrace/graph/compile_report.h"
#include "millrace/hal/device.h"

namespace millrace {

const std::vector<Argument>& Program::inputs() const { return state_->inputs; }
const std::vector<Argument>& Program::outputs() const { return state_->outputs; }
const std::vector<Argument>& Program::variables() const { return state_->variables; }
const std::vector<Dim>& Program::named_dims() const { return state_->named_dims; }

Result<std::vector<TensorType>> Program::output_types(std::span<const Extents> inputs,
                                                      std::span<const DimBinding> dims) const {
  return guard_allocations([&]() -> Result<std::vector<TensorType>> {
    Result<std::vector<TensorType>> types = static_cast<const Signature::State&>(*state_).output_types(inputs, dims);
    const Status& status = types.status();
    return status.ok() ? std::move(types) : Status(status.code(), "output types: " + status.message());
  });
}

const CompileReport& Program::report() const { return state_->report; }
const std::shared_ptr<Device>& Program::device() const { return state_->device; }

std::span<const ProgramVariant> Program::variants() const { return *state_->variants; }

Result<Program> Program::on(std::shared_ptr<Device> device) const {
  return guard_allocations([&]() -> Result<Program> {
    if (state_ == nullptr) return invalid_argument("program: empty, expected a program that compile() returned");
    if (device == nullptr) return invalid_argument("program: the device is null; give one");
    auto state = std::make_shared<State>();
    static_cast<Signature::State&>(*state) = *state_;
    state->variants = state_->variants;
    state->variable_parts = state_->variable_parts;
    MILLRACE_TRY(state->load(std::move(device)));
    MILLRACE_TRY(state->copy_constants(*state_));
    state->report.total = state_->report.total;
    return Program(std::move(state));
  });
}

}  // namespace millrace
