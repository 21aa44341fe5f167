// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "hal/host/routines/row_loader.h"
#include "millrace/hal/host_kernel.h"

namespace millrace {

inline constexpr std::string_view kScanRowsRoutineName = "scan_rows";
/// The version of the function's arguments, of ScanRowsParameters, RowLoadParameters and RowPairSizes: raise it with
/// every change of theirs.
inline constexpr std::uint32_t kScanRowsRoutineAbi = 3;

/// Scans `count` contiguous elements, given the carry into the first of them in the order of the scan. A reverse scan
/// gets the ends of the elements and of the results, and their starts too. Returns the carry behind the last one; of a
/// block, which is given what is added to each result, the total. A function for totals writes no results, and always
/// gets the starts.
using ScanElements = std::int64_t (*)(const void* from, void* to, std::int64_t count, std::int64_t carry,
                                      const void* from_start, void* to_start);

/// What a group does.
enum class ScanRowsStep : std::int64_t {
  kRows,    // scans a row
  kTotals,  // writes the total of a part of a row to buffer 1
  kParts,   // scans a part, given the totals in buffer 1, with the results in buffer 2
};

/// The RoutineCall::parameters of a scan, all i64. Functions are given by offsets from the image's entry.
struct ScanRowsParameters {
  std::int64_t element_bytes, vector_bytes, num_other_dims;
  std::int64_t is_reverse;
  std::int64_t identity;  // the carry into a row
  std::int64_t scan;
  ScanRowsStep step;
  std::int64_t total_bytes;
  std::int64_t total;  // of elements; for kParts, of totals
  /// The carry of a float sum starts at 0 in each block of `block_elements`; 0: there is one block. The totals of
  /// blocks nest: `sums_per_level` of one level are a term of the next. They are floats of `total_bytes`.
  std::int64_t block_elements, sums_per_level;
  /// If the result has at least so many bytes, rows that are aligned to a vector bypass the caches by the function
  /// `stream`, which is 0 unless elements are as wide as lanes.
  std::int64_t stream_from_bytes, stream;
  RowLoadParameters load;  // needs RowLoader::kPieceBytes of workgroup memory
};

/// Does a step of a scan for one row per group, or one part of a row. The size arguments are RowPairSizes. A
/// HostRoutine.
void scan_rows(const void* code, std::span<const std::int64_t> parameters, const KernelArgs*, std::uint32_t first_group,
               std::uint32_t end_group);

}  // namespace millrace
