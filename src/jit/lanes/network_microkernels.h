// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "hal/host/routines/sort/sort_rows.h"
#include "jit/lanes/microkernel_sink.h"
#include "jit/lanes/sort_keys.h"

namespace millrace {

/// The functions of a RowSorter that rows need: those that sort 1, 2, 4, ... vectors, from the function `first` on;
/// those that merge; those that partition.
struct FewRange {
  std::size_t first = 0;
  std::size_t end = RowSorterCode::kNumFew;
  bool merges = true;
  bool partitions = true;
};

/// The networks that sort keys in registers, and merge what they sorted.
void append_networks(RowSorterCode&, const MicrokernelSink&, int lane_bits, const FewRange&);
/// The same from keys to their indices, or to their elements if keys are not halved.
void append_networks(SortedWriter&, const MicrokernelSink&, const LaneKeys&);
/// What sorts rows of `num_elements`, which 16 vectors hold, to indices if keys have them, and otherwise to values.
void append_row_networks(SortRowsParameters&, const MicrokernelSink&, const LaneKeys&, std::int64_t num_elements);

}  // namespace millrace
