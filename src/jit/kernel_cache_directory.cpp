// SPDX-License-Identifier: Apache-2.0
#include "jit/kernel_cache_directory.h"

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

namespace millrace {
namespace {

class File {
 public:
  explicit File(int descriptor) : descriptor_(descriptor) {}
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() { close(); }
  bool is_open() const { return descriptor_ >= 0; }
  int descriptor() const { return descriptor_; }
  bool close() {
    if (descriptor_ < 0) return true;
    return ::close(std::exchange(descriptor_, -1)) == 0;
  }

 private:
  int descriptor_;
};

bool read_all(int descriptor, std::span<std::byte> content) {
  while (!content.empty()) {
    const ssize_t count = ::read(descriptor, content.data(), content.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    content = content.subspan(static_cast<std::size_t>(count));
  }
  return true;
}

bool write_all(int descriptor, std::span<const std::byte> content) {
  while (!content.empty()) {
    const ssize_t count = ::write(descriptor, content.data(), content.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    content = content.subspan(static_cast<std::size_t>(count));
  }
  return true;
}

bool only_we_can_write(const struct stat& info) {
  const bool is_ours = info.st_uid == geteuid() || info.st_uid == 0;
  return S_ISREG(info.st_mode) && is_ours && (info.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

}  // namespace

std::optional<std::vector<std::byte>> KernelCacheDirectory::read(const std::string& key, bool& is_foreign) const {
  is_foreign = false;
  if (path_.empty()) return std::nullopt;
  File file(open((path_ + "/" + key).c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file.is_open()) return std::nullopt;
  struct stat info{};
  if (fstat(file.descriptor(), &info) != 0) return std::nullopt;
  if (!only_we_can_write(info)) {
    is_foreign = true;
    return std::nullopt;
  }
  std::vector<std::byte> content(static_cast<std::size_t>(info.st_size));
  if (!read_all(file.descriptor(), content)) content.clear();  // truncated meanwhile: damaged
  return content;
}

void KernelCacheDirectory::write(const std::string& key, std::span<const std::byte> content) const {
  if (path_.empty()) return;
  std::error_code ignored;
  std::filesystem::create_directories(path_, ignored);
  static std::atomic<unsigned> counter = 0;
  const std::string temporary = fmt::format("{}/{}.{}.{}.tmp", path_, key, getpid(), counter++);
  File file(open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR));
  if (!file.is_open()) return;
  const bool is_written = write_all(file.descriptor(), content) && file.close();
  const bool is_renamed = is_written && std::rename(temporary.c_str(), (path_ + "/" + key).c_str()) == 0;
  if (!is_renamed) unlink(temporary.c_str());
}

}  // namespace millrace
