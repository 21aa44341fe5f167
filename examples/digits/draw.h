// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "examples/digits/digit_network.h"
#include "examples/digits/digit_set.h"

namespace digits {

/// The network's answers for one image, most probable first.
struct Guesses {
  std::array<float, kGuesses> probabilities;
  std::array<std::int64_t, kGuesses> classes;
};

/// The chosen digits side by side, in block characters, each above its label and its guesses.
std::string draw(const DigitSet&, const std::vector<Guesses>&, const std::vector<std::size_t>& chosen);

}  // namespace digits
