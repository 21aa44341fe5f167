// SPDX-License-Identifier: Apache-2.0
// Byte ranges of a schedule's uses, in terms of the resources that hold them.
#include "millrace/graph/schedule.h"

#include <algorithm>

namespace millrace {

bool Schedule::is_placed_by_runs() const {
  return std::ranges::any_of(resources, [](const Resource& resource) {
    return resource.lifetime == Lifetime::kTransient && !resource.size_bytes.is_constant();
  });
}

ByteRange Schedule::kernel_buffer_bytes(const ResourceUse& use) const {
  if (!use.part) return {0, resources[use.resource].size_bytes};
  ByteRange given = parts[*use.part].bytes;
  for (auto outer = parts[*use.part].inside; outer; outer = parts[*outer].inside) {
    given.offset_bytes = given.offset_bytes + parts[*outer].bytes.offset_bytes;
  }
  return given;
}

ByteRange Schedule::touched_bytes(const ResourceUse& use) const {
  ByteRange given = kernel_buffer_bytes(use);
  if (!use.touched) return given;
  ByteRange touched = *use.touched;
  touched.offset_bytes = given.offset_bytes + touched.offset_bytes;
  return touched;
}

}  // namespace millrace
