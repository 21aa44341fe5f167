// SPDX-License-Identifier: Apache-2.0
// What a simulator sees of a running kernel: every access to memory, and the barriers that order them.
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

/// An atomic access both reads and writes.
enum class AccessKind : std::uint8_t { kLoad, kStore, kAtomic };

/// A buffer argument, or a slot of workgroup or private memory.
struct ObservedMemory {
  std::string name;  // "@0 ('x')", "#1 ('keys')"
  MemoryKind kind = MemoryKind::kBuffer;
  bool is_written = true;
  std::uint64_t element_bytes = 1;
  std::uint64_t num_elements = 0;  // size of a slot; a buffer has the size that was bound
  std::uint64_t offset_bytes = 0;  // of a slot, within workgroup or private memory
};

struct ObservedKernel {
  std::string name;
  std::uint32_t workgroup_size = 1;
  std::uint32_t subgroup_size = 1;
  std::uint64_t workgroup_bytes = 0;
  std::uint64_t private_bytes = 0;       // per thread
  std::vector<ObservedMemory> memories;  // buffers, then slots
};

/// The elements that one thread accesses.
struct ThreadAccess {
  std::uint32_t thread = 0;
  std::uint32_t num_elements = 1;
  std::int64_t first_element = 0;
};

/// The accesses of one instruction, for all threads that execute it.
struct MemoryAccess {
  AccessKind kind = AccessKind::kLoad;
  std::uint32_t memory = 0;  // index into ObservedKernel::memories
  std::uint32_t line = 0;    // of the kernel's text
  std::span<const ThreadAccess> threads;
};

/// Its functions are called before each event of a running kernel. If one of them fails, the kernel ends, and the
/// instruction has no effect. Whoever runs the kernel puts the kernel's name and the line before the message.
class MemoryObserver {
 public:
  virtual ~MemoryObserver() = default;
  virtual Status begin_group(const ObservedKernel&, const KernelArgs&, std::uint32_t group) = 0;
  virtual Status access(const MemoryAccess&) = 0;
  /// All threads of the workgroup have reached the barrier.
  virtual Status barrier(std::uint32_t line) = 0;
  /// The group of the last begin_group() has ended. `lane_instructions` counts the instructions that its threads
  /// executed, once per lane. Constants do not count, and a loop instruction counts once, however often its body runs.
  virtual void end_group([[maybe_unused]] std::uint64_t lane_instructions) {}
};

/// How a simulator runs a kernel.
struct KernelObservation {
  MemoryObserver* observer = nullptr;  // null: none
  /// 0 runs groups and atomics in the order of groups and threads; any other value shuffles that order.
  std::uint64_t order_seed = 0;
  /// With an observer, a kernel that executes more than this fails, which ends endless loops.
  std::uint64_t max_lane_instructions = UINT64_MAX;
};

}  // namespace millrace
