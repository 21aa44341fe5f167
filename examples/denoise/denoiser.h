// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "millrace/millrace.h"

namespace denoise {

inline constexpr std::uint32_t kSamplesPerSecond = 16000;

/// A streaming GTCRN model: mix -> enh, both f32[1, 257, 1, 2], the spectrum of one frame. Its caches are variables.
millrace::Result<millrace::Graph> import_denoiser(const std::string& path);

/// Cleans speech as it comes in: from samples to a spectrum, through the model, and back.
class Denoiser {
 public:
  /// Compiles the graph of import_denoiser, and those around it.
  static millrace::Result<Denoiser> create(millrace::Graph model);
  /// Returns all samples, cleaned. Continues from the state of the last call.
  millrace::Result<std::vector<float>> clean(std::span<const float> samples);

 private:
  Denoiser(millrace::Session analysis, millrace::Session model, millrace::Session synthesis)
      : analysis_(std::move(analysis)), model_(std::move(model)), synthesis_(std::move(synthesis)) {}
  /// Takes the next hop of samples, and replaces it by the cleaned hop before it.
  millrace::Status step(std::span<float> hop);

  millrace::Session analysis_, model_, synthesis_;
};

}  // namespace denoise
