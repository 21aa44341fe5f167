// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "jit/lanes/microkernel_code.h"
#include "millrace/jit/scan_descriptor.h"

namespace millrace {

/// How lanes scan contiguous elements. Sums and products of 16-bit floats accumulate in f32. Minima and maxima are
/// those of integers that order like the elements, where every NaN is beyond infinity.
struct ScanLanes {
  DType dtype = DType::kF32;
  ReductionKind kind = ReductionKind::kSum;
  bool exclusive = false;
  bool reverse = false;
  /// The function scans one block of a row: the carry starts at 0 in each (nested_carry.h). Its argument is the base,
  /// which it adds to each result. It returns the block's own total.
  bool is_block = false;

  int lane_bits() const { return size_bytes(dtype) == 8 ? 64 : 32; }
};

ScanLanes scan_lanes_of(const ScanDescriptor&);

/// What a lane holds of an empty reduction: the carry into the first element.
std::int64_t scan_identity(const ScanLanes&);

/// The bytes of a part's total, which is what a lane holds.
std::int64_t scan_total_bytes(const ScanDescriptor&);

/// Whether results may bypass the caches, which needs elements as wide as lanes.
bool can_stream(const ScanLanes&);

// What each microkernel does: src/hal/host/routines/microkernels.inc.

/// `streams`: whole vectors bypass the caches.
MicrokernelCode<ScanElements> scan_function(IsaLevel, const ScanLanes&, bool streams);
/// The total of elements, or of other totals, in any order; writes nothing.
MicrokernelCode<ScanElements> scan_total_function(IsaLevel, const ScanLanes&, bool of_totals);

}  // namespace millrace
