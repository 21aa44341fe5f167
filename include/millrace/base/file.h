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

#include "millrace/base/status.h"

namespace millrace {

// All that is read from and written to files. `where` begins each message, "npy 'w.npy'", and the system's reason is
// in it: "npy 'w.npy': the file cannot be opened: No such file or directory; check the path".

Result<std::vector<std::byte>> read_file(const std::string& where, const std::string& path);

/// A file that is read front to back, for what must be judged by its beginning before memory is taken for the rest.
class FileReader {
 public:
  static Result<FileReader> open(std::string where, const std::string& path);
  /// The next `size` bytes, fewer only where the file ends. Memory for a file's is taken at once, a pipe's as they
  /// come.
  Result<std::vector<std::byte>> read(std::size_t size);
  /// The bytes that are left. Empty for what has no size, such as a pipe.
  std::optional<std::uint64_t> size_left() const;

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  FileReader(std::string where, std::FILE* file) : where_(std::move(where)), file_(file) {}

  std::string where_;
  std::unique_ptr<std::FILE, Close> file_;
};

/// The parts one after the other. A file that was there is replaced when all is written, and kept when something fails;
/// what is no file (a pipe, /dev/stdout) is written as it comes.
Status write_file(const std::string& where, const std::string& path, std::span<const std::span<const std::byte>> parts);
Status write_file(const std::string& where, const std::string& path, std::string_view text);

/// To standard output, through its buffer.
Status write_standard_output(std::string_view text);

}  // namespace millrace
