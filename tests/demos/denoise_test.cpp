// SPDX-License-Identifier: Apache-2.0
// examples/denoise: the transform, the model with its state, what is left of noise, and the program.
#include <array>
#include <cmath>
#include <complex>
#include <numbers>

#include <doctest/doctest.h>

#include "examples/common/wave_file.h"
#include "examples/denoise/denoiser.h"
#include "examples/denoise/spectrum.h"
#include "tests/demos/demo.h"
#include "tests/docs/onnx_model.h"
#include "tests/graph/import/onnx/real_models.h"
#include "tests/graph/import/onnx/suite/agreement.h"

namespace millrace {
namespace {

using test::demo_error;
using test::model_path;
using test::ToolRun;
using test::Workplace;

/// Evenly distributed between -amplitude and amplitude.
std::vector<float> make_noise(std::size_t size, double amplitude) {
  std::vector<float> noise;
  for (std::uint32_t seed = 42; noise.size() < size;) {
    seed = seed * 1664525 + 1013904223;
    noise.push_back(static_cast<float>(amplitude * (seed * 0x1p-31 - 1)));
  }
  return noise;
}

Session start(Result<Graph> graph) { return Session::create(compile(graph.value()).value()).value(); }

TEST_CASE("denoise: the spectrum is that of the last 512 samples times the square root of a Hann window") {
  const std::vector<float> samples = make_noise(3 * 256, 1);
  Session analysis = start(denoise::build_analysis());
  std::array<float, 514> found;
  for (int hop = 0; hop < 3; ++hop) {
    CAPTURE(hop);
    const std::span next = std::span(samples).subspan(static_cast<std::size_t>(hop) * 256, 256);
    analysis.run({bind("samples", next)}, {bind("spectrum", found)}).throw_if_error();
    double worst = 0;
    for (int k = 0; k < 257; ++k) {
      std::complex<double> sum = 0;
      for (int n = 0; n < 512; ++n) {
        const int at = (hop - 1) * 256 + n;
        const double sample = at < 0 ? 0 : static_cast<double>(samples[static_cast<std::size_t>(at)]);
        const double hann = 0.5 - 0.5 * std::cos(2 * std::numbers::pi * n / 512);
        sum += sample * std::sqrt(hann) * std::polar(1.0, -2 * std::numbers::pi * k * n / 512);
      }
      const auto i = static_cast<std::size_t>(2 * k);
      worst = std::max(worst, std::abs(std::complex<double>(found[i], found[i + 1]) - sum));
    }
    CHECK(worst < 1e-4);  // of sums up to 30
  }
}

TEST_CASE("denoise: samples come back from their spectra one hop later") {
  const std::vector<float> samples = make_noise(20 * 256, 1);
  Session analysis = start(denoise::build_analysis()), synthesis = start(denoise::build_synthesis());
  std::array<float, 514> spectrum;
  std::vector<float> found(samples.size());
  for (std::size_t begin = 0; begin < samples.size(); begin += 256) {
    analysis.run({bind("samples", std::span(samples).subspan(begin, 256))}, {bind("spectrum", spectrum)})
        .throw_if_error();
    synthesis.run({bind("spectrum", spectrum)}, {bind("samples", std::span(found).subspan(begin, 256))})
        .throw_if_error();
  }
  float worst = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    worst = std::max(worst, std::fabs(found[i] - (i < 256 ? 0.0f : samples[i - 256])));
  }
  CHECK(worst < 2e-6f);
}

TEST_CASE("denoise: a frame after the recorded state gives the recorded spectrum and the recorded next state") {
  for (const std::string name : {"gtcrn", "gtcrn_simple"}) {
    const std::string path = model_path(name + ".onnx");
    if (path.empty()) continue;
    CAPTURE(name);
    const test::Recorded recorded = test::read_recorded(name);
    Session session = start(denoise::import_denoiser(path));
    REQUIRE(session.variables().size() == 3);
    for (const Argument& cache : session.variables()) {
      session.set(cache.name, bind(recorded.inputs.at(cache.name).bytes)).throw_if_error();
    }
    const auto difference = [](const reference::Tensor& found, const reference::Tensor& expected) {
      return test::share_of_largest(found, expected);
    };
    reference::Tensor enh = recorded.outputs.at("enh");
    std::ranges::fill(enh.bytes, std::byte{});
    session.run({bind("mix", recorded.inputs.at("mix").bytes)}, {bind("enh", enh.bytes)}).throw_if_error();
    CHECK(difference(enh, recorded.outputs.at("enh")) < 1e-4);
    for (const Argument& cache : session.variables()) {
      CAPTURE(cache.name);
      reference::Tensor next = recorded.inputs.at(cache.name);
      session.get(cache.name, bind(next.bytes)).throw_if_error();
      CHECK(difference(next, recorded.outputs.at(cache.name + "_out")) < 1e-4);
    }
  }
}

double energy(std::span<const float> samples) {
  double sum = 0;
  for (const float sample : samples) sum += static_cast<double>(sample) * static_cast<double>(sample);
  return sum;
}

TEST_CASE("denoise: little is left of noise, and speech comes out of it closer to what it was") {
  const std::string path = model_path("gtcrn_simple.onnx");
  if (path.empty()) return;
  const Graph model = denoise::import_denoiser(path).value();
  constexpr std::size_t kSize = 5 * 16000 + 100, kStart = 8000;  // the model needs a moment to know the noise
  const std::vector<float> noise = make_noise(kSize, 0.05);
  const std::vector<float> cleaned = denoise::Denoiser::create(model).value().clean(noise).value();
  REQUIRE(cleaned.size() == kSize);
  CHECK(energy(std::span(cleaned).subspan(kStart)) < 0.01 * energy(std::span(noise).subspan(kStart)));

  std::vector<float> speech = common::read_wave(model_path("data/silero_test.wav"), 16000).value();
  speech.resize(kSize);
  std::vector<float> noisy(kSize), error(kSize);
  for (std::size_t i = 0; i < kSize; ++i) noisy[i] = speech[i] + noise[i];
  const std::vector<float> better = denoise::Denoiser::create(model).value().clean(noisy).value();
  for (std::size_t i = 0; i < kSize; ++i) error[i] = better[i] - speech[i];
  CHECK(energy(error) < 0.25 * energy(noise));
}

TEST_CASE("denoise: the program writes as many samples as it reads") {
  const std::string model = model_path("gtcrn_simple.onnx");
  if (model.empty()) return;
  const Workplace here;
  const std::vector<float> noise = make_noise(16000 + 77, 0.05);
  common::write_wave(here.path("noise.wav"), 16000, noise).throw_if_error();
  const ToolRun run = run_demo(here, "denoise", "'" + model + "' noise.wav clean.wav");
  CHECK(run.exit_code == 0);
  CHECK(run.out == "cleaned 1.00 s of sound\n");
  for (const char* stage : {"read ", "import ", "compile ", "run ", "write "}) CHECK(test::contains(run.error, stage));
  const std::vector<float> found = common::read_wave(here.path("clean.wav"), 16000).value();
  denoise::Denoiser denoiser = denoise::Denoiser::create(denoise::import_denoiser(model).value()).value();
  const std::vector<float> read = common::read_wave(here.path("noise.wav"), 16000).value();
  common::write_wave(here.path("expected.wav"), 16000, denoiser.clean(read).value()).throw_if_error();
  CHECK(found.size() == noise.size());
  CHECK(here.read("clean.wav") == here.read("expected.wav"));
}

TEST_CASE("denoise: what cannot be used is refused with a message") {
  const Workplace here;
  common::write_wave(here.path("good.wav"), 16000, std::vector<float>(600)).throw_if_error();
  common::write_wave(here.path("fast.wav"), 44100, std::vector<float>(600)).throw_if_error();
  here.write("softmax.onnx", test::softmax_model());
  CHECK(demo_error(here, "denoise", "gtcrn.onnx good.wav") == "usage: " MILLRACE_EXAMPLES
                                                              "/denoise/denoise MODEL WAVE OUTPUT");
  CHECK(demo_error(here, "denoise", "gtcrn.onnx none.wav out.wav") ==
        "wave 'none.wav': the file cannot be opened: No such file or directory; check the path");
  CHECK(demo_error(here, "denoise", "gtcrn.onnx fast.wav out.wav") ==
        "wave 'fast.wav': found rate 44100, channels 1, bits 16, format 1, expected 16000, 1, 16 and 1 (PCM); convert "
        "it");
  CHECK(demo_error(here, "denoise", "none.onnx good.wav out.wav") ==
        "onnx 'none.onnx': the file cannot be opened: No such file or directory; check the path");
  CHECK(demo_error(here, "denoise", "softmax.onnx good.wav out.wav") ==
        "graph 'main': found the inputs x and the outputs y, expected a state that comes in as 'conv_cache' and leaves "
        "as 'conv_cache_out'; is this the right model?");
}

}  // namespace
}  // namespace millrace
