// SPDX-License-Identifier: Apache-2.0
// Source: the DWARF 5 standard, section 6.2, "Line Number Information".
#include "jit/llvm/code_lines.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <llvm/BinaryFormat/Dwarf.h>
#include <llvm/Support/DataExtractor.h>

namespace millrace {
namespace {

llvm::Error failure(std::uint64_t offset, const std::string& what) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(),
                                 fmt::format("line table at byte {}: {}", offset, what));
}

/// The fields of a table's header that its line-number program needs. Files and directories do not matter, because a
/// kernel's text is one file.
struct Header {
  std::uint64_t end = 0;               // the offset in the section at which the table ends
  std::uint64_t program = 0;           // the offset of the line-number program
  std::uint8_t instruction_bytes = 0;  // size of the smallest instruction: the unit in which addresses advance
  std::int8_t line_base = 0;
  std::uint8_t line_range = 0;
  std::uint8_t opcode_base = 0;
  std::vector<std::uint8_t> num_operands = {};  // [i] is the number for standard opcode i + 1
};

llvm::Expected<Header> read_header(const llvm::DataExtractor& section, std::uint64_t begin) {
  llvm::DataExtractor::Cursor at(begin);
  Header header;
  const std::uint32_t table_bytes =
      section.getU32(at);  // tables of 4 GiB or more begin with 0xffffffff and are rejected
  header.end = at.tell() + table_bytes;
  const std::uint16_t version = section.getU16(at);
  section.skip(at, 2);  // the sizes of an address and of a segment selector
  const std::uint32_t header_bytes = section.getU32(at);
  header.program = at.tell() + header_bytes;
  header.instruction_bytes = section.getU8(at);
  const std::uint8_t num_parallel = section.getU8(at);
  section.skip(at, 1);  // whether rows begin a statement
  header.line_base = static_cast<std::int8_t>(section.getU8(at));
  header.line_range = section.getU8(at);
  header.opcode_base = section.getU8(at);
  for (int opcode = 1; opcode < header.opcode_base; ++opcode) header.num_operands.push_back(section.getU8(at));
  if (!at) return at.takeError();
  if (version != 5) return failure(begin, fmt::format("version {}, expected 5", version));
  if (header.end > section.size() || header.program > header.end) return failure(begin, "longer than its section");
  if (num_parallel != 1 || header.line_range == 0 || header.opcode_base < 10) {
    return failure(begin, "malformed header");
  }
  return header;
}

}  // namespace

/// Runs the line-number program of one table, which appends rows.
class CodeLines::Reader {
 public:
  Reader(llvm::DataExtractor table, const Header& header, std::vector<Row>& rows)
      : table_(table), header_(header), at_(header.program), rows_(rows) {}

  llvm::Error run() {
    while (at_ && at_.tell() < table_.size()) {
      const std::uint8_t opcode = table_.getU8(at_);
      if (opcode >= header_.opcode_base) {
        advance_by(opcode);
        line_ += header_.line_base + (opcode - header_.opcode_base) % header_.line_range;
        rows_.push_back({address_, line_});
      } else if (opcode == 0) {
        run_extended();
      } else {
        run_standard(opcode);
      }
    }
    return at_.takeError();
  }

 private:
  /// Advances the address as a special opcode does.
  void advance_by(std::uint8_t opcode) {
    address_ += std::uint64_t{header_.instruction_bytes} * ((opcode - header_.opcode_base) / header_.line_range);
  }

  void run_extended() {
    using namespace llvm::dwarf;
    const std::uint64_t num_bytes = table_.getULEB128(at_), begin = at_.tell();
    if (num_bytes == 0) return;
    const std::uint8_t opcode = table_.getU8(at_);
    if (opcode == DW_LNE_end_sequence) {
      rows_.push_back({address_, 0});
      address_ = 0;
      line_ = 1;
    } else if (opcode == DW_LNE_set_address) {
      address_ = table_.getU64(at_);
    }
    if (at_ && at_.tell() - begin < num_bytes) table_.skip(at_, num_bytes - (at_.tell() - begin));
  }

  void run_standard(std::uint8_t opcode) {
    using namespace llvm::dwarf;
    switch (opcode) {
      case DW_LNS_copy:
        rows_.push_back({address_, line_});
        return;
      case DW_LNS_advance_pc:
        address_ += header_.instruction_bytes * table_.getULEB128(at_);
        return;
      case DW_LNS_advance_line:
        line_ += static_cast<std::uint32_t>(table_.getSLEB128(at_));
        return;
      case DW_LNS_const_add_pc:
        advance_by(255);
        return;
      case DW_LNS_fixed_advance_pc:
        address_ += table_.getU16(at_);
        return;
      default:
        for (int i = 0; i < header_.num_operands[opcode - 1]; ++i) table_.getULEB128(at_);
    }
  }

  llvm::DataExtractor table_;
  const Header& header_;
  llvm::DataExtractor::Cursor at_;
  std::vector<Row>& rows_;
  std::uint64_t address_ = 0;
  std::uint32_t line_ = 1;
};

llvm::Expected<CodeLines> CodeLines::read(llvm::StringRef section) {
  CodeLines lines;
  const llvm::DataExtractor tables(section, /*IsLittleEndian=*/true, /*AddressSize=*/8);
  for (std::uint64_t begin = 0; begin < section.size();) {
    auto header = read_header(tables, begin);
    if (!header) return header.takeError();
    const llvm::DataExtractor table(section.take_front(header->end), true, 8);
    if (llvm::Error error = Reader(table, *header, lines.rows_).run()) return error;
    begin = header->end;
  }
  // If rows have the same address, the last one in the section wins. The end of one kernel sorts before the beginning
  // of the next.
  for (std::size_t i = 0; i < lines.rows_.size(); ++i) lines.rows_[i].number = static_cast<std::uint32_t>(i);
  std::ranges::sort(lines.rows_, {}, [](const Row& row) { return std::tuple(row.address, row.line != 0, row.number); });
  return lines;
}

std::uint32_t CodeLines::line_of(std::uint64_t address) const {
  const auto after = std::ranges::upper_bound(rows_, address, {}, &Row::address);
  return after == rows_.begin() ? 0 : std::prev(after)->line;
}

}  // namespace millrace
