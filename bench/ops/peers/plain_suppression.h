// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace millrace::peers {

/// Greedy non-maximum suppression of boxes[n, 4] (x, y, x, y): sorts by score, then lets each box that is left hide the
/// later ones that it overlaps by more than `max_overlap`. Stores the indices of those that stay, at most `bound`, and
/// returns how many. As PyTorch's torchvision has it on the CPU.
std::int64_t plain_suppression(const float* boxes, const float* scores, std::int64_t n, std::int64_t bound,
                               float max_overlap, std::int64_t* indices);

}  // namespace millrace::peers
