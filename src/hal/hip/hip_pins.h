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
  /// Whether all of it is pinned: here, or by the application itself.
  bool contain(const void* data, std::size_t size_bytes);

 private:
  /// Asking HIP costs about what staging so many bytes does.
  static constexpr std::size_t kWorthAsking = std::size_t{64} << 10;

  void unpin(std::byte* data);
  bool is_pinned_elsewhere(const std::byte* data, std::size_t size_bytes) const;

  std::shared_ptr<Context> context_;
  std::mutex mutex_;
  std::vector<std::span<std::byte>> ranges_;
};

}  // namespace millrace::hip
