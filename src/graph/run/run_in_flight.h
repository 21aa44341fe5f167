// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "graph/run/diagnostics.h"
#include "graph/run/index_checks.h"
#include "graph/run/program_state.h"

namespace millrace {

/// Replaces the device's message for a failed dispatch by one that names the node, because users do not see dispatches.
class NodeNamer final : public FailureExplainer {
 public:
  NodeNamer(const Program::State& program, const SymbolValues& values, std::span<const BufferBinding> bindings)
      : program_(program), values_(values), bindings_(bindings) {}

  Status explain(const DispatchFailure& failure, Status status) override {
    const std::vector<IndexCheck>& checks = program_.variant->diagnostics->index_checks[failure.command];
    if (failure.errors != static_cast<std::uint32_t>(KernelError::kIndexOutOfRange) || checks.empty()) return status;
    return out_of_range("run: " + describe_wrong_index(checks, values_, bindings_, *program_.device));
  }

 private:
  const Program::State& program_;
  const SymbolValues& values_;
  std::span<const BufferBinding> bindings_;
};

/// A submitted run that may not have ended, and everything that it needs until then.
struct RunInFlight {
  RunInFlight(const Program::State& program, const SymbolValues& run_values, std::vector<BufferBinding> as_given,
              std::span<const BufferBinding> on_device)
      : values(run_values),
        given(std::move(as_given)),
        bindings(on_device.begin(), on_device.end()),
        namer(program, values, given) {
    parts.reserve(3);
  }

  SymbolValues values;
  /// The bindings with the caller's memory. The namer reads these, because the next run may overwrite staging buffers.
  std::vector<BufferBinding> given;
  std::vector<BufferBinding> bindings;
  NodeNamer namer;
  std::vector<std::shared_ptr<Buffer>> retired;  // freed with the run
  /// Upload, run, download. Each has its own timeline, so that a refused part does not fail the others.
  std::vector<Timepoint> parts;

  void wait() const {
    for (const Timepoint& part : parts) (void)part.wait();
  }
  // In a stopped run, the last part may end before the others, which end soon after it. So this waits for all parts.
  bool has_ended() const {
    const Result<std::uint64_t> value = parts.back().semaphore->query();
    if (value.ok() && *value < parts.back().value) return false;
    wait();
    return true;
  }
};

}  // namespace millrace
