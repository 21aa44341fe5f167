// SPDX-License-Identifier: Apache-2.0
// Reads, writes and resets a session's variables between runs.
#include "graph/run/session_variables.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "graph/run/arguments.h"
#include "millrace/base/printable.h"
#include "millrace/hal/transfer.h"

namespace millrace {
namespace {

std::vector<std::byte> repeat(const SharedBytes& element, std::size_t size_bytes) {
  std::vector<std::byte> bytes(size_bytes);
  for (std::size_t i = 0; i < size_bytes; i += element.size()) {
    std::memcpy(bytes.data() + i, element.data(), element.size());
  }
  return bytes;
}

std::size_t bytes_of(const Argument& variable) {
  return static_cast<std::size_t>(size_bytes(variable.type).constant());
}

Status check_given(std::string_view who, const Argument& variable, const TensorBinding& given) {
  const std::string where = fmt::format("{}: variable '{}'", who, printable(variable.name));
  if (given.buffer != nullptr) {
    return invalid_argument(
        fmt::format("{} is bound to a buffer of a device, expected caller memory; bind host memory", where));
  }
  if (given.dtype && !holds_elements(*given.dtype, variable.type.dtype)) {
    return invalid_argument(
        fmt::format("{} is bound to elements of {}, expected {} for {}; bind elements of that dtype", where,
                    to_text(*given.dtype), to_text(variable.type.dtype), variable.type.to_text()));
  }
  if (given.size_bytes != bytes_of(variable)) {
    return invalid_argument(fmt::format("{} has {} bytes, expected {} for {}; bind the whole tensor", where,
                                        given.size_bytes, bytes_of(variable), variable.type.to_text()));
  }
  if (given.data != nullptr || given.size_bytes == 0) return {};
  return invalid_argument(fmt::format("{} is null, expected {} bytes for {}; bind memory", where, given.size_bytes,
                                      variable.type.to_text()));
}

}  // namespace

Result<std::unique_ptr<SessionVariables>> SessionVariables::create(std::shared_ptr<const Program::State> program) {
  std::unique_ptr<SessionVariables> made(new SessionVariables(std::move(program)));
  const Program::State& shared = *made->program_;
  if (shared.variables.empty()) return made;
  Result<std::shared_ptr<Buffer>> allocated =
      shared.device->allocate(static_cast<std::size_t>(shared.report.variable_bytes));
  if (!allocated.ok()) {
    return name_largest(allocated.status(), "variables", shared.variant->diagnostics->variables, {});
  }
  made->buffer_ = *std::move(allocated);
  MILLRACE_TRY(made->reset());
  return made;
}

Status SessionVariables::reset() {
  if (buffer_ == nullptr) return {};
  std::vector<std::vector<std::byte>> repeated;
  std::vector<UploadPart> parts;
  for (std::size_t i = 0; i < program_->variables.size(); ++i) {
    const auto& [offset_bytes, initial] = program_->variable_parts[i];
    const std::size_t size_bytes = bytes_of(program_->variables[i]);
    std::span<const std::byte> bytes = initial;
    if (size_bytes != initial.size()) bytes = repeated.emplace_back(repeat(initial, size_bytes));
    parts.push_back({offset_bytes, bytes});
  }
  return upload(*program_->device, *buffer_, parts);
}

Status SessionVariables::get(std::string_view name, const TensorBinding& to) const {
  MILLRACE_TRY_ASSIGN(const std::size_t number, find("get", name, to));
  if (to.is_const) {
    return invalid_argument(
        fmt::format("get: variable '{}' is bound to const elements, expected writable ones; bind memory that is not "
                    "const",
                    printable(name)));
  }
  return download(*program_->device, *buffer_, program_->variable_parts[number].offset_bytes,
                  std::span(static_cast<std::byte*>(to.data), to.size_bytes));
}

Status SessionVariables::set(std::string_view name, const TensorBinding& from) {
  MILLRACE_TRY_ASSIGN(const std::size_t number, find("set", name, from));
  const UploadPart part{program_->variable_parts[number].offset_bytes,
                        std::span(static_cast<const std::byte*>(from.data), from.size_bytes)};
  return upload(*program_->device, *buffer_, std::span(&part, 1));
}

/// The index of the variable. Fails if no variable has that name, or if `given` does not fit it.
Result<std::size_t> SessionVariables::find(std::string_view who, std::string_view name,
                                           const TensorBinding& given) const {
  const auto variable = std::ranges::find(program_->variables, name, &Argument::name);
  if (variable == program_->variables.end()) {
    return not_found(fmt::format("{}: the program has no variable '{}'; it has: {}", who, printable(name),
                                 names_text(program_->variables)));
  }
  MILLRACE_TRY(check_given(who, *variable, given));
  return static_cast<std::size_t>(variable - program_->variables.begin());
}

}  // namespace millrace
