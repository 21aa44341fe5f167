// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "millrace/base/shared_bytes.h"
#include "millrace/base/status.h"

namespace millrace {

// Reads and writes files. Each message begins with `where`, such as "npy 'w.npy'", and includes the system's reason:
// "npy 'w.npy': the file cannot be opened: No such file or directory; check the path".

/// Reads the whole file. A file of unknown size, such as a pipe, must have at most 256 MiB.
Result<std::vector<std::byte>> read_file(const std::string& where, const std::string& path);
/// Reads the rest of standard input, which may be a terminal. The limit of read_file applies.
Result<std::vector<std::byte>> read_standard_input(const std::string& where);

/// Reads a file front to back, for formats whose beginning must be checked before memory is allocated for the rest.
class FileReader {
 public:
  /// Refuses a device, such as /dev/zero, and a named pipe that has no writer within 2 s.
  static Result<FileReader> open(std::string where, const std::string& path);
  static Result<FileReader> open_standard_input(std::string where);
  /// Returns the next `size` bytes, or fewer at the end of the file. For a regular file, allocates their memory at
  /// once; for a pipe, as the bytes arrive.
  Result<std::vector<std::byte>> read(std::size_t size);
  /// Like read(), without a copy: a regular file is mapped. If the file is truncated later, reading the missing bytes
  /// ends the process (SIGBUS). If the file is replaced, as write_file does, the old bytes remain.
  Result<SharedBytes> map(std::size_t size);
  /// The number of bytes left; empty if the size is unknown (a pipe).
  std::optional<std::uint64_t> size_left() const;

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  Status cannot_read() const;
  FileReader(std::string where, std::FILE* file) : where_(std::move(where)), file_(file) {}

  std::string where_;
  std::unique_ptr<std::FILE, Close> file_;
};

/// Writes the parts one after another. An existing file is replaced only after everything is written, so a failure
/// leaves it unchanged. Anything other than a regular file (a pipe, /dev/stdout) is written directly. Fails with
/// kUnavailable.
Status write_file(const std::string& where, const std::string& path, std::span<const std::span<const std::byte>> parts);
Status write_file(const std::string& where, const std::string& path, std::string_view text);

/// Writes and flushes. Fails with kUnavailable.
Status write_standard_output(std::string_view text);

}  // namespace millrace
