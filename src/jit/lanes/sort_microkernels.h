// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "jit/lanes/network_microkernels.h"

namespace millrace {

/// The functions of a sort, by what they do.
struct SortFunctions {
  bool keys = false, splits = false, sorter = false, results = false, runs = false;
  FewRange few = {};  // of the sorter
};

/// Appends those that are asked for, as far as the results that `p` states need them. Its `writes_sorted` says whether
/// parts are written as soon as they are sorted.
void append_sort(SortRowsParameters& p, const MicrokernelSink&, const LaneKeys&, const SortFunctions&);
/// Those of a RowSorter for keys of one width.
RowSorterCode append_sorter(const MicrokernelSink&, int lane_bits, const FewRange& = {});
/// The keys of elements whose indices are given, as integers of `number_bits`. Keys have indices.
Microkernel<MakeNumberedKeys> append_make_numbered_keys(const MicrokernelSink&, const LaneKeys&, int number_bits);

}  // namespace millrace
