// SPDX-License-Identifier: Apache-2.0
// Memory of devices, and memory of the host that devices may use.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/hip_standin/runtime/arena.h"

namespace millrace::hip_standin {

struct Pool {
  std::uint64_t number = 0;
  int device = 0;
  std::uint64_t used_bytes = 0, reserved_bytes = 0;
  std::uint64_t num_live = 0;           // allocations that were not released, not even by a queued call
  std::uint64_t release_threshold = 0;  // reserved bytes that are kept though they are not used
};

/// Memory of a device. Nobody can access its addresses: the stand-in has the bytes elsewhere.
struct Allocation {
  std::uint64_t address = 0, size_bytes = 0;
  int device = 0;
  std::shared_ptr<Pool> pool = {};  // null: hipMalloc's
  std::byte* bytes = nullptr;       // null once it is gone
  bool has_begun = true;            // false until the stream that allocates it comes to that
  bool is_released = false;         // by a call; commands that were queued before may use it

  bool is_gone() const { return bytes == nullptr; }
  std::uint64_t charged_bytes() const { return round_to_pages(size_bytes); }
  /// "64 bytes of device 0 at 0x7f0000001000".
  std::string to_text() const;
};

/// Memory of the host that does not move.
struct PinnedRange {
  std::uint64_t address = 0, size_bytes = 0;
  bool is_registered = false;  // the application's; otherwise hipHostMalloc's
};

class Memory {
 public:
  static constexpr int kRubbish = 0xff;  // a NaN, a negative number

  /// Null if the process has no more memory.
  std::shared_ptr<Allocation> allocate(int device, std::uint64_t size_bytes);
  /// Takes the bytes away. The addresses stay known, as those of memory that is gone.
  static void release(Allocation&);
  /// The allocation that contains this address or ends at it; null if there never was one.
  std::shared_ptr<Allocation> find(std::uint64_t address) const;

  /// 0 if the process has no more memory.
  std::uint64_t allocate_pinned(std::uint64_t size_bytes);
  void register_pinned(std::uint64_t address, std::uint64_t size_bytes);
  void release_pinned(const PinnedRange&);
  /// The range that has all of these bytes, or null.
  const PinnedRange* find_pinned(std::uint64_t address, std::uint64_t size_bytes) const;
  const PinnedRange* find_overlapping_pinned(std::uint64_t address, std::uint64_t size_bytes) const;

  std::vector<std::string> live_objects() const;
  /// Releases everything, and forgets it.
  void clear();

 private:
  Arena device_addresses_, host_addresses_;
  std::map<std::uint64_t, std::shared_ptr<Allocation>> allocations_;  // by address
  std::map<std::uint64_t, PinnedRange> pinned_;                       // by address; disjoint
};

}  // namespace millrace::hip_standin
