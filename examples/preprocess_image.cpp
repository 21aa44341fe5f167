// SPDX-License-Identifier: Apache-2.0
// The preprocessing for an image network: an RGB image of any size becomes a normalised f32[1, 3, 224, 224]. Height and
// width are symbols, so that one program serves every image.
#include <array>
#include <cmath>
#include <cstdio>
#include <vector>

#include "millrace/millrace.h"

using namespace millrace;

namespace {

constexpr std::int64_t kSide = 224;

/// Per channel, for ImageNet's training images.
constexpr std::array<float, 3> kMean = {0.485f, 0.456f, 0.406f}, kDeviation = {0.229f, 0.224f, 0.225f};

Result<Graph> build() {
  const SizeExpr height = Dim("height").at_least(1).at_most(8192), width = Dim("width").at_least(1).at_most(8192);
  GraphBuilder graph("preprocess");
  const Tensor image = graph.input("image", DType::kU8, {height, width, 3});
  const Tensor scaled = cast(image, DType::kF32) / 255.0;
  const Tensor small = resize(scaled, {0, 1}, {kSide, kSide}, ResizeMode::kLinear);
  const Tensor normal = (small - graph.constant({3}, kMean)) / graph.constant({3}, kDeviation);
  graph.output("pixels", unsqueeze(transpose(normal, {2, 0, 1}), {0}));
  return graph.finish();
}

/// An image of one colour keeps that colour at any size.
Status check(Session& session, std::int64_t height, std::int64_t width) {
  const std::array<std::uint8_t, 3> colour = {255, 128, 0};
  std::vector<std::uint8_t> image;
  for (std::int64_t i = 0; i < height * width; ++i) image.insert(image.end(), colour.begin(), colour.end());
  std::vector<float> pixels(3 * kSide * kSide);
  MILLRACE_TRY(session.run({bind("image", image, {height, width, 3})}, {bind("pixels", pixels)}));
  for (std::size_t i = 0; i < pixels.size(); ++i) {
    const std::size_t channel = i / (kSide * kSide);
    const float expected = (static_cast<float>(colour[channel]) / 255 - kMean[channel]) / kDeviation[channel];
    if (std::fabs(pixels[i] - expected) > 1e-5f) return internal_error("preprocess_image: a pixel has another colour");
  }
  std::printf("%5lld x %4lld: %.4f %.4f %.4f\n", static_cast<long long>(width), static_cast<long long>(height),
              pixels[0], pixels[kSide * kSide], pixels[2 * kSide * kSide]);
  return {};
}

}  // namespace

int main() try {
  Session session = Session::create(compile(build().value()).value()).value();
  constexpr std::array<std::int64_t, 2> kSizes[] = {{480, 640}, {224, 224}, {100, 37}, {1, 1}};
  for (const auto& [height, width] : kSizes) check(session, height, width).throw_if_error();
} catch (const StatusError& error) {
  std::puts(error.what());
  return 1;
}
