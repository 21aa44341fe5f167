// SPDX-License-Identifier: Apache-2.0
// DS instructions that access the group segment.
// Source: RDNA 3 ISA, 12.5 "Data Share Indexed and Atomic Access" and 16.15 "LDS & GDS"; CDNA 4 ISA, 12.12 "LDS".
#include <fmt/format.h>

#include "isa/decode.h"
#include "isa/instructions/memory_lanes.h"

namespace millrace::isa {
namespace {

/// Loads from two places. Their offsets count elements or groups of 64 elements.
template <Format kFormat>
void run_load_two(Wave& wave, const Instruction& instruction) {
  Places first, second;
  const Modifiers& modifiers = instruction.modifiers;
  constexpr std::uint32_t kBytes = kFormat.num_bytes;
  if (!find_places(wave, instruction, modifiers.offset, kBytes, AccessKind::kLoad, first)) return;
  if (!find_places(wave, instruction, modifiers.offset1, kBytes, AccessKind::kLoad, second)) return;
  if (wave.finds_mistakes()) {
    if (!check_order(wave, instruction, kBytes, AccessKind::kLoad, first)) return;
    if (!check_order(wave, instruction, kBytes, AccessKind::kLoad, second)) return;
  }
  const std::uint32_t result = instruction.operands[kResult].first;
  load_words<kFormat>(wave, first, result);
  load_words<kFormat>(wave, second, result + kFormat.num_words());
  finish_access(wave, instruction, kBytes, AccessKind::kLoad, first, &second);
}

template <Format kFormat>
void run_store_two(Wave& wave, const Instruction& instruction) {
  Places first, second;
  const Modifiers& modifiers = instruction.modifiers;
  const Operand& data = instruction.operands[kData];
  const Operand& data1 = instruction.operands[kData1];
  if (!find_places(wave, instruction, modifiers.offset, kFormat.num_bytes, AccessKind::kStore, first)) return;
  if (!find_places(wave, instruction, modifiers.offset1, kFormat.num_bytes, AccessKind::kStore, second)) return;
  if (!check_store<kFormat>(wave, instruction, data, first)) return;
  if (!check_store<kFormat>(wave, instruction, data1, second)) return;
  store_words<kFormat>(wave, instruction, data, first);
  store_words<kFormat>(wave, instruction, data1, second);
  finish_access(wave, instruction, kFormat.num_bytes, AccessKind::kStore, first, &second);
}

bool has_two_addresses(std::string_view name) {
  return name.starts_with("ds_read2") || name.starts_with("ds_write2") || name.find("_2addr_") != name.npos;
}

Status adapt_local(const InstructionText& text, const Machine& machine, Instruction& instruction) {
  const Row& row = *instruction.row;
  if (text.find("gds") != nullptr) return unimplemented("global data share is not modelled");
  std::size_t next = 0;
  for (std::size_t place = kResult; place <= kData1; ++place) {
    if (row.types[place] == Type::kNone) continue;
    if (next >= text.operands.size()) return unimplemented("it has too few operands");
    MILLRACE_TRY(decode_memory_operand(text.operands[next++], row.types[place], machine, place, instruction));
    if (!instruction.operands[place].is_vector()) {
      return unimplemented(fmt::format("operand '{}' is not modelled", text.operands[next - 1]));
    }
  }
  if (next != text.operands.size()) return unimplemented("it has too many operands");
  if (row.types[kResult] != Type::kNone && is_into_half(row) && machine.has_accumulators) {
    return unimplemented("a load into half of a register is not modelled for GFX9");
  }
  MILLRACE_TRY(decode_memory_modifiers(text, instruction));
  if (const std::string_view name = row.name; has_two_addresses(name)) {
    const bool is_far = name.find("st64") != name.npos || name.find("stride64") != name.npos;
    const std::int64_t unit = row.access_bytes * (is_far ? 64 : 1);
    instruction.modifiers.offset *= unit;
    instruction.modifiers.offset1 *= unit;
  }
  return {};
}

template <Format kFormat>
constexpr Row load(const char* name) {
  return {.name = name,
          .kind = Class::kLocal,
          .run = &run_load<kFormat>,
          .num_results = 1,
          .types = {type_of(kFormat), Type::kB32},
          .adapt = &adapt_local,
          .access = AccessKind::kLoad,
          .access_bytes = kFormat.num_bytes};
}

template <Format kFormat>
constexpr Row load_two(const char* name) {
  Row row = load<kFormat>(name);
  row.run = &run_load_two<kFormat>;
  row.types[kResult] = kFormat.num_bytes == 4 ? Type::kB64 : Type::kB128;
  return row;
}

template <Format kFormat>
constexpr Row store(const char* name) {
  return {.name = name,
          .kind = Class::kLocal,
          .run = &run_store<kFormat>,
          .types = {Type::kNone, Type::kB32, type_of(kFormat)},
          .adapt = &adapt_local,
          .access = AccessKind::kStore,
          .access_bytes = kFormat.num_bytes};
}

template <Format kFormat>
constexpr Row store_two(const char* name) {
  Row row = store<kFormat>(name);
  row.run = &run_store_two<kFormat>;
  row.types[kData1] = row.types[kData];
  return row;
}

template <class T, auto kOp>
constexpr Row atomic(const char* name) {
  return {.name = name,
          .kind = Class::kLocal,
          .run = &run_atomic<T, kOp>,
          .types = {Type::kNone, Type::kB32, sizeof(T) == 8 ? Type::kB64 : Type::kB32},
          .adapt = &adapt_local,
          .access = AccessKind::kAtomic,
          .access_bytes = sizeof(T)};
}

template <class T, auto kOp>
constexpr Row returning(const char* name) {
  Row row = atomic<T, kOp>(name);
  row.num_results = 1;
  row.types[kResult] = row.types[kData];
  return row;
}

constexpr Row with_two_data(Row row) {
  row.types[kData1] = row.types[kData];
  return row;
}

constexpr Format kU8{1}, kI8{1, true}, kU16{2}, kI16{2, true}, kB32{4}, kB64{8}, kB96{12}, kB128{16};
constexpr Format kU8Low{1, false, Part::kWord0}, kI8Low{1, true, Part::kWord0}, kB16Low{2, false, Part::kWord0};
constexpr Format kU8High{1, false, Part::kWord1}, kI8High{1, true, Part::kWord1}, kB16High{2, false, Part::kWord1};

using namespace atomics;

// The spellings of GFX9 and GFX10, then those from GFX11 on.
constexpr Row kRows[] = {
    load<kU8>("ds_read_u8"),
    load<kU8>("ds_load_u8"),
    load<kI8>("ds_read_i8"),
    load<kI8>("ds_load_i8"),
    load<kU16>("ds_read_u16"),
    load<kU16>("ds_load_u16"),
    load<kI16>("ds_read_i16"),
    load<kI16>("ds_load_i16"),
    load<kU8Low>("ds_read_u8_d16"),
    load<kU8Low>("ds_load_u8_d16"),
    load<kU8High>("ds_read_u8_d16_hi"),
    load<kU8High>("ds_load_u8_d16_hi"),
    load<kI8Low>("ds_read_i8_d16"),
    load<kI8Low>("ds_load_i8_d16"),
    load<kI8High>("ds_read_i8_d16_hi"),
    load<kI8High>("ds_load_i8_d16_hi"),
    load<kB16Low>("ds_read_u16_d16"),
    load<kB16Low>("ds_load_u16_d16"),
    load<kB16High>("ds_read_u16_d16_hi"),
    load<kB16High>("ds_load_u16_d16_hi"),
    load<kB32>("ds_read_b32"),
    load<kB32>("ds_load_b32"),
    load<kB64>("ds_read_b64"),
    load<kB64>("ds_load_b64"),
    load<kB96>("ds_read_b96"),
    load<kB96>("ds_load_b96"),
    load<kB128>("ds_read_b128"),
    load<kB128>("ds_load_b128"),
    load_two<kB32>("ds_read2_b32"),
    load_two<kB32>("ds_load_2addr_b32"),
    load_two<kB64>("ds_read2_b64"),
    load_two<kB64>("ds_load_2addr_b64"),
    load_two<kB32>("ds_read2st64_b32"),
    load_two<kB32>("ds_load_2addr_stride64_b32"),
    load_two<kB64>("ds_read2st64_b64"),
    load_two<kB64>("ds_load_2addr_stride64_b64"),

    store<kU8>("ds_write_b8"),
    store<kU8>("ds_store_b8"),
    store<kU16>("ds_write_b16"),
    store<kU16>("ds_store_b16"),
    store<kU8High>("ds_write_b8_d16_hi"),
    store<kU8High>("ds_store_b8_d16_hi"),
    store<kB16High>("ds_write_b16_d16_hi"),
    store<kB16High>("ds_store_b16_d16_hi"),
    store<kB32>("ds_write_b32"),
    store<kB32>("ds_store_b32"),
    store<kB64>("ds_write_b64"),
    store<kB64>("ds_store_b64"),
    store<kB96>("ds_write_b96"),
    store<kB96>("ds_store_b96"),
    store<kB128>("ds_write_b128"),
    store<kB128>("ds_store_b128"),
    store_two<kB32>("ds_write2_b32"),
    store_two<kB32>("ds_store_2addr_b32"),
    store_two<kB64>("ds_write2_b64"),
    store_two<kB64>("ds_store_2addr_b64"),
    store_two<kB32>("ds_write2st64_b32"),
    store_two<kB32>("ds_store_2addr_stride64_b32"),
    store_two<kB64>("ds_write2st64_b64"),
    store_two<kB64>("ds_store_2addr_stride64_b64"),

    atomic<u32, kAdd>("ds_add_u32"),
    returning<u32, kAdd>("ds_add_rtn_u32"),
    atomic<u32, kSubtract>("ds_sub_u32"),
    returning<u32, kSubtract>("ds_sub_rtn_u32"),
    atomic<u32, kSubtractFrom>("ds_rsub_u32"),
    returning<u32, kSubtractFrom>("ds_rsub_rtn_u32"),
    atomic<u32, kIncrement>("ds_inc_u32"),
    returning<u32, kIncrement>("ds_inc_rtn_u32"),
    atomic<u32, kDecrement>("ds_dec_u32"),
    returning<u32, kDecrement>("ds_dec_rtn_u32"),
    atomic<i32, kMin>("ds_min_i32"),
    returning<i32, kMin>("ds_min_rtn_i32"),
    atomic<i32, kMax>("ds_max_i32"),
    returning<i32, kMax>("ds_max_rtn_i32"),
    atomic<u32, kMin>("ds_min_u32"),
    returning<u32, kMin>("ds_min_rtn_u32"),
    atomic<u32, kMax>("ds_max_u32"),
    returning<u32, kMax>("ds_max_rtn_u32"),
    atomic<u32, kAnd>("ds_and_b32"),
    returning<u32, kAnd>("ds_and_rtn_b32"),
    atomic<u32, kOr>("ds_or_b32"),
    returning<u32, kOr>("ds_or_rtn_b32"),
    atomic<u32, kXor>("ds_xor_b32"),
    returning<u32, kXor>("ds_xor_rtn_b32"),
    returning<u32, kSwap>("ds_wrxchg_rtn_b32"),
    returning<u32, kSwap>("ds_storexchg_rtn_b32"),
    // GFX11 swaps the operands: the new value comes first.
    with_two_data(atomic<u32, kCompareFirst>("ds_cmpst_b32")),
    with_two_data(returning<u32, kCompareFirst>("ds_cmpst_rtn_b32")),
    with_two_data(atomic<u32, kCompareSecond>("ds_cmpstore_b32")),
    with_two_data(returning<u32, kCompareSecond>("ds_cmpstore_rtn_b32")),

    atomic<u64, kAdd>("ds_add_u64"),
    returning<u64, kAdd>("ds_add_rtn_u64"),
    atomic<u64, kSubtract>("ds_sub_u64"),
    returning<u64, kSubtract>("ds_sub_rtn_u64"),
    atomic<u64, kSubtractFrom>("ds_rsub_u64"),
    returning<u64, kSubtractFrom>("ds_rsub_rtn_u64"),
    atomic<u64, kIncrement>("ds_inc_u64"),
    returning<u64, kIncrement>("ds_inc_rtn_u64"),
    atomic<u64, kDecrement>("ds_dec_u64"),
    returning<u64, kDecrement>("ds_dec_rtn_u64"),
    atomic<i64, kMin>("ds_min_i64"),
    returning<i64, kMin>("ds_min_rtn_i64"),
    atomic<i64, kMax>("ds_max_i64"),
    returning<i64, kMax>("ds_max_rtn_i64"),
    atomic<u64, kMin>("ds_min_u64"),
    returning<u64, kMin>("ds_min_rtn_u64"),
    atomic<u64, kMax>("ds_max_u64"),
    returning<u64, kMax>("ds_max_rtn_u64"),
    atomic<u64, kAnd>("ds_and_b64"),
    returning<u64, kAnd>("ds_and_rtn_b64"),
    atomic<u64, kOr>("ds_or_b64"),
    returning<u64, kOr>("ds_or_rtn_b64"),
    atomic<u64, kXor>("ds_xor_b64"),
    returning<u64, kXor>("ds_xor_rtn_b64"),
    returning<u64, kSwap>("ds_wrxchg_rtn_b64"),
    returning<u64, kSwap>("ds_storexchg_rtn_b64"),
    with_two_data(atomic<u64, kCompareFirst>("ds_cmpst_b64")),
    with_two_data(returning<u64, kCompareFirst>("ds_cmpst_rtn_b64")),
    with_two_data(atomic<u64, kCompareSecond>("ds_cmpstore_b64")),
    with_two_data(returning<u64, kCompareSecond>("ds_cmpstore_rtn_b64")),
};

}  // namespace

std::span<const Row> local_rows() { return kRows; }

}  // namespace millrace::isa
