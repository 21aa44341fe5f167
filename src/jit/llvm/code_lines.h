// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include <llvm/ADT/StringRef.h>
#include <llvm/Support/Error.h>

namespace millrace {

/// The line tables of a linked object, which LlvmLines adds.
class CodeLines {
 public:
  /// Reads the section ".debug_line"; an empty section has no tables. LLVM's own reader is not used, because LLVM 19
  /// crashes on malformed tables.
  static llvm::Expected<CodeLines> read(llvm::StringRef section);
  /// The line of the code at `address`; 0 if no table has one.
  std::uint32_t line_of(std::uint64_t address) const;

 private:
  struct Row {
    std::uint64_t address = 0;
    std::uint32_t line = 0;    // of the code from this row to the next; 0 after the end of a sequence
    std::uint32_t number = 0;  // the row's position in the section
  };
  class Reader;
  std::vector<Row> rows_;  // by address
};

}  // namespace millrace
