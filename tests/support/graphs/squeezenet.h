// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "millrace/graph/composites.h"

namespace millrace {

/// SqueezeNet 1.1 for one f32 image of 3x224x224, with seeded random weights: input "image", outputs "probabilities"
/// (1000), "top" and "classes" (5). Source: Iandola et al., arXiv:1602.07360, and its authors' version 1.1.
Graph build_squeezenet(std::uint64_t seed);

}  // namespace millrace
