// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "millrace/base/status.h"

namespace common {

// WAV files of one channel with 16 bits per sample. Samples are from -1 to 1.

/// Fails for a file of another kind or rate, with an error that says what the file has instead.
millrace::Result<std::vector<float>> read_wave(const std::string& path, std::uint32_t samples_per_second);
/// Clamps samples to -1 and 1. Fails with kUnavailable.
millrace::Status write_wave(const std::string& path, std::uint32_t samples_per_second, std::span<const float> samples);

}  // namespace common
