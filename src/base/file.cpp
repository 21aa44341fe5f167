// SPDX-License-Identifier: Apache-2.0
// Reads, maps and writes files and standard streams, and reports failures as a Status with the system's reason.
#include "millrace/base/file.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

#include <fmt/format.h>

#include "base/guard_allocations.h"
#include "base/replace_file.h"

namespace millrace {
namespace {

/// The system's text for an errno, such as "No such file or directory".
std::string reason_of(int error) { return std::generic_category().message(error); }

/// Overwrites the existing file. Returns 0 or an errno.
int write_in_place(const std::string& path, std::span<const std::span<const std::byte>> parts, int flags) {
  const int file = open(path.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC | flags, 0666);
  if (file < 0) return errno;
  int error = 0;
  for (const auto& part : parts) {
    if (error == 0) error = write_all(file, part);
  }
  if (close(file) != 0 && error == 0) error = errno;
  return error;
}

/// Returns 0 or an errno.
int write_or_replace(const std::string& path, std::span<const std::span<const std::byte>> parts) {
  struct stat old{};
  const bool is_there = lstat(path.c_str(), &old) == 0;
  // A pipe, a device or a link (even to a regular file) is written in place.
  if (is_there && !S_ISREG(old.st_mode)) return write_in_place(path, parts, O_CREAT);
  ReplaceFileOptions options;
  if (is_there) options = {.mode = old.st_mode & 0777, .sync = true};
  const int error = replace_file(path, parts, options);
  if (error != EACCES) return error;
  // An existing file may be writable even if its directory is not. If the file does not exist, report the directory's
  // error.
  const int error_in_place = write_in_place(path, parts, O_NOFOLLOW);
  return error_in_place == ENOENT ? error : error_in_place;
}

/// Refuses devices: reading one may never end, or have side effects.
Status check_kind(std::string_view where, mode_t mode) {
  const bool is_character_device = S_ISCHR(mode);
  if (!is_character_device && !S_ISBLK(mode)) return {};
  return invalid_argument(fmt::format("{}: found a {} device, expected a file or a pipe; check the path", where,
                                      is_character_device ? "character" : "block"));
}

constexpr std::chrono::milliseconds kWaitForWriter{2000};

/// Waits up to kWaitForWriter for a writer to open the pipe, which was opened with O_NONBLOCK. Then clears that flag,
/// so that reads block until data arrives.
Status wait_for_writer(std::string_view where, std::FILE* pipe) {
  pollfd ready{.fd = fileno(pipe), .events = POLLIN, .revents = 0};
  if (poll(&ready, 1, static_cast<int>(kWaitForWriter.count())) == 0) {
    // The read fails if the pipe's writer has written nothing yet, and finds the end if the pipe has no writer.
    const int byte = std::fgetc(pipe);
    if (byte == EOF && std::feof(pipe) != 0) {
      return unavailable(fmt::format("{}: nobody wrote to this pipe within {} s; start the writer first", where,
                                     kWaitForWriter.count() / 1000));
    }
    if (byte != EOF) ungetc(byte, pipe);
    std::clearerr(pipe);
  }
  const int flags = fcntl(fileno(pipe), F_GETFL);
  if (flags >= 0 && fcntl(fileno(pipe), F_SETFL, flags & ~O_NONBLOCK) == 0) return {};
  return unavailable(fmt::format("{}: the pipe cannot be read: {}; check the path", where, reason_of(errno)));
}

/// The limit for a source whose size is unknown: a pipe, or a file of /proc.
constexpr std::uint64_t kMaxBytesOfUnknownSize = std::uint64_t{256} << 20;

Result<std::vector<std::byte>> read_all(const std::string& where, FileReader& file) {
  const std::uint64_t max_bytes = std::max(file.size_left().value_or(0), kMaxBytesOfUnknownSize);
  MILLRACE_TRY_ASSIGN(std::vector<std::byte> bytes, file.read(static_cast<std::size_t>(max_bytes) + 1));
  if (bytes.size() <= max_bytes) return bytes;
  return resource_exhausted(
      fmt::format("{}: found more than {} bytes, expected at most that many when the size is unknown; write them to a "
                  "file first",
                  where, max_bytes));
}

}  // namespace

Result<FileReader> FileReader::open(std::string where, const std::string& path) {
  return guard_allocations([&]() -> Result<FileReader> {
    struct stat info{};
    // The kind is checked before the file is opened, because opening some devices has side effects.
    if (stat(path.c_str(), &info) == 0) MILLRACE_TRY(check_kind(where, info.st_mode));
    // Without O_NONBLOCK, open() waits forever for the writer of a named pipe. Regular files ignore the flag.
    const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    std::FILE* file = descriptor < 0 ? nullptr : fdopen(descriptor, "rb");
    if (file == nullptr) {
      const int error = errno;
      if (descriptor >= 0) close(descriptor);
      return not_found(fmt::format("{}: the file cannot be opened: {}; check the path", where, reason_of(error)));
    }
    FileReader reader(std::move(where), file);
    if (fstat(descriptor, &info) != 0) return reader.cannot_read();
    MILLRACE_TRY(check_kind(reader.where_, info.st_mode));  // the path may name another file by now
    if (S_ISFIFO(info.st_mode)) MILLRACE_TRY(wait_for_writer(reader.where_, file));
    return reader;
  });
}

Result<FileReader> FileReader::open_standard_input(std::string where) {
  return guard_allocations([&]() -> Result<FileReader> {
    const int descriptor = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0);
    std::FILE* file = descriptor < 0 ? nullptr : fdopen(descriptor, "rb");
    if (file != nullptr) return FileReader(std::move(where), file);
    const int error = errno;
    if (descriptor >= 0) close(descriptor);
    return not_found(fmt::format("{}: cannot be opened: {}; check where it comes from", where, reason_of(error)));
  });
}

