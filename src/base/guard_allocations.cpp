// SPDX-License-Identifier: Apache-2.0
// Turns std::bad_alloc into a Status, for every public function that allocates.
#include "base/guard_allocations.h"

namespace millrace {

Status out_of_memory(std::string_view where) noexcept {
  try {
    return resource_exhausted(std::string(where) + ": out of memory; free memory, or ask for less");
  } catch (const std::bad_alloc&) {
    return Status::out_of_memory();
  }
}

thread_local int InsideGuard::depth_ = 0;

Status out_of_memory_outside_guards(std::string_view where) {
  if (InsideGuard::is_any()) throw;
  return out_of_memory(where);
}

}  // namespace millrace
