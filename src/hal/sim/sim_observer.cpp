// SPDX-License-Identifier: Apache-2.0
// Passes the accesses of one dispatch to the shadow memory and the traffic counter.
#include "hal/sim/sim_observer.h"

#include <fmt/format.h>

namespace millrace {
namespace {

Status check_subgroups(const ObservedKernel& kernel, const TargetSpec& target) {
  if (kernel.subgroup_size == target.subgroup_size()) return {};
  return internal_error(fmt::format("subgroups of {0} threads, expected {2} for {1}; build the kernel for the target",
                                    kernel.subgroup_size, target.to_text(), target.subgroup_size()));
}

}  // namespace

Status SimObserver::begin_group(const ObservedKernel& kernel, const KernelArgs& args, std::uint32_t group) {
  if (kernel_ == nullptr) MILLRACE_TRY(check_subgroups(kernel, target_));
  kernel_ = &kernel;
  ++counts_.num_groups;
  return shadow_.begin_group(kernel, args, group);
}

Status SimObserver::access(const MemoryAccess& access) {
  MILLRACE_TRY(shadow_.access(access));
  traffic_.add(*kernel_, access, counts_);
  return {};
}

Status SimObserver::barrier(std::uint32_t line) {
  ++counts_.barriers;
  return shadow_.barrier(line);
}

void SimObserver::end_group(std::uint64_t lane_instructions) { counts_.lane_instructions += lane_instructions; }

}  // namespace millrace
