// SPDX-License-Identifier: Apache-2.0
// What all vector memory instructions share: finding each lane's bytes, and checking the access.
#pragma once

#include <cstdint>
#include <string>

#include "isa/instructions/vector.h"
#include "isa/text.h"
#include "isa/workgroup.h"

namespace millrace::isa {

/// The positions of the operands of vector memory instructions. An instruction need not have all of these operands.
inline constexpr std::size_t kResult = 0, kAddress = 1, kData = 2, kData1 = 3, kBase = 4;

/// The memory that an instruction of Class::kGlobal accesses; stored in Instruction::immediate.
enum class Segment : std::uint8_t { kGlobal, kFlat, kPrivate };

/// The bytes that an instruction's active lanes access.
struct Places {
  std::uint64_t lanes = 0;
  std::uint64_t base = 0;    // the address of byte 0 in this process
  std::uint64_t shadow = 0;  // distance from a byte to its undefined bits; 0: bytes are always defined
  Lanes<std::uint64_t> addresses;
  // Lanes whose bytes another lane of the same instruction also stores.
  std::uint64_t overlapping_lanes = 0;
  std::array<std::uint32_t, kMaxLanes> overlapping_bytes;  // for each of these lanes, one bit per byte
};

/// Finds the places, at the address operand + `offset`. If a lane may not access its place, calls Wave::fail and
/// returns false.
bool find_places(Wave&, const Instruction&, std::int64_t offset, std::uint32_t num_bytes, AccessKind, Places&);
/// Adds the access to the memory's history. If it races, calls Wave::fail and returns false. Precondition:
/// Wave::finds_mistakes().
bool check_order(Wave&, const Instruction&, std::uint32_t num_bytes, AccessKind, Places&);
/// Fails if stored data are undefined and the memory must be defined. `bits`: the bits of each 32-bit word that are
/// stored.
bool check_stored_bits(Wave&, const Operand& data, std::uint32_t bits, const Places&);
/// Calls Wave::fail for `lanes`, which store a value where an earlier lane has stored a different one.
void fail_overlap(Wave&, const Instruction&, std::uint32_t num_bytes, const Places&, std::uint64_t lanes);
/// Counts the access, and adds it to those in flight (see begin_flight). `second` is for two-address instructions.
void finish_access(Wave&, const Instruction&, std::uint32_t num_bytes, AccessKind, const Places&,
                   const Places* second = nullptr);

/// Adds an access to those in flight, if mistakes are searched for or the dispatch is profiled.
void begin_flight(Wave&, FlightKind, const RegisterRange& result = {});
/// Counts an access, in bytes.
void count_bytes(IsaCounts&, bool is_local, AccessKind, std::uint64_t num_bytes);
/// Like check_order(), for a scalar access.
bool check_scalar_order(Wave&, const Instruction&, std::uint64_t address, std::uint32_t num_bytes);
/// Counts a scalar load, and adds it to the accesses in flight (see begin_flight).
void finish_scalar_load(Wave&, const Instruction&, std::uint64_t address, std::uint32_t num_bytes);
/// Begins a new phase in the history of the memory when all waves of a workgroup pass a barrier.
void pass_barrier(Workgroup&);

/// "reads 4 bytes at ".
std::string verb_text(AccessKind, std::uint32_t num_bytes);
/// Decodes offsets and ignores cache controls. Fails if a modifier is not modelled, and names it.
Status decode_memory_modifiers(const InstructionText&, Instruction&);
/// Whether a load writes one half of its result's register and keeps the other: its name contains d16.
bool is_into_half(const Row&);
/// Decodes an operand of a memory instruction, and notes its registers.
Status decode_memory_operand(std::string_view text, Type, const Machine&, std::size_t place, Instruction&);

}  // namespace millrace::isa
