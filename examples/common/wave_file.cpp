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

std::vector<float> samples_of(std::string_view chunk) {
  std::vector<std::int16_t> whole(chunk.size() / 2);
  if (!whole.empty()) std::memcpy(whole.data(), chunk.data(), 2 * whole.size());
  std::vector<float> samples(whole.size());
  std::ranges::transform(whole, samples.begin(), [](std::int16_t sample) { return static_cast<float>(sample) / 32768; });
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
            "{}: has {} samples per second, {} channels and {} bits in format {}, expected {}, 1, 16 and 1; convert it",
            where, format.rate, format.channels, format.bits, format.tag, samples_per_second));
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
  const Format format = {.rate = samples_per_second, .bytes_per_second = 2 * samples_per_second};
  const auto size = static_cast<std::uint32_t>(2 * whole.size());
  const std::array<std::uint32_t, 1> riff_size = {36 + size}, format_size = {sizeof(Format)}, data_size = {size};
  const auto text = [](std::string_view name) { return std::as_bytes(std::span(name)); };
  const std::array<std::span<const std::byte>, 8> parts = {
      text("RIFF"), std::as_bytes(std::span(riff_size)),
      text("WAVEfmt "), std::as_bytes(std::span(format_size)),
      std::as_bytes(std::span(&format, 1)),
      text("data"), std::as_bytes(std::span(data_size)),
      std::as_bytes(std::span(whole))};
  return write_file(fmt::format("wave '{}'", path), path, parts);
}

}  // namespace common
