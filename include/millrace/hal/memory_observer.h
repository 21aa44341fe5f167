// SPDX-License-Identifier: Apache-2.0
// What a simulator sees of a kernel that runs: every access to memory, and the barriers that order them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/base/status.h"

namespace millrace {

struct KernelArgs;

enum class MemoryKind : std::uint8_t { kBuffer, kWorkgroup, kPrivate };
std::string_view to_text(MemoryKind);

/// An atomic reads and writes.
enum class AccessKind : std::uint8_t { kLoad, kStore, kAtomic };

/// A buffer argument, or a slot of workgroup or private memory.
struct ObservedMemory {
  std::string name;  // "@0 ('x')", "#1 ('keys')"
  MemoryKind kind = MemoryKind::kBuffer;
  bool is_written = true;
  std::uint64_t element_bytes = 1;
  std::uint64_t num_elements = 0;  // of a slot; a buffer's is what was bound
  std::uint64_t offset_bytes = 0;  // of a slot in its kind's memory
};

struct ObservedKernel {
  std::string name;
  std::uint32_t workgroup_size = 1;
  std::uint32_t subgroup_size = 1;
  std::uint64_t workgroup_bytes = 0;
  std::uint64_t private_bytes = 0;       // of a thread
  std::vector<ObservedMemory> memories;  // buffers, then slots
};

/// Elements that one thread touches.
struct ThreadAccess {
  std::uint32_t thread = 0;
  std::uint32_t num_elements = 1;
  std::int64_t first_element = 0;
};

/// One instruction's accesses, of all threads that execute it.
struct MemoryAccess {
  AccessKind kind = AccessKind::kLoad;
  std::uint32_t memory = 0;  // index into ObservedKernel::memories
  std::uint32_t line = 0;    // of the kernel's text
  std::span<const ThreadAccess> threads;
};

/// Is told before things happen. An error ends the run, and the instruction does not take effect; whoever runs the
/// kernel says its name and the line before the message.
class MemoryObserver {
 public:
  virtual ~MemoryObserver() = default;
  virtual Status begin_group(const ObservedKernel&, const KernelArgs&, std::uint32_t group) = 0;
  virtual Status access(const MemoryAccess&) = 0;
  /// All threads of the workgroup are there.
  virtual Status barrier(std::uint32_t line) = 0;
  /// The group begun last has ended. `lane_instructions`: what its threads executed, an instruction as many times as it
  /// has lanes; constants are none, and a loop is one whatever its turns.
  virtual void end_group([[maybe_unused]] std::uint64_t lane_instructions) {}
};

/// How a simulator runs a kernel.
struct KernelObservation {
  MemoryObserver* observer = nullptr;  // null: none
  /// 0: groups run, and atomics happen, in the order of groups and threads. Else in one that this number shuffles.
  std::uint64_t order_seed = 0;
  /// The limit of a run with an observer. More end it, as an error: a way out of loops that do not end.
  std::uint64_t max_lane_instructions = UINT64_MAX;
};

}  // namespace millrace
