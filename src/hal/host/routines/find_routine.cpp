// SPDX-License-Identifier: Apache-2.0
#include "hal/host/routines/find_routine.h"

#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>

#include "hal/host/routines/arg_rows.h"
#include "hal/host/routines/gemm_f32.h"
#include "hal/host/routines/long_sort.h"
#include "hal/host/routines/scan_rows.h"
#include "hal/host/routines/sort_rows.h"
#include "hal/host/routines/topk_rows.h"

namespace millrace {
namespace {

struct RoutineRow {
  std::string_view name;
  std::uint32_t abi_version;  // raise it when the parameters, or what a microkernel is passed, change
  HostRoutine routine;
};

/// Every routine that an image may name.
constexpr std::array<RoutineRow, 9> kRoutines = {{
    {kGemmRoutineName, kGemmRoutineAbi, gemm_f32},
    {kSortRowsRoutineName, kSortRowsRoutineAbi, sort_rows},
    {kTopkRowsRoutineName, kTopkRowsRoutineAbi, topk_rows},
    {kChooseCutsRoutineName, kLongSortRoutineAbi, choose_cuts},
    {kSplitChunksRoutineName, kLongSortRoutineAbi, split_chunks},
    {kSortBucketsRoutineName, kLongSortRoutineAbi, sort_buckets},
    {kRestoreRunsRoutineName, kLongSortRoutineAbi, restore_runs},
    {kArgRowsRoutineName, kArgRowsRoutineAbi, arg_rows},
    {kScanRowsRoutineName, kScanRowsRoutineAbi, scan_rows},
}};

}  // namespace

Result<HostRoutine> find_routine(const RoutineCall& call) {
  const auto row = std::ranges::find(kRoutines, std::string_view(call.name), &RoutineRow::name);
  if (row == kRoutines.end()) {
    return not_found(fmt::format("this build has no host routine '{}'; compile the kernel again", call.name));
  }
  if (row->abi_version == call.abi_version) return row->routine;
  return not_found(
      fmt::format("host routine '{}' has ABI version {} in the image and {} in this build; compile the "
                  "kernel again",
                  call.name, call.abi_version, row->abi_version));
}

}  // namespace millrace
