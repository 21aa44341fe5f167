// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "millrace/millrace.h"

namespace speech {

inline constexpr std::uint32_t kSamplesPerSecond = 16000;
inline constexpr std::size_t kFrame = 512;  // samples, 32 ms

/// A Silero VAD model for frames at 16 kHz: input f32[1, 576], 64 samples of the previous frame and 512 new ones;
/// output f32[1, 1], the probability of speech. Its state is a variable.
millrace::Result<millrace::Graph> import_detector(const std::string& path);

/// The probability of speech in each frame; zeros fill up the last frame. Continues from the session's state.
millrace::Result<std::vector<float>> find_probabilities(millrace::Session&, std::span<const float> samples);

bool is_speech(float probability);

/// Frames [begin, end).
struct Segment {
  std::size_t begin = 0, end = 0;
  friend bool operator==(const Segment&, const Segment&) = default;
};
/// The frames with speech; pauses of up to 3 frames do not divide a segment.
std::vector<Segment> find_segments(std::span<const float> probabilities);

}  // namespace speech
