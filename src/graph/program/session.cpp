// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "graph/program/program_state.h"

namespace millrace {

struct Session::State {
  std::shared_ptr<const Program::State> program;
  std::unique_ptr<Recording> recording;
  std::shared_ptr<Buffer> slab;
  std::vector<BufferBinding> bindings;  // inputs, outputs, constants, slab: as record_commands binds them
  std::vector<std::int64_t> sizes;      // as CommandList::sizes
};

namespace {

Status check(std::span<const BufferBinding> given, const std::vector<Program::Argument>& expected, const char* what) {
  if (given.size() != expected.size()) {
    return invalid_argument(fmt::format("run: {} {}s given, expected {}; bind each once, in the program's order",
                                        given.size(), what, expected.size()));
  }
  for (std::size_t i = 0; i < given.size(); ++i) {
    const Program::Argument& argument = expected[i];
    if (given[i].size_bytes != argument.size_bytes) {
      return invalid_argument(fmt::format("run: {} '{}' has {} bytes, expected {} for {}; bind the whole tensor", what,
                                          argument.name, given[i].size_bytes, argument.size_bytes,
                                          argument.type.to_text()));
    }
    if (argument.size_bytes == 0) continue;
    if (given[i].data == nullptr) {
      return invalid_argument(fmt::format("run: {} '{}' is null, expected {} bytes for {}; bind memory", what,
                                          argument.name, argument.size_bytes, argument.type.to_text()));
    }
    const std::size_t alignment = size_bytes(argument.type.dtype);
    if (reinterpret_cast<std::uintptr_t>(given[i].data) % alignment != 0) {
      return invalid_argument(fmt::format("run: {} '{}' is not aligned to {} bytes, as {} needs; bind memory that is",
                                          what, argument.name, alignment, to_text(argument.type.dtype)));
    }
  }
  return {};
}

bool overlap(const BufferBinding& a, const BufferBinding& b) {
  if (a.size_bytes == 0 || b.size_bytes == 0) return false;
  const auto* a_begin = static_cast<const std::byte*>(a.data);
  const auto* b_begin = static_cast<const std::byte*>(b.data);
  return a_begin < b_begin + b.size_bytes && b_begin < a_begin + a.size_bytes;
}

/// Inputs are only read and every output is written: no output may share bytes with another argument.
Status check_overlaps(std::span<const BufferBinding> inputs, std::span<const BufferBinding> outputs,
                      const Program::State& program) {
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (overlap(outputs[o], inputs[i])) {
        return invalid_argument(fmt::format("run: output '{}' shares memory with input '{}'; give it its own",
                                            program.outputs[o].name, program.inputs[i].name));
      }
    }
    for (std::size_t other = 0; other < o; ++other) {
      if (overlap(outputs[o], outputs[other])) {
        return invalid_argument(fmt::format("run: output '{}' shares memory with output '{}'; give it its own",
                                            program.outputs[o].name, program.outputs[other].name));
      }
    }
  }
  return {};
}

}  // namespace

Session::Session(std::unique_ptr<State> state) : state_(std::move(state)) {}
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;
Session::~Session() = default;

Result<Session> Session::create(const Program& program) {
  if (program.state() == nullptr)
    return invalid_argument("session: the program is empty; give what compile() returned");
  auto state = std::make_unique<State>();
  state->program = program.state();
  const Program::State& shared = *state->program;
  MILLRACE_TRY_ASSIGN(state->recording, shared.device->record(shared.commands, shared.executable));
  MILLRACE_TRY_ASSIGN(state->slab, shared.device->allocate(static_cast<std::size_t>(shared.report.slab_bytes)));
  for (const SizeExpr& size : shared.commands.sizes) {
    MILLRACE_TRY_ASSIGN(const std::int64_t value, size.evaluate({}));
    state->sizes.push_back(value);
  }
  state->bindings.resize(shared.inputs.size() + shared.outputs.size());
  state->bindings.push_back({shared.constants->data(), shared.constants->size_bytes()});
  state->bindings.push_back({state->slab->data(), state->slab->size_bytes()});
  return Session(std::move(state));
}

Status Session::run(std::span<const BufferBinding> inputs, std::span<const BufferBinding> outputs) {
  if (state_ == nullptr) return failed_precondition("run: the session was moved from; create another");
  const Program::State& program = *state_->program;
  MILLRACE_TRY(check(inputs, program.inputs, "input"));
  MILLRACE_TRY(check(outputs, program.outputs, "output"));
  MILLRACE_TRY(check_overlaps(inputs, outputs, program));
  std::copy(inputs.begin(), inputs.end(), state_->bindings.begin());
  std::copy(outputs.begin(), outputs.end(), state_->bindings.begin() + static_cast<std::ptrdiff_t>(inputs.size()));
  return program.device->submit(*state_->recording, {.bindings = state_->bindings, .sizes = state_->sizes});
}

}  // namespace millrace
