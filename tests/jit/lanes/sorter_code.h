// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "hal/host/routines/row_sorter.h"
#include "jit/lanes/merge_microkernels.h"
#include "tests/jit/lanes/lane_code.h"

namespace millrace {

/// The code that a sort of keys needs.
class SorterCode {
 public:
  SorterCode(IsaLevel isa, int lane_bits, const CoreTuning& tuning = host_tuning()) {
    for (std::size_t i = 0; i < RowSorterCode::kNumFew; ++i) {
      few_.emplace_back(sort_few_function(isa, lane_bits, 1 << i), tuning);
      code_.sort_few[i] = few_[i].as<SortFew>();
    }
    for (std::size_t i = 0; i < RowSorterCode::kNumMerges; ++i) {
      const int num_vectors = RowSorterCode::kMergedVectors[i];
      code_.merge_few[i] = less_.emplace_back(merge_few_function(isa, lane_bits, num_vectors), tuning).as<MergeFew>();
    }
    code_.exchange_halves = less_.emplace_back(exchange_halves_function(isa, lane_bits), tuning).as<ChangeKeys>();
    code_.merge_bitonic = less_.emplace_back(merge_bitonic_function(isa, lane_bits), tuning).as<ChangeKeys>();
    code_.partition_less =
        less_.emplace_back(partition_function(isa, lane_bits, PartitionAt::kLess), tuning).as<PartitionKeys>();
    code_.partition_at_most =
        less_.emplace_back(partition_function(isa, lane_bits, PartitionAt::kAtMost), tuning).as<PartitionKeys>();
    code_.num_lanes = num_lanes_of(isa, lane_bits);
    // Such integers are their own keys.
    set_writer(keys_, writer_, isa, {lane_bits == 64 ? DType::kI64 : DType::kI32}, tuning);
    const LaneKeys above_index = {
        .dtype = lane_bits == 64 ? DType::kI32 : DType::kI16, .with_index = true, .has_short_index = lane_bits == 32};
    set_writer(indices_, index_writer_, isa, above_index, tuning);
  }
  const RowSorterCode& code() const { return code_; }
  /// Writes the keys themselves.
  const SortedWriter& writer() const { return writer_; }
  /// Writes the indices below keys of half a lane.
  const SortedWriter& index_writer() const { return index_writer_; }

 private:
  static void set_writer(std::vector<LaneCode>& code, SortedWriter& writer, IsaLevel isa, const LaneKeys& keys,
                         const CoreTuning& tuning) {
    const SortResult result = keys.with_index ? SortResult::kIndices : SortResult::kValues;
    for (std::size_t i = 0; i < RowSorterCode::kNumFew; ++i) {
      writer.sort_few[i] =
          code.emplace_back(sort_few_results_function(isa, keys, result, 1 << i), tuning).as<SortFew>();
    }
    for (std::size_t i = 0; i < RowSorterCode::kNumMerges; ++i) {
      const int num_vectors = RowSorterCode::kMergedVectors[i];
      writer.merge_few[i] =
          code.emplace_back(merge_few_results_function(isa, keys, result, num_vectors), tuning).as<MergeFew>();
    }
    const LaneFunction function =
        keys.with_index ? write_indices_function(isa, keys) : write_values_function(isa, keys);
    writer.write = code.emplace_back(function, tuning).as<WriteFromKeys>();
    writer.result_bytes = keys.with_index ? static_cast<int>(sizeof(std::int64_t)) : keys.lane_bits() / 8;
    writer.writes_indices = keys.with_index;
  }

  std::vector<LaneCode> few_, less_, keys_, indices_;
  RowSorterCode code_{};
  SortedWriter writer_{}, index_writer_{};
};

}  // namespace millrace
