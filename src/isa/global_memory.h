// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "isa/instructions/vector.h"
#include "isa/memory_history.h"
#include "isa/program.h"

namespace millrace::isa {

/// The memory that a dispatch may touch: its buffers, its arguments and its code object. The kernel sees the address of
/// a buffer with the buffer's index in the upper 16 bits, which the host's addresses do not use; see
/// LaunchBuffer::argument_offset.
class GlobalMemory {
 public:
  /// The address in this process of memory that the kernel may access.
  static constexpr std::uint64_t host_address(std::uint64_t address) {
    return address & ((std::uint64_t{1} << kHostBits) - 1);
  }

  GlobalMemory(const Kernel&, const Launch&);

  /// The address at which the kernel finds its arguments.
  std::uint64_t arguments_address() const { return arguments_.begin; }
  /// The number of bytes that a scalar load reads past the last argument; they are undefined. 0 if the load does not
  /// cross the end of the arguments, or reads further than it may.
  std::uint32_t num_bytes_after_arguments(std::uint64_t address, std::uint32_t num_bytes) const {
    const std::uint64_t end = address + num_bytes;
    const bool may = arguments_.begin <= address && address < arguments_.end && arguments_.end < end &&
                     end <= arguments_.begin + arguments_bytes_.size();
    return may ? static_cast<std::uint32_t>(end - arguments_.end) : 0;
  }
  /// Checks that all lanes may access `num_bytes` from their addresses on. Returns the first lane that may not.
  std::optional<std::uint32_t> find_outside(const Lanes<std::uint64_t>& addresses, std::uint64_t lanes,
                                            std::uint32_t num_bytes, AccessKind);
  /// The history of the memory at this address; null if nothing can race, because the dispatch does not write there.
  MemoryHistory* find_history(std::uint64_t address) const;
  /// "@1 + 4096", or, if the address may not be accessed, "@1 + 4096, which has 4096 bytes" and the like. The address
  /// is the kernel's or the host's.
  std::string place_text(std::uint64_t address) const;
  std::string outside_text(std::uint64_t address, std::uint32_t num_bytes, AccessKind) const;

 private:
  struct Region {
    std::uint64_t begin = 0, end = 0;
    std::string name = {};
    bool is_written = false;
    std::uint64_t window = 0;  // added to the host's addresses
    std::uint64_t size() const { return end - begin; }
    bool contains(std::uint64_t address, std::uint32_t num_bytes) const {
      return num_bytes <= size() && address - begin <= size() - num_bytes;
    }
  };
  struct WrittenRange {
    std::uint64_t begin = 0, end = 0;
    std::unique_ptr<MemoryHistory> history = {};
  };
  static constexpr int kHostBits = 48;
  void add_buffer(const LaunchBuffer&);
  void add_written(std::uint64_t begin, std::uint64_t end);
  const Region* nearest(std::uint64_t address) const;

  std::vector<std::byte> arguments_bytes_;  // the arguments, and the bytes after them that a load may read
  Region arguments_;
  std::vector<Region> regions_;
  std::size_t last_[2] = {};           // the region that served the last load, and the last store
  std::vector<WrittenRange> written_;  // disjoint
};

/// The size of the smallest access by an instruction of this class, at most `max_bytes`. The granules of histories have
/// at most this many bytes.
std::uint32_t find_granule_bytes(const Kernel&, bool is_local, std::uint32_t max_bytes);

}  // namespace millrace::isa
