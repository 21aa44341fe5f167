// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>
#include <vector>

#include "hal/sim/shadow_memory.h"
#include "hal/sim/traffic_counter.h"
#include "millrace/hal/sim_device.h"

namespace millrace {

/// Observes one dispatch: reports forbidden accesses, and counts what the kernel does.
class SimObserver final : public MemoryObserver {
 public:
  /// `arguments` has one entry per buffer argument of the kernel.
  SimObserver(const TargetSpec& target, std::vector<ObservedBuffer> arguments)
      : target_(target), shadow_(std::move(arguments)) {}

  const SimCounts& counts() const { return counts_; }

  Status begin_group(const ObservedKernel&, const KernelArgs&, std::uint32_t group) override;
  Status access(const MemoryAccess&) override;
  Status barrier(std::uint32_t line) override;
  void end_group(std::uint64_t lane_instructions) override;

 private:
  const TargetSpec& target_;
  ShadowMemory shadow_;
  TrafficCounter traffic_;
  const ObservedKernel* kernel_ = nullptr;  // the current group's kernel
  SimCounts counts_;
};

}  // namespace millrace
