// SPDX-License-Identifier: Apache-2.0
// Names of access and memory kinds, for the messages of simulators.
#include "millrace/hal/memory_observer.h"

namespace millrace {

std::string_view to_text(MemoryKind kind) {
  switch (kind) {
    case MemoryKind::kBuffer:
      return "buffer";
    case MemoryKind::kWorkgroup:
      return "workgroup";
    case MemoryKind::kPrivate:
      return "private";
  }
  __builtin_unreachable();
}

}  // namespace millrace
