// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "jit/algorithms/sort/records.h"
#include "jit/algorithms/sort/results.h"

namespace millrace {

/// Memory for two copies of a row's records, called halves. A sort with one row per workgroup moves the records from
/// one half to the other and back. Halves are numbered 0 and 1 (i64), positions 0 to n - 1.
class RowHalves {
 public:
  /// Declares the kernel's buffers: the input, the results, and scratch if `in_scratch`. Otherwise the halves are in
  /// workgroup memory, and n must be constant.
  RowHalves(MachineBuilder& b, const SortDescriptor& sort, bool in_scratch);

  MachineValue n() const { return n_; }
  SortRecords& records() { return records_; }
  SortRecord load(MachineValue half, MachineValue position) { return records_.load(memory_, place_of(half, position)); }
  void store(MachineValue half, MachineValue position, const SortRecord& record) {
    records_.store(memory_, place_of(half, position), record);
  }
  /// The record of the row's element `position`.
  SortRecord make(MachineValue position);
  /// Writes the first k records of a half as the results.
  void write_results(MachineValue half);

 private:
  MachineValue place_of(MachineValue half, MachineValue position) {
    return b_.add(b_.add(base_, b_.mul(half, n_)), position);
  }

  MachineBuilder& b_;
  const SortDescriptor& sort_;
  SortRecords records_;
  MemoryHandle input_;
  std::optional<SortResults> results_;
  RecordMemory memory_;
  MachineValue n_, row_, start_, base_;
};

/// Bytes of a row's two halves.
SizeExpr row_halves_bytes(const SortDescriptor& sort);

/// Whether workgroup memory holds `bytes`. False if `bytes` is known only at run time.
bool fits_workgroup(const SizeExpr& bytes, const TargetSpec& spec);

/// A sequence of one kernel. `kernel` must have the buffers that RowHalves declares.
Result<KernelSequence> lower_row_halves(const SortDescriptor& sort, const MachineKernel& kernel, bool in_scratch,
                                        const Target& target, const LowerOptions& options);

}  // namespace millrace
