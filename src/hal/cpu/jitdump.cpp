// SPDX-License-Identifier: Apache-2.0
// Writes generated code and its names to the file that perf reads.
#include "hal/cpu/jitdump.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <system_error>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>

#include "base/descriptor.h"
#include "base/replace_file.h"
#include "millrace/base/printable.h"

namespace millrace {
namespace {

Status cannot_write(const std::string& path, int error) {
  return unavailable(fmt::format("'{}': the file cannot be written: {}; check the path and the space", printable(path),
                                 std::generic_category().message(error)));
}

/// Refuses a file that another user has put there. O_NOFOLLOW refuses links.
Result<int> open_private_file(const std::string& path, int flags) {
  const int file = open(path.c_str(), flags | O_CREAT | O_CLOEXEC | O_NOFOLLOW, S_IRUSR | S_IWUSR);
  if (file < 0) return cannot_write(path, errno);
  struct stat info{};
  if (fstat(file, &info) == 0 && S_ISREG(info.st_mode) && info.st_uid == geteuid()) return file;
  close(file);
  return cannot_write(path, EPERM);
}

constexpr std::uint32_t kMagic = 0x4A695444, kVersion = 1, kCodeLoad = 0;

struct FileHeader {
  std::uint32_t magic = kMagic, version = kVersion, total_size = sizeof(FileHeader), machine = EM_X86_64, padding = 0;
  std::uint32_t pid = 0;
  std::uint64_t timestamp = 0, flags = 0;
};
static_assert(sizeof(FileHeader) == 40);

/// In the file, the name with a terminating zero follows, and then the code.
struct CodeLoad {
  std::uint32_t id = kCodeLoad, total_size = 0;
  std::uint64_t timestamp = 0;
  std::uint32_t pid = 0, tid = 0;
  std::uint64_t address = 0, code_address = 0, code_size = 0, index = 0;
};
static_assert(sizeof(CodeLoad) == 56);

/// The clock of `perf record -k mono`.
std::uint64_t now_ns() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(time.tv_nsec);
}

void append(std::vector<std::byte>& bytes, const void* data, std::size_t size) {
  const auto* begin = static_cast<const std::byte*>(data);
  bytes.insert(bytes.end(), begin, begin + size);
}

struct Dump {
  std::string path;
  Descriptor file;
  std::uint64_t num_kernels = 0;
};

Result<std::shared_ptr<Dump>> create_dump() {
  const char* directory = std::getenv("TMPDIR");
  std::string path =
      fmt::format("{}/jit-{}.dump", directory != nullptr && *directory != 0 ? directory : "/tmp", getpid());
  MILLRACE_TRY_ASSIGN(const int number, open_private_file(path, O_RDWR | O_TRUNC));
  const std::shared_ptr<Dump> dump(new Dump{std::move(path), Descriptor(number)});
  FileHeader header;
  header.pid = static_cast<std::uint32_t>(getpid());
  header.timestamp = now_ns();
  if (const int error = write_all(number, std::as_bytes(std::span(&header, 1))); error != 0) {
    return cannot_write(dump->path, error);
  }
  // This is never unmapped: perf finds the file by the record of the mapping.
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  if (mmap(nullptr, page, PROT_READ | PROT_EXEC, MAP_PRIVATE, number, 0) == MAP_FAILED) {
    return cannot_write(dump->path, errno);
  }
  return dump;
}

}  // namespace

Status append_private_file(const std::string& path, std::span<const std::byte> bytes) {
  MILLRACE_TRY_ASSIGN(const int number, open_private_file(path, O_WRONLY | O_APPEND));
  const Descriptor file(number);
  const int error = write_all(number, bytes);
  return error == 0 ? Status() : cannot_write(path, error);
}

Status append_to_jitdump(std::span<const CodePlace> places) {
  static std::shared_ptr<Dump> dump;
  static pid_t owner = 0;  // a forked process gets its own file
  if (owner != getpid()) dump.reset();
  if (!dump) {
    MILLRACE_TRY_ASSIGN(dump, create_dump());
    owner = getpid();
  }
  std::vector<std::byte> records;
  for (const CodePlace& place : places) {
    const std::string name = printable(place.name);
    CodeLoad load;
    load.total_size = static_cast<std::uint32_t>(sizeof(load) + name.size() + 1 + place.size_bytes);
    load.timestamp = now_ns();
    load.pid = static_cast<std::uint32_t>(getpid());
    load.tid = static_cast<std::uint32_t>(syscall(SYS_gettid));
    load.address = load.code_address = reinterpret_cast<std::uintptr_t>(place.begin);
    load.code_size = place.size_bytes;
    load.index = dump->num_kernels++;
    append(records, &load, sizeof(load));
    append(records, name.c_str(), name.size() + 1);
    append(records, place.begin, place.size_bytes);
  }
  const int error = write_all(dump->file.number(), records);
  return error == 0 ? Status() : cannot_write(dump->path, error);
}

}  // namespace millrace
