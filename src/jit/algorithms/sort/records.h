// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "jit/algorithms/sort/key.h"
#include "millrace/jit/algorithm.h"

namespace millrace {

/// The key of an element, by which records are ordered, and the element's index in its row, which breaks ties.
struct SortRecord {
  MachineValue key;    // if packed, the index is in its low bits
  MachineValue index;  // if packed, the same value as `key`
};

/// The memory that holds records.
struct RecordMemory {
  MemoryHandle keys;
  MemoryHandle indices;  // unused if packed
};

/// How a record is stored: in one u64 if key and index have 32 bits each, otherwise in two words.
struct RecordForm {
  DType key = DType::kU64;
  DType index = DType::kI32;  // i64 if i32 cannot count a row's elements
  bool is_packed = true;
  /// The bytes of each word.
  std::vector<std::int64_t> word_bytes() const;
};
RecordForm record_form_of(const SortDescriptor& sort);

/// Adds scratch buffers for `num_records` records, and appends them to `buffers` in the order in which
/// SortRecords::in_buffer() declares them.
void append_record_scratch(KernelSequence& sequence, const SortDescriptor& sort, const SizeExpr& num_records,
                           std::vector<SequenceOperand>& buffers);

/// Operations on the records of a sort.
class SortRecords {
 public:
  SortRecords(MachineBuilder& b, const SortDescriptor& sort);

  DType index_dtype() const { return form_.index; }

  /// The record of a loaded element at `index` (index_dtype) of its row.
  SortRecord make(MachineValue loaded, MachineValue index);
  /// A record that sorts after every element's record. It pads tiles.
  SortRecord last();
  /// A record that sorts before every element's record, or equal to it.
  SortRecord first();
  /// The smallest record that sorts after the given one.
  SortRecord after(const SortRecord&);
  /// Bits [first, first + count) of the key, as i64.
  MachineValue key_bits(const SortRecord&, unsigned first, unsigned count);
  /// The index as i64.
  MachineValue index_of(const SortRecord&);
  MachineValue is_before(const SortRecord& a, const SortRecord& c);
  SortRecord select(MachineValue condition, const SortRecord& a, const SortRecord& c);
  SortRecord shuffle_xor(const SortRecord&, std::uint32_t mask);
  /// The result of make_record() in threads whose `condition` is true, and last() in the others.
  template <class F>
  SortRecord make_where(MachineValue condition, F&& make_record);

  /// Converts between records and the values that a loop carries. record_at() returns record `i` of several.
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
