// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string_view>

#include "graph/run/program_state.h"

namespace millrace {

/// The variables of one session, in one buffer of the device. Use it between runs only.
class SessionVariables {
 public:
  /// Gives the variables their initial values.
  static Result<std::unique_ptr<SessionVariables>> create(std::shared_ptr<const Program::State> program);

  /// Precondition: the program has variables.
  BufferBinding binding() const { return buffer_->binding(); }
  Status reset();
  Status get(std::string_view name, const TensorBinding& to) const;
  Status set(std::string_view name, const TensorBinding& from);

 private:
  explicit SessionVariables(std::shared_ptr<const Program::State> program) : program_(std::move(program)) {}
  Result<std::size_t> find(std::string_view who, std::string_view name, const TensorBinding&) const;

  std::shared_ptr<const Program::State> program_;
  std::shared_ptr<Buffer> buffer_;  // null if there are no variables
};

}  // namespace millrace
