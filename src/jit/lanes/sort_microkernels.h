// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "jit/lanes/network_microkernels.h"

namespace millrace {

/// The groups of functions that a sort needs.
struct SortFunctions {
  bool keys = false, splits = false, sorter = false, results = false, runs = false;
  SorterFunctions sorter_functions = {};
};

/// Appends the functions in these groups that the results in `p` need. If `p.writes_sorted`, parts are written as soon
/// as they are sorted.
void append_sort(SortRowsParameters& p, const MicrokernelSink&, const LaneKeys&, const SortFunctions&);
/// Appends the functions of a RowSorter for keys of one width.
RowSorterCode append_sorter(const MicrokernelSink&, int lane_bits, const SorterFunctions& = {});
/// Appends the function that makes keys of elements whose indices are given as integers of `number_bits`. Precondition:
/// keys have indices.
Microkernel<MakeNumberedKeys> append_make_numbered_keys(const MicrokernelSink&, const LaneKeys&, int number_bits);

}  // namespace millrace
