// SPDX-License-Identifier: Apache-2.0
// SMEM instructions: loads of scalar registers.
// Source: RDNA 3 ISA, 8 "Scalar Memory Operations" and 16.6 "SMEM"; RDNA 4 ISA, 16.6, for loads of bytes and halves.
#include <cstring>

#include <fmt/format.h>

#include "isa/decode.h"
#include "isa/memory_access.h"

namespace millrace::isa {
namespace {

// Operands: the result, the base, and an offset in a register.
constexpr std::size_t kScalarBase = 1, kScalarOffset = 2;

/// `num_undefined`: the number of bytes at the end of the load that are after the arguments.
bool check_scalar_address(Wave& wave, const Instruction& instruction, std::uint64_t address,
                          std::uint32_t num_undefined) {
  const std::uint32_t num_bytes = instruction.row->access_bytes;
  for (const std::size_t place : {kScalarBase, kScalarOffset}) {
    const Operand& operand = instruction.operands[place];
    if (!wave.finds_mistakes() || !operand.is_scalar() || wave.undefined_bits(operand) == 0) continue;
    wave.fail(fmt::format("uses an undefined address from {}", register_text({false, operand.first, operand.count})));
    return false;
  }
  // The processor ignores the lowest bits of an address, so an address in which any of them is set is a mistake.
  if (address % std::min(num_bytes, 4u) != 0) {
    wave.fail(
        fmt::format("reads {} bytes at an address that is not a multiple of {}", num_bytes, std::min(num_bytes, 4u)));
    return false;
  }
  GlobalMemory& memory = wave.group.dispatch.global;
  Lanes<std::uint64_t> addresses;
  addresses.values[0] = address;
  if (memory.find_outside(addresses, 1, num_bytes - num_undefined, AccessKind::kLoad)) {
    wave.fail(verb_text(AccessKind::kLoad, num_bytes) + memory.outside_text(address, num_bytes, AccessKind::kLoad));
    return false;
  }
  return !wave.finds_mistakes() ||
         check_scalar_order(wave, instruction, GlobalMemory::host_address(address), num_bytes);
}

template <class T>
void load_small(Wave& wave, const Operand& result, const void* from) {
  T value = 0;
  std::memcpy(&value, from, sizeof(value));
  wave.write_scalar(result, static_cast<std::uint32_t>(value));
}

void run_scalar_load(Wave& wave, const Instruction& instruction) {
  const Operand& base = instruction.operands[kScalarBase];
  const Operand& offset = instruction.operands[kScalarOffset];
  const Operand& result = instruction.operands[0];
  std::uint64_t address = wave.read_scalar(base) + static_cast<std::uint64_t>(instruction.modifiers.offset);
  if (offset.is_scalar()) address += wave.read_scalar(offset);
  const std::uint32_t num_bytes = instruction.row->access_bytes;
  const std::uint32_t num_undefined = wave.group.dispatch.global.num_bytes_after_arguments(address, num_bytes);
  if (!check_scalar_address(wave, instruction, address, num_undefined)) return;
  address = GlobalMemory::host_address(address);
  const auto* from = reinterpret_cast<const std::byte*>(address);
  const bool is_signed = instruction.immediate != 0;
  if (num_bytes == 1) {
    is_signed ? load_small<std::int8_t>(wave, result, from) : load_small<std::uint8_t>(wave, result, from);
  } else if (num_bytes == 2) {
    is_signed ? load_small<std::int16_t>(wave, result, from) : load_small<std::uint16_t>(wave, result, from);
  } else {
    for (std::uint32_t i = 0; i < num_bytes / 4; ++i) {
      std::uint32_t word = 0;
      std::memcpy(&word, from + 4 * i, sizeof(word));
      const Operand scalar{
          .kind = OperandKind::kScalar, .first = static_cast<std::uint16_t>(result.first + i), .count = 1};
      const bool is_undefined = wave.finds_mistakes() && 4 * i >= num_bytes - num_undefined;
      wave.write_scalar(scalar, word, is_undefined ? ~0u : 0);
    }
  }
  finish_scalar_load(wave, instruction, address, num_bytes);
}

/// The operands: result, base and offset. The offset is a number, or a register, which "offset:" may follow.
Status adapt_scalar_load(const InstructionText& text, const Machine& machine, Instruction& instruction) {
  if (text.operands.size() != 3) {
    return unimplemented(fmt::format("it has {} operands, expected 3", text.operands.size()));
  }
  const Row& row = *instruction.row;
  MILLRACE_TRY(decode_memory_operand(text.operands[0], row.types[0], machine, 0, instruction));
  MILLRACE_TRY(decode_memory_operand(text.operands[1], Type::kB64, machine, kScalarBase, instruction));
  const Operand& result = instruction.operands[0];
  if (!result.is_scalar() || !instruction.operands[kScalarBase].is_scalar()) {
    return unimplemented("its result or base is not a scalar register");
  }
  if (result.first == kNull || result.first + result.count > kExec) return unimplemented("its result is null or EXEC");
  MILLRACE_TRY(decode_memory_modifiers(text, instruction));
  if (const std::optional<std::int64_t> offset = parse_integer(text.operands[2])) {
    instruction.modifiers.offset = *offset;
  } else {
    MILLRACE_TRY(decode_memory_operand(text.operands[2], Type::kB32, machine, kScalarOffset, instruction));
    if (instruction.operands[kScalarOffset].first == kNull) instruction.operands[kScalarOffset] = {};
  }
  instruction.immediate = row.name[7] == 'i';  // s_load_i8
  return {};
}

constexpr Row load(const char* name, std::uint8_t num_bytes, Type type) {
  return {.name = name,
          .kind = Class::kScalarLoad,
          .run = &run_scalar_load,
          .num_results = 1,
          .types = {type, Type::kB64, Type::kB32},
          .adapt = &adapt_scalar_load,
          .access = AccessKind::kLoad,
          .access_bytes = num_bytes};
}

constexpr Row kRows[] = {
    load("s_load_dword", 4, Type::kB32),   load("s_load_b32", 4, Type::kB32),
    load("s_load_dwordx2", 8, Type::kB64), load("s_load_b64", 8, Type::kB64),
    load("s_load_b96", 12, Type::kB96),    load("s_load_dwordx4", 16, Type::kB128),
    load("s_load_b128", 16, Type::kB128),  load("s_load_dwordx8", 32, Type::kB256),
    load("s_load_b256", 32, Type::kB256),  load("s_load_dwordx16", 64, Type::kB512),
    load("s_load_b512", 64, Type::kB512),  load("s_load_u8", 1, Type::kB32),
    load("s_load_i8", 1, Type::kB32),      load("s_load_u16", 2, Type::kB32),
    load("s_load_i16", 2, Type::kB32),
};

}  // namespace

std::span<const Row> scalar_load_rows() { return kRows; }

}  // namespace millrace::isa
