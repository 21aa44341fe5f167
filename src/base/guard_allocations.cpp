// SPDX-License-Identifier: Apache-2.0
// Makes the status that says where memory ran out.
#include "base/guard_allocations.h"

#include <string>

namespace millrace {

Status out_of_memory(std::string_view where) noexcept {
  return guard_allocations(
      [&] { return resource_exhausted(std::string(where) + ": out of memory; free memory, or ask for less"); });
}

bool is_plain_out_of_memory(const Status& status) {
  return status.code() == StatusCode::kResourceExhausted && status.message() == Status::out_of_memory().message();
}

}  // namespace millrace
