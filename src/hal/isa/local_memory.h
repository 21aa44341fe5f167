// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "hal/isa/memory_history.h"
#include "hal/isa/program.h"

namespace millrace::isa {

/// The group segment (LDS) and the private segments of a workgroup. Behind the bytes stand as many that say which of
/// their bits are undefined, where mistakes are looked for.
class LocalMemory {
 public:
  LocalMemory(const Kernel&, const Launch&);

  /// The memory belongs to another workgroup from now on.
  void begin_group();
  /// All waves stand at a barrier, which opens: what they did before it is ordered before what follows.
  void open_barrier() { ++phase_; }
  /// Barriers and workgroups so far.
  std::uint32_t phase() const { return phase_; }

  std::byte* group_segment() { return group_bytes_.data(); }
  std::uint64_t group_size() const { return group_size_; }
  /// Those of all threads, one after another.
  std::byte* private_segments();
  std::uint64_t private_size() const { return private_size_; }  // of one thread
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
