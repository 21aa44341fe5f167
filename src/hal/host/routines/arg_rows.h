// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "millrace/hal/host_kernel.h"

namespace millrace {

inline constexpr std::string_view kArgRowsRoutineName = "arg_rows";
/// The version of the functions' arguments, of ArgRowsParameters and of RowPairSizes: raise it with every change of
/// theirs.
inline constexpr std::uint32_t kArgRowsRoutineAbi = 2;

/// Returns the index of the best of `count` contiguous elements; 0 if there is none.
using FindInFew = std::int64_t (*)(const void* row, std::int64_t count);

/// Two vectors of lanes: what each has found.
struct alignas(64) FoundInLanes {
  std::byte keys_and_places[128];
};
/// Writes what each lane finds in at least a chunk of elements. `last_chunk` is the one that ends with the row, and
/// begins at `last_place`.
using SurveyChunks = std::int64_t (*)(const void* row, std::int64_t count, const void* last_chunk,
                                      std::int64_t last_place, FoundInLanes*);
/// Returns the index of the best element, of which the lanes know the chunk.
using FindInChunks = std::int64_t (*)(const void* row, const FoundInLanes*);

/// The RoutineCall::parameters of an argmax or argmin, all i64. Functions are given by offsets from the image's entry.
struct ArgRowsParameters {
  std::int64_t element_bytes, num_other_dims;
  std::int64_t has_input_indices;  // in buffer 1, laid out like the input
  std::int64_t has_values;         // in the last buffer, laid out like the indices
  std::int64_t chunk_elements;
  std::int64_t most_at_once;  // elements whose places lanes hold
  std::int64_t find_in_few, survey_chunks, find_in_chunks;
};

/// Finds the best element of one row per group, or of one part of a row, whose results follow each other. Writes its
/// index, an i64. The size arguments are RowPairSizes. A HostRoutine.
void arg_rows(const void* code, std::span<const std::int64_t> parameters, const KernelArgs*, std::uint32_t first_group,
              std::uint32_t end_group);

}  // namespace millrace
