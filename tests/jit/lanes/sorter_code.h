// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "jit/lanes/sort_microkernels.h"
#include "tests/jit/lanes/lane_code.h"

namespace millrace {

/// The code that a sort of keys needs. Its entry is null.
class SorterCode {
 public:
  SorterCode(IsaLevel isa, int lane_bits, const CoreTuning& tuning = host_tuning()) {
    const MicrokernelSink sink = lanes_.sink(isa, tuning);
    code_ = append_sorter(sink, lane_bits);
    // Such integers are their own keys.
    writer_ = writer_of(sink, {lane_bits == 64 ? DType::kI64 : DType::kI32});
    const DType half = lane_bits == 64 ? DType::kI32 : DType::kI16;
    index_writer_ = writer_of(sink, {.dtype = half, .with_index = true, .has_short_index = lane_bits == 32});
  }
  const RowSorterCode& code() const { return code_; }
  /// Writes the keys themselves.
  const SortedWriter& writer() const { return writer_; }
  /// Writes the indices below keys of half a lane.
  const SortedWriter& index_writer() const { return index_writer_; }

 private:
  static SortedWriter writer_of(const MicrokernelSink& sink, const LaneKeys& keys) {
    SortRowsParameters p{};
    p.element_bytes = keys.lane_bits() / 8;
    p.writes_sorted = 1;
    p.has_values = !keys.with_index;
    p.has_indices = keys.with_index;
    append_sort(p, sink, keys, {.results = true});
    return p.writer;
  }

  MappedLanes lanes_;
  RowSorterCode code_;
  SortedWriter writer_, index_writer_;
};

}  // namespace millrace
