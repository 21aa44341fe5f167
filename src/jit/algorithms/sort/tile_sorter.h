// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <vector>

#include "jit/algorithms/size_margin.h"
#include "jit/algorithms/sort/records.h"

namespace millrace {

/// Threads of a workgroup, as the target runs them.
struct WorkgroupThreads {
  std::uint32_t num_threads = 0;
  std::uint32_t subgroup_size = 0;
};

/// Neighbouring records that are sorted together, and all records of a workgroup: two a thread or more.
struct TileExtents {
  PowerOfTwo run;
  PowerOfTwo num_records;
};

/// Bitonic sorting networks: between the lanes of a subgroup in registers, beyond in workgroup memory. Each exchange
/// leaves the lesser record at the lower place: the first step of a merge compares with the mirrored place, so that no
/// run has to descend.
/// Source: Batcher, "Sorting networks and their applications", AFIPS 1968; mirrored as in Knuth 5.3.4, exercise 10.
class TileSorter {
 public:
  /// After set_workgroup; all threads are there.
  TileSorter(MachineBuilder& b, SortRecords& records, const WorkgroupThreads& threads, const TileExtents& extents);

  /// Sorts the runs of neighbouring lanes, where a run is at most a subgroup.
  SortRecord sort_lanes(SortRecord mine) { return sort_lanes(mine, 1); }

  /// Sorts the runs in memory. `fill(i)` gives what stands at place i (i32) before. A thread fills, and afterwards may
  /// read without a barrier, the places of its own share.
  void sort(const RecordMemory& memory, const std::function<SortRecord(MachineValue)>& fill);

 private:
  /// With the lane whose number differs by `mask`.
  SortRecord exchange_lanes(const SortRecord& mine, std::uint32_t mask);
  /// Steps at distances `distance`, half of it, ... 1.
  SortRecord merge_lanes(SortRecord mine, std::uint32_t distance);
  /// Merges runs of 2^(stage - 1) lanes, and what they become, up to those of a subgroup or the run.
  SortRecord sort_lanes(SortRecord mine, std::size_t stage);
  void exchange_places(const RecordMemory&, MachineValue pair, MachineValue bit, MachineValue is_first);

  MachineBuilder& b_;
  SortRecords& records_;
  WorkgroupThreads threads_;
  TileExtents extents_;
  MachineValue lane_;
  std::size_t num_lane_stages_;
  std::vector<MachineValue> has_stage_;  // by stage from 1 on, where a run decides
};

}  // namespace millrace
