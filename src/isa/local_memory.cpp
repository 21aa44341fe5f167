// SPDX-License-Identifier: Apache-2.0
// Workgroup and private memory of the isa device, all of which is undefined when a workgroup starts.
#include "isa/local_memory.h"

#include <algorithm>

#include "isa/global_memory.h"

namespace millrace::isa {
namespace {

constexpr std::byte kUndefined{0xff};

void undefine(std::vector<std::byte>& bytes) {
  std::fill(bytes.begin() + static_cast<std::ptrdiff_t>(bytes.size() / 2), bytes.end(), kUndefined);
}

}  // namespace

LocalMemory::LocalMemory(const Kernel& kernel, const Launch& launch)
    : finds_mistakes_(launch.finds_mistakes), group_size_(kernel.workgroup_bytes), private_size_(kernel.private_bytes) {
  const std::uint32_t num_lanes = kernel.machine.num_lanes;
  num_threads_ = (kernel.workgroup_size + num_lanes - 1) / num_lanes * num_lanes;
  group_bytes_.resize(group_size_ * (finds_mistakes_ ? 2 : 1));
  if (finds_mistakes_ && group_size_ > 0) history_.emplace(0, group_size_, find_granule_bytes(kernel, true, 4), true);
}

void LocalMemory::begin_group() {
  ++phase_;
  if (!finds_mistakes_) return;
  undefine(group_bytes_);
  undefine(private_bytes_);
}

std::byte* LocalMemory::private_segments() {
  if (private_bytes_.empty() && private_size_ > 0) {
    private_bytes_.resize(all_private_size() * (finds_mistakes_ ? 2 : 1));
    if (finds_mistakes_) undefine(private_bytes_);
  }
  return private_bytes_.data();
}

}  // namespace millrace::isa
