// SPDX-License-Identifier: Apache-2.0
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
