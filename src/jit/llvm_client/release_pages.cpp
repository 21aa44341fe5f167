// SPDX-License-Identifier: Apache-2.0
// Releases the pages of LLVM's code and constants between compilations.
#include "jit/llvm_client/release_pages.h"

#include <cstddef>
#include <cstdint>
#include <link.h>
#include <string_view>
#include <sys/mman.h>
#include <unistd.h>

namespace millrace {
namespace {

bool is_of_llvm(std::string_view file) {
  const std::string_view name = file.substr(file.rfind('/') + 1);
  return name.starts_with("libLLVM") || name.starts_with("libmillrace_llvm");
}

/// Pages of a segment that is never written can be dropped: the system reads them from the file again if they are
/// needed.
void release_segment(std::uintptr_t begin, std::size_t size) {
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const std::uintptr_t first = (begin + page - 1) / page * page, end = (begin + size) / page * page;
  if (first < end) (void)madvise(reinterpret_cast<void*>(first), end - first, MADV_DONTNEED);
}

int release_file(dl_phdr_info* file, std::size_t, void*) {
  if (!is_of_llvm(file->dlpi_name)) return 0;
  for (std::size_t i = 0; i < file->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = file->dlpi_phdr[i];
    if (segment.p_type == PT_LOAD && (segment.p_flags & PF_W) == 0) {
      release_segment(file->dlpi_addr + segment.p_vaddr, segment.p_filesz);
    }
  }
  return 0;
}

}  // namespace

void release_llvm_pages() { dl_iterate_phdr(release_file, nullptr); }

}  // namespace millrace
