// SPDX-License-Identifier: Apache-2.0
// Shares equal constants among the programs of a device.
#include "millrace/hal/constant_buffers.h"

#include <utility>

namespace millrace {

std::shared_ptr<Buffer> ConstantBuffers::find(const ContentId& id) const {
  const std::lock_guard lock(mutex_);
  const auto found = buffers_.find(id);
  return found == buffers_.end() ? nullptr : found->second.lock();
}

std::shared_ptr<Buffer> ConstantBuffers::add(const ContentId& id, std::shared_ptr<Buffer> buffer) {
  const std::lock_guard lock(mutex_);
  std::erase_if(buffers_, [](const auto& each) { return each.second.expired(); });
  std::weak_ptr<Buffer>& known = buffers_[id];
  if (std::shared_ptr<Buffer> theirs = known.lock()) return theirs;
  known = buffer;
  return buffer;
}

}  // namespace millrace
