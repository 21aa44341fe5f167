// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <span>

#include "hal/hip/hip_context.h"

namespace millrace::hip {

/// Which memory of the host the device reads and writes itself. Thread-safe.
class PinnedRanges : public std::enable_shared_from_this<PinnedRanges> {
 public:
  explicit PinnedRanges(std::shared_ptr<Context> context) : context_(std::move(context)) {}

  /// Pins memory while the result lives.
  Result<std::shared_ptr<void>> pin(std::span<std::byte> memory);
  /// Keeps the memory pinned while it lives, if all of it is pinned here; else null.
  std::shared_ptr<void> find(std::span<const std::byte> memory);
  /// Whether the application seems to have pinned all of it. HIP knows addresses, not ranges: there may be a hole
  /// between two pinned pieces.
  bool is_pinned_elsewhere(std::span<const std::byte> memory);

 private:
  /// Asking HIP costs about what staging so many bytes does.
  static constexpr std::size_t kWorthAsking = std::size_t{64} << 10;

  /// Known from before HIP knows it until HIP has forgotten it, so that it is never taken for the application's.
  struct Range {
    std::span<std::byte> memory;
    std::weak_ptr<void> owner;  // gone, or not there yet: the memory may be pinned, and does not stay so
  };
  using RangeRef = std::list<Range>::iterator;

  RangeRef add(std::span<std::byte> memory);
  void remove(RangeRef);
  /// How many pins there were so far; none if one that there is has some of the memory.
  std::optional<std::uint64_t> num_pins_elsewhere(std::span<const std::byte> memory);
  bool is_known_to_hip(std::span<const std::byte> memory) const;

  std::shared_ptr<Context> context_;
  std::mutex mutex_;
  std::list<Range> ranges_;
  std::uint64_t num_pins_ = 0;
};

}  // namespace millrace::hip
