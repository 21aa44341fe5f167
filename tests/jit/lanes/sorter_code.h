// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "hal/host/routines/row_sorter.h"
#include "jit/lanes/merge_leaves.h"
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
    const LaneKeys keys = {lane_bits == 64 ? DType::kI64 : DType::kI32};
    for (std::size_t i = 0; i < RowSorterCode::kNumFew; ++i) {
      few_results_.emplace_back(sort_few_results_function(isa, keys, SortResult::kValues, 1 << i), tuning);
      writer_.sort_few[i] = few_results_[i].as<SortFew>();
    }
    for (std::size_t i = 0; i < RowSorterCode::kNumMerges; ++i) {
      const int num_vectors = RowSorterCode::kMergedVectors[i];
      writer_.merge_few[i] =
          less_.emplace_back(merge_few_results_function(isa, keys, SortResult::kValues, num_vectors), tuning)
              .as<MergeFew>();
    }
    writer_.write = less_.emplace_back(write_values_function(isa, keys), tuning).as<WriteFromKeys>();
    writer_.result_bytes = lane_bits / 8;
  }
  const RowSorterCode& code() const { return code_; }
  /// Writes the keys themselves.
  const SortedWriter& writer() const { return writer_; }

 private:
  std::vector<LaneCode> few_, few_results_, less_;
  RowSorterCode code_{};
  SortedWriter writer_{};
};

}  // namespace millrace
