// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "hal/host/routines/sort/sort_rows.h"
#include "jit/lanes/microkernel_sink.h"
#include "jit/lanes/sort_keys.h"

namespace millrace {

/// The functions of a RowSorter that rows need: sort_in_registers for 2^first to 2^(end - 1) vectors, and, if set, the
/// functions that merge and those that partition.
struct SorterFunctions {
  std::size_t first = 0;
  std::size_t end = RowSorterCode::kNumNetworks;
  bool merges = true;
  bool partitions = true;
};

/// Appends the networks that sort keys in registers, and merge sorted runs.
void append_networks(RowSorterCode&, const MicrokernelSink&, int lane_bits, const SorterFunctions&);
/// Appends the same networks in a form that stores the keys' indices or, if keys have no index, their elements.
void append_networks(SortedWriter&, const MicrokernelSink&, const LaneKeys&);
/// Appends the function that sorts rows of `num_elements`, which must fit 16 vectors, and stores indices if keys have
/// them, otherwise values.
void append_row_networks(SortRowsParameters&, const MicrokernelSink&, const LaneKeys&, std::int64_t num_elements);

}  // namespace millrace
