// SPDX-License-Identifier: Apache-2.0
#include "hal/cpu/code_loader.h"

#include <cerrno>
#include <cstring>
#include <sys/mman.h>

#include <fmt/format.h>

namespace millrace {
namespace {

std::size_t round_up_to_page(std::size_t bytes) {
  return (bytes + MappedCode::kPageBytes - 1) / MappedCode::kPageBytes * MappedCode::kPageBytes;
}

}  // namespace

Result<MappedCode> MappedCode::map(std::span<const std::byte> bytes, std::size_t code_bytes) {
  const std::size_t mapped_bytes = round_up_to_page(bytes.size());
  void* pages = mmap(nullptr, mapped_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) {
    return resource_exhausted(
        fmt::format("{} bytes of memory for code are not to be had: {}", mapped_bytes, std::strerror(errno)));
  }
  MappedCode code(static_cast<std::byte*>(pages), mapped_bytes);
  constexpr int kBreakpoint = 0xcc;  // int3: a jump past the end stops there
  if (code_bytes == bytes.size()) std::memset(code.data_ + code_bytes, kBreakpoint, mapped_bytes - code_bytes);
  std::memcpy(code.data_, bytes.data(), bytes.size());

  const std::size_t executable_bytes = round_up_to_page(code_bytes);
  const bool is_protected = mprotect(code.data_, executable_bytes, PROT_READ | PROT_EXEC) == 0 &&
                            (executable_bytes == mapped_bytes ||
                             mprotect(code.data_ + executable_bytes, mapped_bytes - executable_bytes, PROT_READ) == 0);
  if (!is_protected) {
    return unavailable(fmt::format("the system refuses to make memory executable: {}; allow this process to map code",
                                   std::strerror(errno)));
  }
  return code;
}

MappedCode::~MappedCode() {
  if (data_ != nullptr) munmap(data_, mapped_bytes_);
}

}  // namespace millrace
