// SPDX-License-Identifier: Apache-2.0
// Tries a mapping of the wanted size, so that a caller that cannot survive a failed allocation (LLVM) can stop in time.
#include "base/has_room.h"

#include <sys/mman.h>

namespace millrace {
namespace {

class TrialMapping {
 public:
  TrialMapping(std::size_t size_bytes, int protection)
      : size_bytes_(size_bytes),
        address_(size_bytes == 0 ? nullptr
                                 : mmap(nullptr, size_bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {}
  TrialMapping(const TrialMapping&) = delete;
  TrialMapping& operator=(const TrialMapping&) = delete;
  ~TrialMapping() {
    if (size_bytes_ > 0 && is_good()) munmap(address_, size_bytes_);
  }
  bool is_good() const { return address_ != MAP_FAILED; }

 private:
  std::size_t size_bytes_;
  void* address_;
};

}  // namespace

bool has_room(const Room& room) {
  const TrialMapping mapped(room.mapped_bytes, PROT_NONE);
  const TrialMapping written(room.written_bytes, PROT_READ | PROT_WRITE);
  return mapped.is_good() && written.is_good();
}

}  // namespace millrace
