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

/// Identifies bytes by a hash, which collides only by chance, and their number.
struct ContentId {
  std::uint64_t high = 0, low = 0;
  std::size_t size_bytes = 0;
  auto operator<=>(const ContentId&) const = default;
};

/// A device's buffers of bytes that never change. Equal bytes share one buffer, for as long as it has an owner.
/// Thread-safe.
class ConstantBuffers {
 public:
  /// Null if no owner is left.
  std::shared_ptr<Buffer> find(const ContentId&) const;
  /// Precondition: the buffer holds these bytes. If another thread has added such a buffer in the meantime, returns
  /// that one.
  std::shared_ptr<Buffer> add(const ContentId&, std::shared_ptr<Buffer>);

 private:
  mutable std::mutex mutex_;
  std::map<ContentId, std::weak_ptr<Buffer>> buffers_;
};

}  // namespace millrace
