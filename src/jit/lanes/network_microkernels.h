// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "hal/host/routines/sort/sort_rows.h"
#include "jit/lanes/microkernel_sink.h"
#include "jit/lanes/sort_keys.h"

namespace millrace {

/// The functions of a RowSorter that a sort needs: sort_in_registers for 2^first to 2^(end - 1) vectors; the functions
/// that merge, if `merges`; and the functions that partition, if `partitions`.
struct SorterFunctions {
  std::size_t first = 0;
  std::size_t end = RowSorterCode::kNumNetworks;
  bool merges = true;
  bool partitions = true;
};

/// Appends the networks that sort keys in registers and those that merge sorted runs.
void append_networks(RowSorterCode&, const MicrokernelSink&, int lane_bits, const SorterFunctions&);
/// Appends the same networks in a form that stores the keys' indices or, if keys have no index, their elements.
void append_networks(SortedWriter&, const MicrokernelSink&, const LaneKeys&);
/// Appends the function that sorts rows of `num_elements`. It stores indices if keys have them, otherwise values.
/// Precondition: `num_elements` fit 16 vectors.
void append_row_networks(SortRowsParameters&, const MicrokernelSink&, const LaneKeys&, std::int64_t num_elements);

}  // namespace millrace
