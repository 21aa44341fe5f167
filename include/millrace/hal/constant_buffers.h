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

/// Stands for bytes: a hash of them that collides by chance only, and how many they are.
struct ContentId {
  std::uint64_t high = 0, low = 0;
  std::size_t size_bytes = 0;
  auto operator<=>(const ContentId&) const = default;
};

/// A device's buffers of bytes that never change, while somebody has them: whoever needs the same bytes shares one.
/// Thread-safe.
class ConstantBuffers {
 public:
  /// Null if nobody has these bytes.
  std::shared_ptr<Buffer> find(const ContentId&) const;
  /// Precondition: the buffer holds these bytes. If another thread has added some meanwhile, returns theirs.
  std::shared_ptr<Buffer> add(const ContentId&, std::shared_ptr<Buffer>);

 private:
  mutable std::mutex mutex_;
  std::map<ContentId, std::weak_ptr<Buffer>> buffers_;
};

}  // namespace millrace
