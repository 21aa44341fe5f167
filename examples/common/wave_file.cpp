// SPDX-License-Identifier: Apache-2.0
// RIFF files of type WAVE. Source: Microsoft, "Multimedia Programming Interface and Data Specifications 1.0", 1991.
#include "examples/common/wave_file.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <string_view>

#include <fmt/format.h>

#include "millrace/base/file.h"

namespace common {

using namespace millrace;

namespace {

/// The chunk "fmt ", little-endian as the host is.
struct Format {
  std::uint16_t tag = 1, channels = 1;  // tag 1: PCM
  std::uint32_t rate = 0, bytes_per_second = 0;
  std::uint16_t bytes_per_frame = 2, bits = 16;
};
static_assert(sizeof(Format) == 16);

/// The header of a file that contains nothing except samples.
struct Head {
  std::array<char, 4> riff = {'R', 'I', 'F', 'F'};
  std::uint32_t size = 0;
  std::array<char, 8> wave = {'W', 'A', 'V', 'E', 'f', 'm', 't', ' '};
  std::uint32_t format_size = sizeof(Format);
  Format format;
  std::array<char, 4> data = {'d', 'a', 't', 'a'};
  std::uint32_t data_size = 0;
};
static_assert(sizeof(Head) == 44);

std::vector<float> samples_of(std::string_view chunk) {
  std::vector<std::int16_t> whole(chunk.size() / 2);
  if (!whole.empty()) std::memcpy(whole.data(), chunk.data(), 2 * whole.size());
  std::vector<float> samples(whole.size());
  std::ranges::transform(whole, samples.begin(),
                         [](std::int16_t sample) { return static_cast<float>(sample) / 32768; });
  return samples;
}

}  // namespace

Result<std::vector<float>> read_wave(const std::string& path, std::uint32_t samples_per_second) {
  const std::string where = fmt::format("wave '{}'", path);
  MILLRACE_TRY_ASSIGN(const std::vector<std::byte> file, read_file(where, path));
  std::string_view rest(reinterpret_cast<const char*>(file.data()), file.size());
  if (rest.substr(0, 4) != "RIFF" || rest.size() < 12 || rest.substr(8, 4) != "WAVE") {
    return data_loss(where + ": does not begin with RIFF and WAVE; convert it to a WAV file");
  }
  rest.remove_prefix(12);
  Format format;
  while (rest.size() >= 8) {
    const std::string_view name = rest.substr(0, 4);
    std::uint32_t size = 0;
    std::memcpy(&size, rest.data() + 4, 4);
    rest.remove_prefix(8);
    if (size > rest.size()) {
      return data_loss(fmt::format("{}: chunk '{}' has {} bytes, expected {}; the file was cut off", where, name,
                                   rest.size(), size));
    }
    if (name == "fmt " && size >= sizeof(Format)) std::memcpy(&format, rest.data(), sizeof(Format));
    if (name == "data") {
      if (format.tag != 1 || format.channels != 1 || format.bits != 16 || format.rate != samples_per_second) {
        return invalid_argument(fmt::format(
            "{}: found rate {}, channels {}, bits {}, format {}, expected {}, 1, 16 and 1 (PCM); convert it", where,
            format.rate, format.channels, format.bits, format.tag, samples_per_second));
      }
      return samples_of(rest.substr(0, size));
    }
    rest.remove_prefix(std::min<std::size_t>(rest.size(), size + size % 2));
  }
  return data_loss(where + ": has no chunk 'data'; the file was cut off");
}

Status write_wave(const std::string& path, std::uint32_t samples_per_second, std::span<const float> samples) {
  std::vector<std::int16_t> whole(samples.size());
  std::ranges::transform(samples, whole.begin(), [](float sample) {
    return static_cast<std::int16_t>(std::lround(std::clamp(sample * 32768, -32768.0f, 32767.0f)));
  });
  const auto size = static_cast<std::uint32_t>(2 * whole.size());
  const Head head = {.size = size + std::uint32_t{sizeof(Head) - 8},
                     .format = {.rate = samples_per_second, .bytes_per_second = 2 * samples_per_second},
                     .data_size = size};
  const std::array parts = {std::as_bytes(std::span(&head, 1)), std::as_bytes(std::span<const std::int16_t>(whole))};
  return write_file(fmt::format("wave '{}'", path), path, parts);
}

}  // namespace common
