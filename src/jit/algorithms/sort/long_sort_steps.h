// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string_view>

#include "jit/algorithms/row_operation.h"

namespace millrace {

/// The buffers that a kernel of a long sort binds: the input, the results if it writes them, and the first entries of
/// LongSortScratch.
struct LongSortBuffers {
  std::string_view suffix;  // the end of the kernel's name
  bool has_results = false;
  std::uint32_t num_scratch = 0;
  std::uint32_t first_written_scratch = 0;  // the kernel writes this scratch and those after it
};

/// Indexed by LongSortStep.
inline constexpr std::array<LongSortBuffers, 4> kLongSortBuffers = {{
    {"_cuts", false, 1, 0},
    {"_chunks", false, 3, 1},
    {"_buckets", true, 4, 3},
    {"_runs", true, 4, 3},
}};

inline const LongSortBuffers& buffers_of(LongSortStep step) { return kLongSortBuffers[static_cast<std::size_t>(step)]; }

}  // namespace millrace
