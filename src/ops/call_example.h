// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/ops/op.h"

namespace millrace {

/// A call as the tables of ops and composites write it, with types after the operands:
/// "%values, %indices = topk(%x: f32[4x8]) {k = 3}".
struct CallExample {
  struct Operand {
    std::string_view name, type;  // "%x", "f32[4x8]"
  };
  std::vector<std::string_view> results;  // "%values", "%indices"
  std::string_view called;
  std::vector<Operand> operands;
  std::string_view attributes;  // "{k = 3}", or empty
};

/// Splits the text, which must outlive the result.
CallExample parse_call_example(std::string_view text);

/// The op's example call. The rows of elementwise ops without attributes have none, so this function makes one.
std::string call_example_text(Op);

/// How many operands a call takes.
struct OperandCount {
  std::size_t minimum = 0, maximum = 0;  // SIZE_MAX: any number
  bool contains(std::size_t count) const { return count >= minimum && count <= maximum; }
};
OperandCount operand_count(Op);

/// The message about a wrong number of operands in a call like the example; empty if the number is right.
///   "1 operand, expected 2 (x, y); pass the missing y"
std::string operand_count_problem(const CallExample&, OperandCount, std::size_t found);

}  // namespace millrace
