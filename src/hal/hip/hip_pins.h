// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <vector>

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
  bool is_pinned_elsewhere(std::span<const std::byte> memory) const;

 private:
  /// Asking HIP costs about what staging so many bytes does.
  static constexpr std::size_t kWorthAsking = std::size_t{64} << 10;

  struct Range {
    std::span<std::byte> memory;
    std::weak_ptr<void> owner;
  };

  void unpin(std::byte* data);

  std::shared_ptr<Context> context_;
  std::mutex mutex_;
  std::vector<Range> ranges_;
};

}  // namespace millrace::hip
