// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

#include "millrace/hal/buffer.h"

namespace millrace {

/// Identifies bytes by their hash and their number. Different bytes have equal ids only by chance.
struct ContentId {
  std::uint64_t high = 0, low = 0;
  std::size_t size_bytes = 0;
  auto operator<=>(const ContentId&) const = default;
};

/// A device's buffers of bytes that never change. Equal bytes share one buffer, for as long as it has an owner.
/// Thread-safe.
class ConstantBuffers {
 public:
  /// Returns the buffer whose bytes have this id; null if it no longer has an owner, or never existed.
  std::shared_ptr<Buffer> find(const ContentId&) const;
  /// Adds a buffer and returns it. If another thread has added a buffer with the same id in the meantime, returns that
  /// one instead. Precondition: the id is that of the buffer's bytes.
  std::shared_ptr<Buffer> add(const ContentId&, std::shared_ptr<Buffer>);

 private:
  mutable std::mutex mutex_;
  std::map<ContentId, std::weak_ptr<Buffer>> buffers_;
};

}  // namespace millrace
