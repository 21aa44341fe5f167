// SPDX-License-Identifier: Apache-2.0
// The (key, index) records that sorts move: packed into one u64 if key and index fit, otherwise two words.
#include "jit/algorithms/sort/records.h"

#include <limits>

namespace millrace {

RecordForm record_form_of(const SortDescriptor& sort) {
  const DType key = sort_key_dtype(sort.input.type.dtype);
  const std::int64_t n = sort.input.type.shape[sort.axis].upper_bound();
  const DType index = n <= std::numeric_limits<std::int32_t>::max() ? DType::kI32 : DType::kI64;
  const bool is_packed = key == DType::kU32 && index == DType::kI32;
  return {.key = is_packed ? DType::kU64 : key, .index = index, .is_packed = is_packed};
}

std::vector<std::int64_t> RecordForm::word_bytes() const {
  std::vector<std::int64_t> bytes{static_cast<std::int64_t>(size_bytes(key))};
  if (!is_packed) bytes.push_back(static_cast<std::int64_t>(size_bytes(index)));
  return bytes;
}

void append_record_scratch(KernelSequence& sequence, const SortDescriptor& sort, const SizeExpr& num_records,
                           std::vector<SequenceOperand>& buffers) {
  const char* names[] = {"keys", "indices"};
  const std::vector<std::int64_t> word_bytes = record_form_of(sort).word_bytes();
  for (std::size_t i = 0; i < word_bytes.size(); ++i) {
    buffers.push_back({SequenceOperand::Kind::kScratch, static_cast<std::uint32_t>(sequence.scratch.size())});
    sequence.scratch.push_back({names[i], num_records * word_bytes[i]});
  }
}

SortRecords::SortRecords(MachineBuilder& b, const SortDescriptor& sort)
    : b_(b), form_(record_form_of(sort)), stored_(sort.input.type.dtype), largest_(sort.largest) {}

MachineBuilder::Values SortRecords::words_of(const SortRecord& record) const {
  if (form_.is_packed) return {record.key};
  return {record.key, record.index};
}

SortRecord SortRecords::record_at(const MachineBuilder::Values& words, std::size_t i) const {
  return {words[i * num_words()], words[(i + 1) * num_words() - 1]};
}

SortRecord SortRecords::make(MachineValue loaded, MachineValue index) {
  const MachineValue key = sort_key(b_, loaded, stored_, largest_);
  if (!form_.is_packed) return {key, index};
  const MachineValue high = b_.shl(b_.convert(DType::kU64, key), b_.constant_int(DType::kU64, 32));
  const MachineValue packed = b_.bit_or(high, b_.convert(DType::kU64, index));
  return {packed, packed};
}

SortRecord SortRecords::last() {
  const MachineValue key = b_.constant_int(form_.key, -1);
  if (form_.is_packed) return {key, key};
  const bool is_narrow = form_.index == DType::kI32;
  return {key, b_.constant_int(form_.index, is_narrow ? std::numeric_limits<std::int32_t>::max()
                                                      : std::numeric_limits<std::int64_t>::max())};
}

SortRecord SortRecords::first() {
  const MachineValue key = b_.constant_int(form_.key, 0);
  return {key, form_.is_packed ? key : b_.constant_int(form_.index, 0)};
}

SortRecord SortRecords::after(const SortRecord& record) {
  const MachineValue next = b_.add(record.index, b_.constant_int(record.index.dtype, 1));
  return {form_.is_packed ? next : record.key, next};
}

MachineValue SortRecords::key_bits(const SortRecord& record, unsigned first, unsigned count) {
  const unsigned from = first + (form_.is_packed ? 32 : 0);
  const MachineValue low = b_.shr(record.key, b_.constant_int(record.key.dtype, from));
  const MachineValue mask = b_.constant_int(record.key.dtype, (std::int64_t{1} << count) - 1);
  return b_.convert(DType::kI64, b_.bit_and(low, mask));
}

MachineValue SortRecords::index_of(const SortRecord& record) {
  if (!form_.is_packed) return b_.convert(DType::kI64, record.index);
  return b_.convert(DType::kI64, b_.bit_and(record.key, b_.constant_int(DType::kU64, 0xffffffff)));
}

MachineValue SortRecords::is_before(const SortRecord& a, const SortRecord& c) {
  if (form_.is_packed) return b_.lt(a.key, c.key);
  return b_.bit_or(b_.lt(a.key, c.key), b_.bit_and(b_.eq(a.key, c.key), b_.lt(a.index, c.index)));
}

SortRecord SortRecords::select(MachineValue condition, const SortRecord& a, const SortRecord& c) {
  const MachineValue key = b_.select(condition, a.key, c.key);
  return {key, form_.is_packed ? key : b_.select(condition, a.index, c.index)};
}

SortRecord SortRecords::shuffle_xor(const SortRecord& record, std::uint32_t mask) {
  const MachineValue key = b_.shuffle_xor(record.key, mask);
  return {key, form_.is_packed ? key : b_.shuffle_xor(record.index, mask)};
}

RecordMemory SortRecords::in_workgroup_memory(std::uint64_t num_records) {
  RecordMemory memory;
  memory.keys = b_.workgroup_memory(form_.key, num_records, "keys");
  if (!form_.is_packed) memory.indices = b_.workgroup_memory(form_.index, num_records, "indices");
  return memory;
}

RecordMemory SortRecords::in_buffer(BufferAccess access) {
  RecordMemory memory;
  memory.keys = b_.buffer("keys", form_.key, access);
  if (!form_.is_packed) memory.indices = b_.buffer("indices", form_.index, access);
  return memory;
}

SortRecord SortRecords::load(const RecordMemory& memory, MachineValue offset) {
  const MachineValue key = b_.load(memory.keys, offset);
  return {key, form_.is_packed ? key : b_.load(memory.indices, offset)};
}

void SortRecords::store(const RecordMemory& memory, MachineValue offset, const SortRecord& record) {
  b_.store(memory.keys, offset, record.key);
  if (!form_.is_packed) b_.store(memory.indices, offset, record.index);
}

}  // namespace millrace
