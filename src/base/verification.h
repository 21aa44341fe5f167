// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "millrace/base/status.h"

namespace millrace {

/// Whether each step of a compile verifies what it made: a pass its graph, a builder its kernel. True in builds with
/// assertions, such as the sanitizers'. In other builds a compile verifies each level once, at its start.
#ifdef NDEBUG
inline constexpr bool kVerifiesSteps = false;
#else
inline constexpr bool kVerifiesSteps = true;
#endif

/// Verifies the result of a step, if kVerifiesSteps.
template <class Level>
Status verify_step(const Level& level) {
  if constexpr (kVerifiesSteps) return verify(level);
  return {};
}

/// The levels that have a verifier.
enum class IrLevel : std::uint8_t {
  kGraph,
  kDispatchGraph,
  kKernelSequence,
  kLoopKernel,
  kMachineKernel,
  kLaneFunction,
  kSchedule,
  kCommandList,
};

/// Counts the verifications on this thread while it lives, so that a test sees whether a compile repeats one. A body
/// verified as part of its graph counts with the graph.
class VerificationCount {
 public:
  VerificationCount() : outer_(current_) { current_ = this; }
  VerificationCount(const VerificationCount&) = delete;
  VerificationCount& operator=(const VerificationCount&) = delete;
  ~VerificationCount() { current_ = outer_; }

  std::size_t of(IrLevel level) const { return counts_[static_cast<std::size_t>(level)]; }
  /// Called by every verifier.
  static void note(IrLevel level) {
    if (current_ != nullptr) ++current_->counts_[static_cast<std::size_t>(level)];
  }

 private:
  static thread_local VerificationCount* current_;
  VerificationCount* outer_;
  std::array<std::size_t, 8> counts_ = {};
};

}  // namespace millrace
