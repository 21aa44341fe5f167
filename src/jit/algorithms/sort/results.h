// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "jit/algorithms/rows.h"

namespace millrace {

/// The requested results of a sort as buffer arguments: values, then indices.
class SortResults {
 public:
  SortResults(MachineBuilder& b, const SortDescriptor& sort) : b_(b), sort_(sort) {
    if (sort.values) values_ = b.buffer(sort.values->name, sort.input.type.dtype, BufferAccess::kWrite);
    if (sort.indices) indices_ = b.buffer(sort.indices->name, DType::kI64, BufferAccess::kWrite);
  }

  /// Writes the input's element `index` as result `position` of a row; all are i64. Reads the value from the input
  /// again, because the key of a zero or a NaN does not determine the value.
  void write(MemoryHandle input, MachineValue row, MachineValue position, MachineValue index) {
    if (sort_.values) {
      const MachineValue from = row_start(b_, sort_.input, sort_.axis, row);
      const MachineValue value = b_.load(input, row_element(b_, sort_.input, sort_.axis, from, index));
      write_value(row, position, value);
    }
    if (sort_.indices) write_index(row, position, index);
  }

  void write_value(MachineValue row, MachineValue position, MachineValue value) {
    b_.store(values_, place(*sort_.values, row, position), value);
  }
  void write_index(MachineValue row, MachineValue position, MachineValue index) {
    b_.store(indices_, place(*sort_.indices, row, position), index);
  }

 private:
  MachineValue place(const KernelTensor& tensor, MachineValue row, MachineValue position) {
    return row_element(b_, tensor, sort_.axis, row_start(b_, tensor, sort_.axis, row), position);
  }

  MachineBuilder& b_;
  const SortDescriptor& sort_;
  MemoryHandle values_, indices_;
};

}  // namespace millrace
