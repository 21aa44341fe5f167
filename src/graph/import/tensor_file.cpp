// SPDX-License-Identifier: Apache-2.0
#include "graph/import/tensor_file.h"

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <unistd.h>

#include <fmt/format.h>

namespace millrace {
namespace {

namespace fs = std::filesystem;

bool write_parts(const std::string& path, std::span<const std::span<const std::byte>> parts) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  for (const auto& part : parts) {
    file.write(reinterpret_cast<const char*>(part.data()), static_cast<std::streamsize>(part.size()));
  }
  file.close();
  return file.good();
}

}  // namespace

Result<std::vector<std::byte>> read_file(const std::string& where, const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return not_found(fmt::format("{}: the file cannot be opened; check the path", where));
  std::vector<std::byte> bytes;
  std::size_t size = 0;
  // Piece by piece, as a pipe has no size to ask for.
  while (file) {
    constexpr std::size_t kLeast = std::size_t{1} << 16;
    bytes.resize(std::max(kLeast, size * 2));
    file.read(reinterpret_cast<char*>(bytes.data() + size), static_cast<std::streamsize>(bytes.size() - size));
    size += static_cast<std::size_t>(file.gcount());
  }
  if (file.bad()) return data_loss(fmt::format("{}: the file cannot be read; check what it is", where));
  bytes.resize(size);
  return bytes;
}

Status write_file(const std::string& where, const std::string& path,
                  std::span<const std::span<const std::byte>> parts) {
  const Status failed = unavailable(fmt::format("{}: the file cannot be written; check the path and the space", where));
  std::error_code error;
  const fs::file_status status = fs::symlink_status(path, error);
  if (status.type() != fs::file_type::regular && status.type() != fs::file_type::not_found) {
    return write_parts(path, parts) ? Status() : failed;  // a pipe, a device, or a link: what it leads to is written
  }
  static std::atomic<unsigned> counter = 0;
  const std::string temporary = fmt::format("{}.{}.{}.tmp", path, getpid(), counter++);
  const bool is_written = write_parts(temporary, parts);
  if (is_written && fs::exists(status)) fs::permissions(temporary, status.permissions(), error);
  if (is_written) fs::rename(temporary, path, error);
  if (is_written && !error) return {};
  fs::remove(temporary, error);
  return failed;
}

Result<Shape> shape_of(const std::string& where, std::span<const std::uint64_t> dims) {
  if (dims.size() > kMaxRank) {
    return unimplemented(fmt::format("{}: rank {}, expected at most {}", where, dims.size(), kMaxRank));
  }
  constexpr std::uint64_t kMaxElements = std::uint64_t{1} << 48;
  std::uint64_t elements = 1;  // an extent of 0 counts as 1, so that no other is beyond the limit
  std::vector<SizeExpr> extents;
  for (const std::uint64_t dim : dims) {
    if (__builtin_mul_overflow(elements, std::max<std::uint64_t>(dim, 1), &elements) || elements >= kMaxElements) {
      return data_loss(fmt::format("{}: the shape has more than 2^48 elements", where));
    }
    extents.push_back(static_cast<std::int64_t>(dim));
  }
  return Shape(std::move(extents));
}

}  // namespace millrace
