// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "jit/algorithms/sort/key.h"
#include "millrace/jit/algorithm.h"

namespace millrace {

/// A key that orders, and the element's index in its row, which makes records of equal keys differ.
struct SortRecord {
  MachineValue key;    // with the index below it when packed
  MachineValue index;  // the key itself when packed
};

/// Where records stand.
struct RecordMemory {
  MemoryHandle keys;
  MemoryHandle indices;  // not there when packed
};

/// One u64 while key and index have 32 bits each, else two words.
struct RecordForm {
  DType key = DType::kU64;
  DType index = DType::kI32;  // i64 where i32 does not count a row's elements
  bool is_packed = true;
  /// Bytes of each word.
  std::vector<std::int64_t> word_bytes() const;
};
RecordForm record_form_of(const SortDescriptor& sort);

/// Adds scratch for so many records, and binds it as SortRecords::in_buffer() declares it.
void append_record_scratch(KernelSequence& sequence, const SortDescriptor& sort, const SizeExpr& num_records,
                           std::vector<SequenceOperand>& buffers);

/// The records of a sort, and what is done with them.
class SortRecords {
 public:
  SortRecords(MachineBuilder& b, const SortDescriptor& sort);

  DType index_dtype() const { return form_.index; }

  /// The record of an element as loaded, number `index` (index_dtype) of its row.
  SortRecord make(MachineValue loaded, MachineValue index);
  /// Greater than any element's: what fills a tile up.
  SortRecord last();
  /// At most as great as the least element's.
  SortRecord first();
  /// The least that is greater.
  SortRecord after(const SortRecord&);
  /// i64.
  MachineValue index_of(const SortRecord&);
  MachineValue is_before(const SortRecord& a, const SortRecord& c);
  SortRecord select(MachineValue condition, const SortRecord& a, const SortRecord& c);
  SortRecord shuffle_xor(const SortRecord&, std::uint32_t mask);
  /// The record of those threads whose `condition` holds, last() of the others.
  template <class F>
  SortRecord make_where(MachineValue condition, F&& make_record);

  /// Records as values that a loop carries; the record number `i` among those of several.
  std::size_t num_words() const { return form_.is_packed ? 1 : 2; }
  MachineBuilder::Values words_of(const SortRecord&) const;
  SortRecord record_at(const MachineBuilder::Values& words, std::size_t i) const;

  RecordMemory in_workgroup_memory(std::uint64_t num_records);
  RecordMemory in_buffer(BufferAccess access);
  SortRecord load(const RecordMemory&, MachineValue offset);
  void store(const RecordMemory&, MachineValue offset, const SortRecord&);

 private:
  MachineBuilder& b_;
  RecordForm form_;
  DType stored_;
  bool largest_;
};

template <class F>
SortRecord SortRecords::make_where(MachineValue condition, F&& make_record) {
  return record_at(b_.if_else(condition, [&] { return words_of(make_record()); }, [&] { return words_of(last()); }), 0);
}

}  // namespace millrace
