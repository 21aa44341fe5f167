// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "hal/host/routines/scan/scan_rows.h"
#include "jit/lanes/element_lanes.h"
#include "jit/lanes/microkernel_sink.h"
#include "millrace/jit/scan_descriptor.h"

namespace millrace {

/// How lanes scan contiguous elements. Sums and products of 16-bit floats accumulate in f32. Minima and maxima compare
/// integers that order like the elements, with every NaN beyond infinity.
struct ScanLanes {
  DType dtype = DType::kF32;
  ReductionKind kind = ReductionKind::kSum;
  bool exclusive = false;
  bool reverse = false;
  /// Whether the function scans one block of a row: the carry starts at 0 in each block (nested_carry.h), and the
  /// argument kCarry is the base, which is added to each result. The function returns the block's own total.
  bool is_block = false;

  int lane_bits() const { return lane_bits_of(dtype); }
};

ScanLanes scan_lanes_of(const ScanDescriptor&);

/// The identity of the operation, as a lane: the carry into the first element.
std::int64_t scan_identity(const ScanLanes&);

/// The size of a part's total, which is one lane.
std::int64_t scan_total_bytes(const ScanDescriptor&);

/// Appends the microkernels that p.step needs, and sets the parameters that depend on lanes.
void append_scan(ScanRowsParameters& p, const MicrokernelSink&, const ScanLanes&);

}  // namespace millrace
