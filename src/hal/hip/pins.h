// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <span>

#include "hal/hip/context.h"

namespace millrace::hip {

/// The host memory that the device reads and writes in place. Thread-safe.
class PinnedRanges : public std::enable_shared_from_this<PinnedRanges> {
 public:
  explicit PinnedRanges(std::shared_ptr<Context> context) : context_(std::move(context)) {}

  /// Pins memory while the result lives.
  Result<std::shared_ptr<void>> pin(std::span<std::byte> memory);
  /// Keeps the memory pinned while the result lives, if all of it was pinned here; otherwise returns null.
  std::shared_ptr<void> find(std::span<const std::byte> memory);
  /// Whether the application seems to have pinned all of the memory. HIP knows addresses, not ranges: a hole between
  /// two pinned pieces goes unnoticed.
  bool is_pinned_elsewhere(std::span<const std::byte> memory);

 private:
  /// The minimum size for which to ask HIP: asking costs about as much as staging this many bytes.
  static constexpr std::size_t kWorthAsking = std::size_t{64} << 10;

  /// A pinned range. It is listed from before HIP pins it until after HIP has unpinned it, so that it never looks like
  /// the application's pin.
  struct Range {
    std::span<std::byte> memory;
    std::weak_ptr<void> owner;  // null or expired while HIP is pinning or unpinning the memory
  };
  using RangeRef = std::list<Range>::iterator;

  RangeRef add(std::span<std::byte> memory);
  void remove(RangeRef);
  /// The number of pins that this object has made so far; empty if an existing pin overlaps the memory.
  std::optional<std::uint64_t> num_pins_elsewhere(std::span<const std::byte> memory);
  bool is_known_to_hip(std::span<const std::byte> memory) const;

  std::shared_ptr<Context> context_;
  std::mutex mutex_;
  std::list<Range> ranges_;
  std::uint64_t num_pins_ = 0;
};

}  // namespace millrace::hip
