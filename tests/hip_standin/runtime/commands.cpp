// SPDX-License-Identifier: Apache-2.0
#include "tests/hip_standin/runtime/commands.h"

#include <algorithm>

namespace millrace::hip_standin {
namespace {

struct Touches {
  std::uint64_t address, size_bytes;

  bool overlaps(std::uint64_t begin, std::uint64_t num_bytes) const {
    return begin < address + size_bytes && address < begin + num_bytes;
  }
  bool operator()(const QueuedLaunch& launch) const {
    return std::ranges::any_of(launch.function->info.pointer_offsets,
                               [&](std::uint64_t offset) { return overlaps(pointer_at(launch.arguments, offset), 1); });
  }
  bool operator()(const QueuedCopy& copy) const {
    return overlaps(copy.destination, copy.num_bytes) || overlaps(copy.source, copy.num_bytes);
  }
  bool operator()(const QueuedFill& fill) const { return overlaps(fill.destination, fill.num_bytes()); }
  bool operator()(const QueuedAllocation& allocate) const { return allocate.allocation->address == address; }
  bool operator()(const QueuedRecord&) const { return false; }
  bool operator()(const QueuedWait&) const { return false; }
  bool operator()(const QueuedRelease&) const { return false; }
};

}  // namespace

bool touches(const QueuedCommand& command, std::uint64_t address, std::uint64_t size_bytes) {
  return std::visit(Touches{address, size_bytes}, command.what);
}

}  // namespace millrace::hip_standin