Status FileReader::cannot_read() const {
  return data_loss(fmt::format("{}: the file cannot be read: {}; check the kind of file", where_, reason_of(errno)));
}

Result<std::vector<std::byte>> FileReader::read(std::size_t size) {
  constexpr std::size_t kMinReadBytes = std::size_t{1} << 16;
  // Ask for one byte more than the reported size: the file may have grown, and files in /proc report size 0 without
  // being empty.
  const std::uint64_t left = size_left().value_or(0);
  std::size_t num_read = 0, wanted = std::min<std::uint64_t>(size, std::max<std::uint64_t>(kMinReadBytes, left + 1));
  const auto where = [&] {
    const std::uint64_t shown = num_read == 0 && left > 0 ? std::min<std::uint64_t>(wanted, left) : wanted;
    return fmt::format("{}: {} bytes", where_, shown);
  };
  return guard_allocations(where, [&]() -> Result<std::vector<std::byte>> {
    std::vector<std::byte> bytes;
    while (num_read == bytes.size() && num_read < size) {
      bytes.resize(wanted);
      num_read += std::fread(bytes.data() + num_read, 1, bytes.size() - num_read, file_.get());
      wanted = num_read < size / 2 ? num_read * 2 : size;
    }
    if (std::ferror(file_.get()) != 0) return cannot_read();
    bytes.resize(num_read);
    return bytes;
  });
}

Result<SharedBytes> FileReader::map(std::size_t size) {
  const std::uint64_t left = size_left().value_or(0);
  const std::size_t length = std::min<std::uint64_t>(size, left);
  const auto begin = static_cast<std::size_t>(std::max<off_t>(ftello(file_.get()), 0));
  const std::size_t before = begin % static_cast<std::size_t>(sysconf(_SC_PAGESIZE));  // a mapping begins at a page
  void* address = MAP_FAILED;
  if (length > 0) {
    address =
        mmap(nullptr, before + length, PROT_READ, MAP_PRIVATE, fileno(file_.get()), static_cast<off_t>(begin - before));
  }
  if (address == MAP_FAILED) {  // a pipe, or a file system without mmap
    MILLRACE_TRY_ASSIGN(std::vector<std::byte> bytes, read(size));
    return SharedBytes(std::move(bytes));
  }
  return guard_allocations(where_, [&]() -> Result<SharedBytes> {
    const auto unmap = [length = before + length](void* mapped) { munmap(mapped, length); };
    std::shared_ptr<void> owner(address, unmap);
    const std::span mapped(static_cast<const std::byte*>(address), before + length);
    if (fseeko(file_.get(), static_cast<off_t>(length), SEEK_CUR) != 0) return cannot_read();
    return SharedBytes(std::move(owner), mapped.subspan(before));
  });
}

std::optional<std::uint64_t> FileReader::size_left() const {
  struct stat info{};
  const off_t position = ftello(file_.get());
  if (position < 0 || fstat(fileno(file_.get()), &info) != 0 || !S_ISREG(info.st_mode)) return {};
  return static_cast<std::uint64_t>(std::max(info.st_size, position) - position);
}

Result<std::vector<std::byte>> read_file(const std::string& where, const std::string& path) {
  return guard_allocations([&]() -> Result<std::vector<std::byte>> {
    MILLRACE_TRY_ASSIGN(FileReader file, FileReader::open(where, path));
    return read_all(where, file);
  });
}

Result<std::vector<std::byte>> read_standard_input(const std::string& where) {
  return guard_allocations([&]() -> Result<std::vector<std::byte>> {
    MILLRACE_TRY_ASSIGN(FileReader file, FileReader::open_standard_input(where));
    return read_all(where, file);
  });
}

Status write_file(const std::string& where, const std::string& path,
                  std::span<const std::span<const std::byte>> parts) {
  return guard_allocations([&]() -> Status {
    const int failed = write_or_replace(path, parts);
    if (failed == 0) return {};
    return unavailable(
        fmt::format("{}: the file cannot be written: {}; check the path and the space", where, reason_of(failed)));
  });
}

Status write_file(const std::string& where, const std::string& path, std::string_view text) {
  return guard_allocations(
      [&] { return write_file(where, path, std::array{std::as_bytes(std::span<const char>(text))}); });
}

Status write_standard_output(std::string_view text) {
  return guard_allocations([&]() -> Status {
    if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0) return {};
    return unavailable(fmt::format("standard output: cannot be written: {}; check where it leads", reason_of(errno)));
  });
}

}  // namespace millrace
