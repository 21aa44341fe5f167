// SPDX-License-Identifier: Apache-2.0
// Checks the module's file before dlopen, which would crash on a truncated file or wait on a pipe, and finds it on the
// search path.
#include "jit/llvm_client/module_file.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>

#include "base/descriptor.h"
#include "millrace/base/printable.h"

namespace millrace {
namespace {

template <class T>
bool read_at(const Descriptor& file, std::uint64_t offset, T& value) {
  return pread(file.number(), &value, sizeof value, static_cast<off_t>(offset)) == static_cast<ssize_t>(sizeof value);
}

/// offset + size, saturated at the maximum.
std::uint64_t end_of(std::uint64_t offset, std::uint64_t size) {
  std::uint64_t end = 0;
  return __builtin_add_overflow(offset, size, &end) ? UINT64_MAX : end;
}

bool is_shared_object(const ElfW(Ehdr) & header) {
  return std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 && header.e_ident[EI_CLASS] == ELFCLASS64 &&
         header.e_phentsize == sizeof(ElfW(Phdr));
}

/// The offset in the file where the last segment or the table of segments ends, whichever is later.
std::uint64_t end_of_segments(const Descriptor& file, const ElfW(Ehdr) & header) {
  std::uint64_t end = end_of(header.e_phoff, std::uint64_t{header.e_phnum} * sizeof(ElfW(Phdr)));
  for (std::uint64_t i = 0; i < header.e_phnum; ++i) {
    ElfW(Phdr) segment{};
    if (!read_at(file, end_of(header.e_phoff, i * sizeof segment), segment)) break;  // the file ends before `end`
    if (segment.p_type == PT_LOAD) end = std::max(end, end_of(segment.p_offset, segment.p_filesz));
  }
  return end;
}

/// An address inside the file that contains this code; dlopen uses that file's search path.
constexpr char kSearcher = 'f';

}  // namespace

Status check_module_segments(const std::string& path) {
  const Descriptor file(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  struct stat info{};
  ElfW(Ehdr) header{};
  if (!file.is_open() || fstat(file.number(), &info) != 0) return {};
  if (S_ISFIFO(info.st_mode) || S_ISCHR(info.st_mode) || S_ISBLK(info.st_mode)) {  // dlopen would wait or read forever
    return unavailable(fmt::format("llvm: {} is a pipe or a device, expected a file; name another", printable(path)));
  }
  if (!S_ISREG(info.st_mode)) return {};
  if (!read_at(file, 0, header) || !is_shared_object(header)) return {};
  const std::uint64_t end = end_of_segments(file, header);
  if (end <= static_cast<std::uint64_t>(info.st_size)) return {};
  return unavailable(fmt::format("llvm: {} is truncated: it has {} bytes, its segments end at {}; install it again",
                                 printable(path), info.st_size, end));
}

std::string find_in_library_path(const std::string& name) {
  Dl_info ignored{};
  void* self = nullptr;
  if (dladdr1(&kSearcher, &ignored, &self, RTLD_DL_LINKMAP) == 0 || self == nullptr) return {};
  Dl_serinfo size{};
  if (dlinfo(self, RTLD_DI_SERINFOSIZE, &size) != 0) return {};
  std::vector<std::max_align_t> storage(size.dls_size / sizeof(std::max_align_t) + 1);
  auto* const directories = reinterpret_cast<Dl_serinfo*>(storage.data());
  directories->dls_size = size.dls_size;
  directories->dls_cnt = size.dls_cnt;
  if (dlinfo(self, RTLD_DI_SERINFO, directories) != 0) return {};
  const Dl_serpath* const begin = directories->dls_serpath;
  for (const Dl_serpath* each = begin; each != begin + directories->dls_cnt; ++each) {
    std::string path = fmt::format("{}/{}", each->dls_name, name);
    if (access(path.c_str(), R_OK) == 0) return path;
  }
  return {};
}

}  // namespace millrace
