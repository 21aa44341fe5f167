// SPDX-License-Identifier: Apache-2.0
// GLOBAL, FLAT and SCRATCH instructions. FLAT addresses count as addresses of global memory, because nothing here makes
// addresses of the other segments.
// Source: RDNA 3 ISA, 11 "Global, Scratch and Flat Address Space" and 16.20; CDNA 4 ISA, 12.15; LLVM's "User Guide for
// AMDGPU Backend", "Memory Spaces".
#include <deque>
#include <string>

#include <fmt/format.h>

#include "isa/decode.h"
#include "isa/instructions/memory_lanes.h"

namespace millrace::isa {
namespace {

Segment segment_of(std::string_view name) {
  if (name.starts_with("flat_")) return Segment::kFlat;
  return name.starts_with("scratch_") ? Segment::kPrivate : Segment::kGlobal;
}

/// Decodes those of the operands vdst, vaddr, vdata and saddr that the instruction has. Without a scalar base, the
/// address has 64 bits; with one, it is a 32-bit offset. SCRATCH addresses always have 32 bits, and FLAT has no base.
Status decode_places(const InstructionText& text, const Machine& machine, bool has_result, Instruction& instruction) {
  const Row& row = *instruction.row;
  const Segment segment = segment_of(row.name);
  std::size_t next = 0;
  if (has_result) {
    MILLRACE_TRY(decode_memory_operand(text.operands[next++], row.types[kResult], machine, kResult, instruction));
  }
  // In stores, the address comes first, and the data follow.
  const std::string_view address = text.operands[next++];
  const bool has_base = segment != Segment::kFlat;
  const std::string_view base = has_base ? text.operands.back() : "off";
  const bool is_wide = segment != Segment::kPrivate && base == "off";
  MILLRACE_TRY(decode_memory_operand(address, is_wide ? Type::kB64 : Type::kB32, machine, kAddress, instruction));
  if (row.types[kData] != Type::kNone) {
    MILLRACE_TRY(decode_memory_operand(text.operands[next], row.types[kData], machine, kData, instruction));
    if (!instruction.operands[kData].is_vector()) return unimplemented("its data are not in a vector register");
  }
  if (!has_base) return {};
  const Type base_type = segment == Segment::kPrivate ? Type::kB32 : Type::kB64;
  return decode_memory_operand(base, base_type, machine, kBase, instruction);
}

Status adapt_global(const InstructionText& text, const Machine& machine, Instruction& instruction) {
  const Row& row = *instruction.row;
  const Segment segment = segment_of(row.name);
  instruction.immediate = static_cast<std::int64_t>(segment);
  const std::size_t min_operands =
      1u + (segment != Segment::kFlat) + (row.types[kData] != Type::kNone) + (row.access == AccessKind::kLoad);
  // An atomic returns the old value if the text has a register for it.
  const bool returns = row.access == AccessKind::kAtomic && text.operands.size() == min_operands + 1;
  if (text.operands.size() != min_operands && !returns) {
    return unimplemented(fmt::format("it has {} operands, expected {}", text.operands.size(), min_operands));
  }
  MILLRACE_TRY(decode_places(text, machine, returns || row.access == AccessKind::kLoad, instruction));
  if (is_into_half(row) && machine.has_accumulators) {
    return unimplemented("a load into half of a register is not modelled for GFX9");
  }
  return decode_memory_modifiers(text, instruction);
}

template <Format kFormat>
Row load() {
  return {.kind = Class::kGlobal,
          .run = &run_load<kFormat>,
          .num_results = 1,
          .types = {type_of(kFormat)},
          .adapt = &adapt_global,
          .access = AccessKind::kLoad,
          .access_bytes = kFormat.num_bytes};
}

template <Format kFormat>
Row store() {
  return {.kind = Class::kGlobal,
          .run = &run_store<kFormat>,
          .types = {Type::kNone, Type::kNone, type_of(kFormat)},
          .adapt = &adapt_global,
          .access = AccessKind::kStore,
          .access_bytes = kFormat.num_bytes};
}

template <class T, auto kOp>
Row atomic() {
  constexpr Type kType = sizeof(T) == 8 ? Type::kB64 : Type::kB32;
  return {.kind = Class::kGlobal,
          .run = &run_atomic<T, kOp>,
          .num_results = 1,
          .types = {kType, Type::kNone, kType},
          .adapt = &adapt_global,
          .access = AccessKind::kAtomic,
          .access_bytes = sizeof(T)};
}

/// The data operand of a compare-and-swap holds the new value, followed by the comparand.
template <class T>
Row compare_swap() {
  Row row = atomic<T, atomics::kCompareSecond>();
  row.types[kData] = sizeof(T) == 8 ? Type::kB128 : Type::kB64;
  return row;
}

constexpr Format kU8{1}, kI8{1, true}, kU16{2}, kI16{2, true}, kB32{4}, kB64{8}, kB96{12}, kB128{16};
constexpr Format kU8Low{1, false, Part::kWord0}, kI8Low{1, true, Part::kWord0}, kB16Low{2, false, Part::kWord0};
constexpr Format kU8High{1, false, Part::kWord1}, kI8High{1, true, Part::kWord1}, kB16High{2, false, Part::kWord1};

/// An instruction's name without the prefix of its segment.
struct Stem {
  const char* old_name;  // on GFX9 and GFX10
  const char* new_name;  // from GFX11 on
  Row row;
};

std::vector<Stem> accesses() {
  return {{"load_ubyte", "load_u8", load<kU8>()},
          {"load_sbyte", "load_i8", load<kI8>()},
          {"load_ushort", "load_u16", load<kU16>()},
          {"load_sshort", "load_i16", load<kI16>()},
          {"load_ubyte_d16", "load_d16_u8", load<kU8Low>()},
          {"load_ubyte_d16_hi", "load_d16_hi_u8", load<kU8High>()},
          {"load_sbyte_d16", "load_d16_i8", load<kI8Low>()},
          {"load_sbyte_d16_hi", "load_d16_hi_i8", load<kI8High>()},
          {"load_short_d16", "load_d16_b16", load<kB16Low>()},
          {"load_short_d16_hi", "load_d16_hi_b16", load<kB16High>()},
          {"load_dword", "load_b32", load<kB32>()},
          {"load_dwordx2", "load_b64", load<kB64>()},
          {"load_dwordx3", "load_b96", load<kB96>()},
          {"load_dwordx4", "load_b128", load<kB128>()},
          {"store_byte", "store_b8", store<kU8>()},
          {"store_short", "store_b16", store<kU16>()},
          {"store_byte_d16_hi", "store_d16_hi_b8", store<kU8High>()},
          {"store_short_d16_hi", "store_d16_hi_b16", store<kB16High>()},
          {"store_dword", "store_b32", store<kB32>()},
          {"store_dwordx2", "store_b64", store<kB64>()},
          {"store_dwordx3", "store_b96", store<kB96>()},
          {"store_dwordx4", "store_b128", store<kB128>()}};
}

std::vector<Stem> atomic_updates() {
  using namespace atomics;
  return {{"atomic_swap", "atomic_swap_b32", atomic<u32, kSwap>()},
          {"atomic_cmpswap", "atomic_cmpswap_b32", compare_swap<u32>()},
          {"atomic_add", "atomic_add_u32", atomic<u32, kAdd>()},
          {"atomic_sub", "atomic_sub_u32", atomic<u32, kSubtract>()},
          {"atomic_smin", "atomic_min_i32", atomic<i32, kMin>()},
          {"atomic_umin", "atomic_min_u32", atomic<u32, kMin>()},
          {"atomic_smax", "atomic_max_i32", atomic<i32, kMax>()},
          {"atomic_umax", "atomic_max_u32", atomic<u32, kMax>()},
          {"atomic_and", "atomic_and_b32", atomic<u32, kAnd>()},
          {"atomic_or", "atomic_or_b32", atomic<u32, kOr>()},
          {"atomic_xor", "atomic_xor_b32", atomic<u32, kXor>()},
          {"atomic_inc", "atomic_inc_u32", atomic<u32, kIncrement>()},
          {"atomic_dec", "atomic_dec_u32", atomic<u32, kDecrement>()},
          {"atomic_swap_x2", "atomic_swap_b64", atomic<u64, kSwap>()},
          {"atomic_cmpswap_x2", "atomic_cmpswap_b64", compare_swap<u64>()},
          {"atomic_add_x2", "atomic_add_u64", atomic<u64, kAdd>()},
          {"atomic_sub_x2", "atomic_sub_u64", atomic<u64, kSubtract>()},
          {"atomic_smin_x2", "atomic_min_i64", atomic<i64, kMin>()},
          {"atomic_umin_x2", "atomic_min_u64", atomic<u64, kMin>()},
          {"atomic_smax_x2", "atomic_max_i64", atomic<i64, kMax>()},
          {"atomic_umax_x2", "atomic_max_u64", atomic<u64, kMax>()},
          {"atomic_and_x2", "atomic_and_b64", atomic<u64, kAnd>()},
          {"atomic_or_x2", "atomic_or_b64", atomic<u64, kOr>()},
          {"atomic_xor_x2", "atomic_xor_b64", atomic<u64, kXor>()},
          {"atomic_inc_x2", "atomic_inc_u64", atomic<u64, kIncrement>()},
          {"atomic_dec_x2", "atomic_dec_u64", atomic<u64, kDecrement>()}};
}

/// The rows of all segments, and the names to which the rows point.
struct Table {
  std::deque<std::string> names;
  std::vector<Row> rows;

  void add(std::string_view prefix, const std::vector<Stem>& stems) {
    for (const Stem& stem : stems) {
      for (const char* name : {stem.old_name, stem.new_name}) {
        rows.push_back(stem.row);
        rows.back().name = names.emplace_back(std::string(prefix) + name).c_str();
      }
    }
  }
};

Table make_table() {
  Table table;
  for (const char* prefix : {"global_", "flat_", "scratch_"}) table.add(prefix, accesses());
  for (const char* prefix : {"global_", "flat_"}) table.add(prefix, atomic_updates());
  return table;
}

}  // namespace

std::span<const Row> global_rows() {
  static const Table kTable = make_table();
  return kTable.rows;
}

}  // namespace millrace::isa
