// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace millrace {

/// A call as the tables of ops and composites write it, with types behind the operands:
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

/// Parts of the text, which must outlive them.
CallExample parse_call_example(std::string_view text);

/// A graph that returns each of the call's results under its name.
std::string graph_text(const CallExample&);

}  // namespace millrace
