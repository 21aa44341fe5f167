// SPDX-License-Identifier: Apache-2.0
// Every op, dtype, algorithm and target as AMD GPU code. The text of its instructions is complete: LLVM's assembler
// makes the same bytes from it. The isa device executes the text.
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "assemble.h"
#include "millrace/jit/code_object.h"
#include "tests/support/gpu/gpu_emission.h"
#include "tests/support/slice.h"

namespace millrace::test {
namespace {

std::string hex(std::span<const std::byte> bytes) {
  std::string text;
  for (const std::byte byte : bytes) text += fmt::format("{:02x}", std::to_integer<unsigned>(byte));
  return text;
}

/// The object's bytes of an instruction.
std::span<const std::byte> bytes_of(const MachineCode& code, const MachineCodeInstruction& instruction) {
  for (const MachineCodeSegment& segment : code.segments) {
    if (instruction.address < segment.address) continue;
    const std::uint64_t offset = instruction.address - segment.address;
    if (offset + instruction.size_bytes > segment.bytes.size()) continue;
    return std::span(segment.bytes).subspan(offset, instruction.size_bytes);
  }
  return {};
}

/// Whether two encodings differ only in the upper half of a literal. A 16-bit instruction reads only the lower half.
/// (LLVM's assembler, too, takes 16 bits of such a literal.) LLVM's code generator writes the sign to the upper half;
/// the text has no upper half, so the assembler writes 0.
bool differ_in_unread_half(std::string_view text, std::span<const std::byte> assembled,
                           std::span<const std::byte> bytes) {
  const bool is_16_bit = text.find("_u16_") != text.npos || text.find("_i16_") != text.npos;
  if (!is_16_bit || assembled.size() != 8 || bytes.size() != 8) return false;
  const auto upper = [](std::span<const std::byte> code) { return std::to_integer<unsigned>(code[6] & code[7]); };
  const bool is_negative = (bytes[5] & std::byte{0x80}) != std::byte{0};
  return std::ranges::equal(assembled.first(6), bytes.first(6)) && is_negative && upper(bytes) == 0xff &&
         (assembled[6] | assembled[7]) == std::byte{0};
}

/// The first instruction whose text differs from its bytes; empty if all agree.
std::string find_lossy_text(const MachineCode& code, const MachineCodeKernel& kernel) {
  std::vector<std::string> lines;
  for (const MachineCodeInstruction& instruction : kernel.instructions) lines.push_back(instruction.text);
  const std::vector<AssembledLine> assembled = assemble(lines, *find_gfx_target(code.gfx), kernel.subgroup_size);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const auto bytes = bytes_of(code, kernel.instructions[i]);
    const AssembledLine& line = assembled[i];
    if (line.error.empty() && !bytes.empty() && std::ranges::equal(line.bytes, bytes)) continue;
    if (line.error.empty() && differ_in_unread_half(lines[i], line.bytes, bytes)) continue;
    return fmt::format("'{}' of {} at {:#x} for {}: assembled {}{}, expected {}", lines[i], kernel.symbol,
                       kernel.instructions[i].address, code.gfx, hex(line.bytes), line.error, hex(bytes));
  }
  return {};
}

/// Whether a kernel's instructions fill its code.
bool has_gap(const MachineCodeKernel& kernel) {
  std::uint64_t address = kernel.entry;
  for (const MachineCodeInstruction& instruction : kernel.instructions) {
    if (instruction.address != address) return true;
    address += instruction.size_bytes;
  }
  return kernel.instructions.empty();
}

/// Adds to `num_compared` the instructions that were assembled again.
std::string check_text(std::span<const std::byte> object, std::size_t& num_compared) {
  const Result<MachineCode> code = decode_code_object(object);
  if (!code.ok()) return code.status().message();
  for (const MachineCodeKernel& kernel : code->kernels) {
    if (has_gap(kernel)) return kernel.symbol + ": its instructions do not follow each other";
    std::string failure = find_lossy_text(*code, kernel);
    if (!failure.empty()) return failure;
    num_compared += kernel.instructions.size();
  }
  return code->kernels.empty() ? "no kernel" : "";
}

TEST_CASE("the matrix of ops, algorithms, dtypes and targets is emitted, and its text assembled again, by slices") {
  const Slice slice = tested_slice();
  std::size_t number = 0, num_emitted = 0, num_compared = 0;
  for (const EmitCase& row : every_emit_case()) {
    for (const GfxTarget& gfx : gfx_targets()) {
      if (!slice.has(number++)) continue;
      const std::string failure =
          emit_case(row, gfx.name, [&](auto object) { return check_text(object, num_compared); });
      CHECK_MESSAGE(failure == "", to_text(row.op), " ", to_text(row.dtype), " for ", gfx.name, ": ", failure);
      ++num_emitted;
    }
  }
  CHECK(num_compared > 0);
  MESSAGE("slice ", to_text(slice), ": ", num_emitted, " of ", number, ", ", num_compared, " instructions compared");
}

TEST_CASE("a text that differs from its bytes, or is empty, is found") {
  const auto find = [](const char* text) {
    const MachineCode code{
        .gfx = "gfx1100",
        .segments = {{.address = 0x100,
                      .memory_bytes = 4,
                      .bytes = {std::byte{0x01}, std::byte{0x03}, std::byte{0x00}, std::byte{0x7e}}}}};
    MachineCodeKernel kernel{.symbol = "k", .entry = 0x100, .subgroup_size = 32};
    kernel.instructions = {{.address = 0x100, .size_bytes = 4, .text = text}};
    return find_lossy_text(code, kernel);
  };
  CHECK(find("v_mov_b32_e32 v0, v1") == "");
  CHECK(find("v_mov_b32_e32 v0, v2") ==
        "'v_mov_b32_e32 v0, v2' of k at 0x100 for gfx1100: assembled 0203007e, expected 0103007e");
  CHECK(find("v_mov_b32_e64 v0, v1") ==
        "'v_mov_b32_e64 v0, v1' of k at 0x100 for gfx1100: assembled 000081d501010000, expected 0103007e");
  CHECK(find("v_move v0") == "'v_move v0' of k at 0x100 for gfx1100: assembled invalid instruction, expected 0103007e");
  CHECK(find("") == "'' of k at 0x100 for gfx1100: assembled , expected 0103007e");
}

TEST_CASE("only the unread half of a 16-bit instruction's literal may differ from the text") {
  const auto code = [](std::string_view digits) {
    std::vector<std::byte> bytes;
    for (std::size_t i = 0; i < digits.size(); i += 2) {
      bytes.push_back(static_cast<std::byte>(std::stoul(std::string(digits.substr(i, 2)), nullptr, 16)));
    }
    return bytes;
  };
  const auto differ = [&](const char* text, std::string_view assembled, std::string_view bytes) {
    return differ_in_unread_half(text, code(assembled), code(bytes));
  };
  constexpr const char* kCompare = "v_cmp_ne_u16_e32 vcc_lo, 0x8000, v6";
  CHECK(differ(kCompare, "ff0c5a7d00800000", "ff0c5a7d0080ffff"));
  CHECK(!differ("v_cmp_ne_u32_e32 vcc_lo, 0x8000, v6", "ff0c5a7d00800000", "ff0c5a7d0080ffff"));
  CHECK(!differ(kCompare, "ff0c5a7d00800000", "ff0c5a7d0180ffff"));  // another literal
  CHECK(!differ(kCompare, "ff0c5a7d00800000", "ff0e5a7d0080ffff"));  // another register
  CHECK(!differ(kCompare, "ff0c5a7d00100000", "ff0c5a7d0010ffff"));  // no sign
  CHECK(!differ(kCompare, "ff0c5a7d00800000", "ff0c5a7d0080fffe"));
}

}  // namespace
}  // namespace millrace::test
