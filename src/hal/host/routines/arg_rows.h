// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "hal/host/routines/microkernel.h"

namespace millrace {

/// What each lane has found: a vector of keys and a vector of their places.
struct alignas(64) FoundInLanes {
  std::byte keys_and_places[128];
};

/// The RoutineCall::parameters of an argmax or argmin, all i64.
struct ArgRowsParameters {
  /// The maximum number of rows that interleave. It limits the size of the code: a few dozen instructions per row.
  static constexpr std::int64_t kMaxColumns = 32;
  static constexpr int kVectorsPerChunk = 8;

  std::int64_t element_bytes, num_other_dims;
  std::int64_t has_input_indices;  // in buffer 1, laid out like the input
  std::int64_t has_values;         // in the last buffer, laid out like the indices
  std::int64_t chunk_elements;
  std::int64_t max_at_once;  // the maximum number of elements whose positions in the row fit into a lane
  Microkernel<FindInFew> find_in_few;
  Microkernel<SurveyChunks> survey_chunks;
  Microkernel<FindInChunks> find_in_chunks;
  /// For rows that interleave: how many there are, and the SIMD lanes per vector. A chunk then has `chunk_elements` of
  /// each row.
  std::int64_t num_columns, num_lanes;
  Microkernel<SurveyColumns> survey_columns;  // replaces survey_chunks and find_in_chunks for rows that interleave
};

}  // namespace millrace
