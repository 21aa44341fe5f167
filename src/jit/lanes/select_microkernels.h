// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "hal/host/routines/topk/topk_rows.h"
#include "jit/lanes/load_microkernels.h"
#include "jit/lanes/sort_microkernels.h"

namespace millrace {

/// The facts that decide which functions a selection needs.
struct SelectionFunctions {
  SorterFunctions short_sorter = {};  // functions for short rows, by number of vectors
  bool has_long_rows = true;
  bool filters_whole_rows = true;
  const ComputedElements* computed = nullptr;  // set if elements of long rows are computed, in lanes as wide as keys
};

/// Appends all microkernels except p.sort's, and sets the other parameters that depend on the keys.
void append_selection(TopkRowsParameters& p, const MicrokernelSink&, const LaneKeys&, const SelectionFunctions&);

}  // namespace millrace
