// SPDX-License-Identifier: Apache-2.0
#include "examples/faces/picture.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <memory>
#include <span>
#include <string_view>

#include <fmt/format.h>

#include "millrace/base/file.h"

#define STB_IMAGE_IMPLEMENTATION
#define STBI_ONLY_JPEG
#define STBI_ONLY_PNG
#include <stb/stb_image.h>
#define STB_IMAGE_WRITE_IMPLEMENTATION
#include <stb/stb_image_write.h>

namespace faces {

using namespace millrace;

namespace {

constexpr int kChannels = 3;
constexpr std::size_t kMaxBytes = std::size_t{1} << 26;  // of a file

/// A PPM file of bytes: "P6 <width> <height> 255", one white space, and the pixels.
Result<Picture> read_ppm(const std::string& where, std::string_view file) {
  int width = 0, height = 0, levels = 0, head = 0;
  const int found =
      std::sscanf(std::string(file.substr(0, 64)).c_str(), "P6 %6d %6d %6d%n", &width, &height, &levels, &head);
  const auto begin = static_cast<std::size_t>(head) + 1;
  const std::size_t size = static_cast<std::size_t>(width) * static_cast<std::size_t>(height) * kChannels;
  if (found != 3 || levels != 255 || width <= 0 || height <= 0 || file.size() < begin + size) {
    return data_loss(
        fmt::format("{}: found {} bytes with width {}, height {} and maximum {}, expected a whole P6 file "
                    "with maximum 255 and no comment; write it again",
                    where, file.size(), width, height, levels));
  }
  const auto pixels = file.begin() + static_cast<std::ptrdiff_t>(begin);
  return Picture{width, height, {pixels, pixels + static_cast<std::ptrdiff_t>(size)}};
}

}  // namespace

Result<Picture> read_picture(const std::string& path) {
  const std::string where = fmt::format("picture '{}'", path);
  MILLRACE_TRY_ASSIGN(const std::vector<std::byte> file, read_file(where, path));
  if (file.size() > kMaxBytes) {
    return invalid_argument(
        fmt::format("{}: has {} bytes, expected at most {}; give a smaller picture", where, file.size(), kMaxBytes));
  }
  const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
  if (text.starts_with("P6")) return read_ppm(where, text);
  int width = 0, height = 0, channels = 0;
  const std::unique_ptr<stbi_uc, void (*)(void*)> pixels(
      stbi_load_from_memory(reinterpret_cast<const stbi_uc*>(file.data()), static_cast<int>(file.size()), &width,
                            &height, &channels, kChannels),
      stbi_image_free);
  if (pixels == nullptr) {
    return data_loss(fmt::format("{}: {}; give a JPEG, PNG or PPM file", where, stbi_failure_reason()));
  }
  const std::span bytes(pixels.get(), static_cast<std::size_t>(width) * static_cast<std::size_t>(height) * kChannels);
  return Picture{width, height, {bytes.begin(), bytes.end()}};
}

Status write_picture(const std::string& path, const Picture& picture) {
  const auto append = [](void* file, void* bytes, int size) {
    static_cast<std::string*>(file)->append(static_cast<const char*>(bytes), static_cast<std::size_t>(size));
  };
  const int width = static_cast<int>(picture.width), height = static_cast<int>(picture.height);
  std::string file;
  if (stbi_write_png_to_func(append, &file, width, height, kChannels, picture.bytes.data(), width * kChannels) == 0) {
    return resource_exhausted(fmt::format("picture '{}': cannot be encoded", path));
  }
  return write_file(fmt::format("picture '{}'", path), path, file);
}

void draw_box(Picture& picture, const Box& box) {
  constexpr std::array<std::uint8_t, kChannels> kGreen = {0, 255, 0};
  constexpr std::int64_t kLine = 2;
  for (std::int64_t y = std::max<std::int64_t>(box.top, 0); y < std::min(box.bottom, picture.height); ++y) {
    for (std::int64_t x = std::max<std::int64_t>(box.left, 0); x < std::min(box.right, picture.width); ++x) {
      const std::int64_t to_edge = std::min({x - box.left, box.right - 1 - x, y - box.top, box.bottom - 1 - y});
      if (to_edge < kLine) std::ranges::copy(kGreen, picture.bytes.begin() + kChannels * (y * picture.width + x));
    }
  }
}

}  // namespace faces
