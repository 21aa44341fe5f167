// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "hal/sim/access_history.h"
#include "millrace/hal/memory_observer.h"

namespace millrace {

/// A buffer argument of a dispatch.
struct ObservedBuffer {
  std::uint64_t size_bytes = 0;
  std::uint64_t begin_bytes = 0, end_bytes = 0;  // the bytes that the dispatch states as touched
  struct Rows {
    std::uint64_t pitch_bytes = 0, row_bytes = 0;
  };
  std::vector<Rows> rows = {};  // rows within those bytes, as in TouchedRange

  static ObservedBuffer whole(std::uint64_t size_bytes) { return {size_bytes, 0, size_bytes}; }
  bool states(std::uint64_t begin, std::uint64_t end) const;
};

/// Finds a kernel's forbidden accesses to memory in one dispatch. A slot is an array in workgroup or private memory;
/// slots may share bytes. The forbidden accesses are:
///  - accesses outside a buffer or a slot, or outside the bytes that the dispatch states for a buffer;
///  - reads from a slot where this workgroup (private memory: this thread) has stored nothing, or where another slot
///  was stored last;
///  - races: two threads touch the same bytes, at least one of the accesses writes, at most one is atomic, and no
///  barrier separates them. Barriers order only workgroup memory. Nothing orders accesses to buffers within a dispatch,
///  not even within a workgroup.
/// The first forbidden access ends the run with an error that names threads, lines and addresses.
class ShadowMemory final : public MemoryObserver {
 public:
  /// One per buffer argument.
  explicit ShadowMemory(std::vector<ObservedBuffer> arguments) : arguments_(std::move(arguments)) {}

  Status begin_group(const ObservedKernel&, const KernelArgs&, std::uint32_t group) override;
  Status access(const MemoryAccess&) override;
  Status barrier(std::uint32_t line) override;

 private:
  /// A group of buffers that share bytes, directly or through others of the group.
  struct Region {
    std::uintptr_t begin = 0;
    std::uintptr_t end = 0;
    std::uint64_t granule_bytes = 1;
    bool is_written = false;  // if false, nothing can race there, and no history is kept
    static constexpr std::size_t kChunk = 512;
    std::vector<std::unique_ptr<AccessHistory[]>> chunks = {};  // kChunk granules each, made when first touched
  };
  /// The state of all slots of one kind. A granule is as large as the smallest element of any slot.
  struct Slots {
    std::uint64_t granule_bytes = 8;
    std::uint64_t num_granules = 0;
    /// Per granule, and in private memory per thread too: the index + 1 of the slot that was written last; 0 if none.
    std::vector<std::uint32_t> last_stored;
  };

  void bind(const ObservedKernel&, const KernelArgs&);
  void add_region(Region);
  void bind_slots(MemoryKind, std::uint64_t bytes, std::uint32_t copies, Slots&);
  Status check_bounds(const MemoryAccess&, const ThreadAccess&) const;
  Status check_stated(const MemoryAccess&, const ThreadAccess&) const;
  Status touch_buffer(const MemoryAccess&, const ThreadAccess&);
  Status touch_slot(const MemoryAccess&, const ThreadAccess&);
  Status check_stored(const MemoryAccess&, const ThreadAccess&, std::uint64_t granule, std::uint32_t last_stored) const;
  Status race_error(const MemoryAccess&, const ThreadAccess&, std::uint64_t offset_bytes,
                    const AccessHistory::Race&) const;
  std::string place_text(const MemoryAccess&, const ThreadAccess&, std::uint64_t offset_bytes) const;

  std::vector<ObservedBuffer> arguments_;
  ObservedKernel kernel_;
  bool is_bound_ = false;
  std::vector<std::uintptr_t> buffers_;  // addresses
  std::vector<std::size_t> region_of_;   // per buffer
  std::vector<Region> regions_;
  Slots workgroup_, private_;
  std::vector<AccessHistory> workgroup_histories_;  // per granule
  std::uint32_t group_ = 0;
  std::uint32_t phase_ = 0;  // the phase of workgroup memory, counted over all groups
};

}  // namespace millrace
