// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "isa/memory_history.h"
#include "isa/program.h"

namespace millrace::isa {

/// The group segment (LDS) and the private segments of a workgroup. If Launch::finds_mistakes is set, the group segment
/// and the private segments are each followed by a shadow of the same size, which marks their undefined bits.
class LocalMemory {
 public:
  LocalMemory(const Kernel&, const Launch&);

  /// Begins another workgroup: if mistakes are searched for, all memory becomes undefined.
  void begin_group();
  /// Call this when all waves have reached a barrier. It orders the accesses that precede the barrier before those that
  /// follow it.
  void open_barrier() { ++phase_; }
  /// The number of barriers and workgroups so far.
  std::uint32_t phase() const { return phase_; }

  std::byte* group_segment() { return group_bytes_.data(); }
  std::uint64_t group_size() const { return group_size_; }
  /// The private segments of all threads, one after another.
  std::byte* private_segments();
  std::uint64_t private_size() const { return private_size_; }  // per thread
  std::uint64_t all_private_size() const { return private_size_ * num_threads_; }
  MemoryHistory* history() { return history_ ? &*history_ : nullptr; }

 private:
  bool finds_mistakes_ = false;
  std::uint64_t group_size_ = 0, private_size_ = 0, num_threads_ = 0;
  std::uint32_t phase_ = 0;
  std::vector<std::byte> group_bytes_, private_bytes_;
  std::optional<MemoryHistory> history_;
};

}  // namespace millrace::isa
