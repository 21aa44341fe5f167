// SPDX-License-Identifier: Apache-2.0
// Maps generated machine code into memory that is executable and never writable at the same time.
#include "hal/cpu/code_loader.h"

#include <cerrno>
#include <cstring>
#include <map>
#include <sys/mman.h>

#include <fmt/format.h>

#include "hal/host/memory_pages.h"

namespace millrace {
namespace {

/// Functions are aligned to cache lines.
constexpr std::size_t kBlockAlignment = 64;

std::size_t round_up(std::size_t bytes, std::size_t alignment) {
  return (bytes + alignment - 1) / alignment * alignment;
}

/// The layout of the mapping: first the blocks without constants, in pages of their own, then the others.
class Layout {
 public:
  Layout(std::span<const CodeBlock> blocks, std::vector<std::size_t>& offsets) {
    std::map<std::pair<const std::byte*, std::size_t>, std::size_t> known;
    std::vector<std::size_t> places(blocks.size());
    for (const bool has_constants : {false, true}) {
      size_ = round_up_to_page(size_);
      if (has_constants) plain_bytes_ = size_;
      for (std::size_t i = 0; i < blocks.size(); ++i) {
        const CodeBlock& block = blocks[i];
        if ((block.code_bytes != block.bytes.size()) != has_constants) continue;
        const auto [place, is_new] = known.try_emplace({block.bytes.data(), block.code_bytes}, 0);
        if (is_new) {
          place->second = size_ = round_up(size_, has_constants ? std::size_t{kPageBytes} : kBlockAlignment);
          size_ += block.bytes.size();
        }
        places[i] = place->second;
      }
    }
    size_ = round_up_to_page(size_);
    offsets.insert(offsets.end(), places.begin(), places.end());
  }

  std::size_t size() const { return size_; }
  /// The size of the pages that hold only code.
  std::size_t plain_bytes() const { return plain_bytes_; }

 private:
  std::size_t size_ = 0;
  std::size_t plain_bytes_ = 0;
};

bool protect(std::byte* begin, std::size_t size, int protection) {
  return size == 0 || mprotect(begin, size, protection) == 0;
}

}  // namespace

Result<MappedCode> MappedCode::map(std::span<const CodeBlock> blocks, std::vector<std::size_t>& offsets) {
  const std::size_t first = offsets.size();
  const Layout layout(blocks, offsets);
  if (layout.size() == 0) return MappedCode();
  void* pages = mmap(nullptr, layout.size(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) {
    return resource_exhausted(
        fmt::format("{} bytes of memory for code cannot be mapped: {}", layout.size(), std::strerror(errno)));
  }
  MappedCode code(static_cast<std::byte*>(pages), layout.size());
  constexpr int kBreakpoint = 0xcc;  // int3: a jump past the end stops there
  std::memset(code.data_, kBreakpoint, layout.plain_bytes());
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    std::memcpy(code.data_ + offsets[first + i], blocks[i].bytes.data(), blocks[i].bytes.size());
  }
  bool is_protected = protect(code.data_, layout.plain_bytes(), PROT_READ | PROT_EXEC) &&
                      protect(code.data_ + layout.plain_bytes(), layout.size() - layout.plain_bytes(), PROT_READ);
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    if (offsets[first + i] < layout.plain_bytes()) continue;
    is_protected =
        is_protected && protect(code.data_ + offsets[first + i], blocks[i].code_bytes, PROT_READ | PROT_EXEC);
  }
  if (!is_protected) {
    return unavailable(fmt::format("the system refuses to make memory executable: {}; allow this process to map code",
                                   std::strerror(errno)));
  }
  return code;
}

Result<MappedCode> MappedCode::map(std::span<const std::byte> bytes, std::size_t code_bytes) {
  std::vector<std::size_t> offsets;
  const CodeBlock block{bytes, code_bytes};
  return map(std::span(&block, 1), offsets);
}

MappedCode::~MappedCode() {
  if (data_ != nullptr) munmap(data_, mapped_bytes_);
}

}  // namespace millrace
