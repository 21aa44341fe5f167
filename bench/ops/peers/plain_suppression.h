// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace millrace::peers {

/// Greedy non-maximum suppression of boxes[n, 4] (x, y, x, y): sorts by score, then lets each remaining box suppress
/// the later boxes that it overlaps by more than `max_overlap`. Stores the indices of the boxes that remain, at most
/// `bound`, and returns their number. PyTorch's torchvision uses this algorithm on the CPU.
std::int64_t plain_suppression(const float* boxes, const float* scores, std::int64_t n, std::int64_t bound,
                               float max_overlap, std::int64_t* indices);

}  // namespace millrace::peers
