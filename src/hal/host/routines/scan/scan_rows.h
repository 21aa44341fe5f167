// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "hal/host/routines/row_loader.h"
#include "millrace/hal/host_kernel.h"

namespace millrace {

/// What a group does.
enum class ScanRowsStep : std::int64_t {
  kRows,    // scans a row
  kTotals,  // writes the total of a part of a row to buffer 1
  kParts,   // scans a part, given the totals in buffer 1, with the results in buffer 2
};

/// The RoutineCall::parameters of a scan, all i64.
struct ScanRowsParameters {
  std::int64_t element_bytes, vector_bytes, num_other_dims;
  std::int64_t is_reverse;
  std::int64_t identity;  // the carry into a row
  Microkernel<ScanElements> scan;
  ScanRowsStep step;
  std::int64_t total_bytes;
  Microkernel<ScanElements> total;  // combines elements; in the step kParts, totals
  /// The carry of a float sum starts at 0 in each block of `block_elements`; if that is 0, there is one block. The
  /// totals of blocks nest: the sum of `sums_per_level` terms of one level is a term of the next. Totals are floats of
  /// `total_bytes` bytes.
  std::int64_t block_elements, sums_per_level;
  /// Scans vector-aligned rows if KernelArgs::streams is set: its stores bypass the caches. Absent (offset 0) unless
  /// elements are as wide as lanes.
  Microkernel<ScanElements> stream;
  RowLoadParameters load;  // needs RowLoader::kPieceBytes of workgroup memory
};

}  // namespace millrace
