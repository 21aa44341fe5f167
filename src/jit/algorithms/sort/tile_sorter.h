// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <vector>

#include "jit/algorithms/size_margin.h"
#include "jit/algorithms/sort/records.h"

namespace millrace {

/// The threads of a workgroup, as the target runs them.
struct WorkgroupThreads {
  std::uint32_t num_threads = 0;
  std::uint32_t subgroup_size = 0;
};

/// `run` is the number of neighbouring records that are sorted together. `num_records` is the number of records of the
/// workgroup, at least two per thread.
struct TileExtents {
  PowerOfTwo run;
  PowerOfTwo num_records;
};

/// Bitonic sorting networks. Exchanges between threads of a subgroup use registers, those over longer distances
/// workgroup memory. Each exchange leaves the smaller record at the lower place. The first step of a merge compares
/// each place with its mirror image, so no run has to be in descending order. O(n log^2 n) exchanges.
/// Source: Batcher, "Sorting networks and their applications", AFIPS 1968; mirrored as in Knuth 5.3.4, exercise 10.
class TileSorter {
 public:
  /// Preconditions: set_workgroup was called, and all threads take part.
  TileSorter(MachineBuilder& b, SortRecords& records, const WorkgroupThreads& threads, const TileExtents& extents);

  /// Sorts runs of neighbouring threads' records. Precondition: a run is at most a subgroup.
  SortRecord sort_lanes(SortRecord mine) { return sort_lanes(mine, 1); }

  /// Sorts the runs in memory. `fill(i)` returns the initial record at place i (i32). Each thread fills the places of
  /// its own share, so it can read them afterwards without a barrier.
  void sort(const RecordMemory& memory, const std::function<SortRecord(MachineValue)>& fill);

 private:
  /// Exchanges records with the thread whose id is this thread's id xor `mask`.
  SortRecord exchange_lanes(const SortRecord& mine, std::uint32_t mask);
  /// Makes the exchanges at the distances `distance`, `distance` / 2, ..., 1.
  SortRecord merge_lanes(SortRecord mine, std::uint32_t distance);
  /// Merges pairs of sorted runs of 2^(stage - 1) threads, then pairs of the results, and so on up to a subgroup or a
  /// whole run.
  SortRecord sort_lanes(SortRecord mine, std::size_t stage);
  void exchange_places(const RecordMemory&, MachineValue pair, MachineValue bit, MachineValue is_first);

  MachineBuilder& b_;
  SortRecords& records_;
  WorkgroupThreads threads_;
  TileExtents extents_;
  MachineValue lane_;
  std::size_t num_lane_stages_;
  std::vector<MachineValue> has_stage_;  // by stage, from 1; only if the run size is bound at run time
};

}  // namespace millrace
