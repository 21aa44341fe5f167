// SPDX-License-Identifier: Apache-2.0
// Prints lane functions as text, and parses that text.
#include <algorithm>
#include <iterator>
#include <optional>

#include <fmt/format.h>

#include "base/text/near_name.h"
#include "base/text/number.h"
#include "jit/ir/operation_text.h"
#include "jit/lanes/lane_function.h"

namespace millrace {
namespace {

constexpr std::size_t kMaxInstructions = 1 << 20;

class LaneFunctionParser {
 public:
  LaneFunctionParser(std::string_view name, std::string_view text) : text_(name, text) {}

  Result<LaneFunction> parse() {
    if (!text_.take_word("lanes")) return text_.unexpected("expected 'lanes'");
    MILLRACE_TRY_ASSIGN(function_.num_lanes, read_number<std::int32_t>(text_));
    if (!text_.take_word("x")) return text_.unexpected("expected 'x' and the lanes' type");
    const std::size_t type = text_.position();
    MILLRACE_TRY_ASSIGN(const LaneElement element, read_element_type());
    if (!element.is_signed) return text_.error(type, "expected i8, i32 or i64");
    function_.lane_bits = 8 * element.bytes;
    while (!text_.at_end()) {
      if (function_.instructions.size() == kMaxInstructions) return text_.unexpected("expected fewer instructions");
      MILLRACE_TRY(read_instruction());
    }
    return std::move(function_);
  }

 private:
  Status read_instruction() {
    const bool has_result = text_.rest().starts_with('%');
    if (has_result) {
      MILLRACE_TRY(expect(text_, "%"));
      MILLRACE_TRY(expect_number(text_, function_.instructions.size()));
      MILLRACE_TRY(expect(text_, "="));
    }
    LaneInstruction i;
    const std::size_t begin = text_.position();
    MILLRACE_TRY_ASSIGN(i.op, read_lane_op());
    if (has_result != (info_of(i.op).result != LaneResult::kNone)) {
      return text_.error(begin, fmt::format("'{}' has {} result", info_of(i.op).text, has_result ? "no" : "a"));
    }
    MILLRACE_TRY(read_fields(i));
    function_.instructions.push_back(i);
    return {};
  }

  Result<LaneOp> read_lane_op() {
    const std::size_t begin = text_.position();
    const std::string_view name = text_.take_name();
    const auto* const row = std::ranges::find(lane_table::kRows, name, &LaneOpInfo::text);
    if (row != std::end(lane_table::kRows)) return static_cast<LaneOp>(row - std::begin(lane_table::kRows));
    text_.move_to(begin);
    return text_.unexpected("expected a lane op");
  }

  Status read_fields(LaneInstruction& i) {
    if (uses(i.op, lane_table::kA | lane_table::kMaskA) ||
        (uses(i.op, lane_table::kAIfMasked) && text_.rest().starts_with('%'))) {
      MILLRACE_TRY_ASSIGN(i.a, read_lane_value());
    }
    if (uses(i.op, lane_table::kB | lane_table::kMaskB)) {
      MILLRACE_TRY_ASSIGN(i.b, read_lane_value());
    }
    if (uses(i.op, lane_table::kPointer | lane_table::kInteger) ||
        (uses(i.op, lane_table::kIntegerOrNot) && text_.rest().starts_with("arg"))) {
      MILLRACE_TRY_ASSIGN(i.argument, read_argument());
    }
    if (uses(i.op, lane_table::kPointer)) {
      MILLRACE_TRY_ASSIGN(i.offset_bytes, read_offset());
    }
    if (uses(i.op, lane_table::kBy)) {
      if (!text_.take_word("by")) return text_.unexpected("expected 'by'");
      MILLRACE_TRY_ASSIGN(i.by, read_argument());
    }
    if (uses(i.op, lane_table::kAtPointer)) {
      if (!text_.take_word("at")) return text_.unexpected("expected 'at'");
      MILLRACE_TRY_ASSIGN(i.by, read_argument());
      MILLRACE_TRY_ASSIGN(i.offset_bytes, read_offset());
    }
    if (uses(i.op, lane_table::kMaskedBy | lane_table::kMaskOrNot)) {
      if (text_.take_word("where")) {
        MILLRACE_TRY_ASSIGN(i.mask, read_lane_value());
      } else if (uses(i.op, lane_table::kMaskedBy)) {
        return text_.unexpected("expected 'where' and a mask");
      }
    }
    if (uses(i.op, lane_table::kElement)) {
      MILLRACE_TRY_ASSIGN(i.element, read_element_type());
    }
    if (uses(i.op, lane_table::kAnyKindOfImm)) {
      MILLRACE_TRY_ASSIGN(i.imm, read_number<std::int64_t>(text_));
    }
    return {};
  }

  Result<LaneValue> read_lane_value() {
    const std::size_t begin = text_.position();
    MILLRACE_TRY_ASSIGN(const std::uint32_t number, read_value(text_));
    if (number < kMaxInstructions) return static_cast<LaneValue>(number);
    return text_.error(begin, "expected a smaller number");
  }

  /// "arg3"
  Result<int> read_argument() {
    const std::size_t begin = text_.position();
    const std::string_view name = text_.take_name();
    if (name.size() == 4 && name.starts_with("arg") && name[3] >= '0' && name[3] <= '9') {
      return name[3] - '0';
    }
    text_.move_to(begin);
    return text_.unexpected("expected an argument, such as 'arg0'");
  }

  /// "+64", "-64"
  Result<std::int32_t> read_offset() {
    if (!text_.take("+") && !text_.rest().starts_with('-')) return text_.unexpected("expected an offset, such as '+0'");
    return read_number<std::int32_t>(text_);
  }

  /// "i32", "u8"
  Result<LaneElement> read_element_type() {
    const std::size_t begin = text_.position();
    const std::string_view name = text_.take_name();
    for (const std::uint8_t bytes : {1, 2, 4, 8}) {
      for (const bool is_signed : {false, true}) {
        if (name == fmt::format("{}{}", is_signed ? 'i' : 'u', 8 * bytes)) return LaneElement{bytes, is_signed};
      }
    }
    text_.move_to(begin);
    return text_.unexpected("expected an integer type");
  }

  TextReader text_;
  LaneFunction function_;
};

}  // namespace

std::string to_text(const LaneFunction& function) {
  std::string text = fmt::format("lanes {} x i{}\n", function.num_lanes, function.lane_bits);
  const auto append = [&]<class... Args>(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(text), format, std::forward<Args>(args)...);
  };
  for (std::size_t at = 0; at < function.instructions.size(); ++at) {
    const LaneInstruction& i = function.instructions[at];
    const LaneOp op = i.op;
    text += "  ";
    if (info_of(op).result != LaneResult::kNone) append("%{} = ", at);
    text += info_of(op).text;
    for (const LaneValue operand : {i.a, i.b}) {
      if (operand != kNoLaneValue) append(" %{}", operand);
    }
    if (i.argument >= 0) append(" arg{}", i.argument);
    if (uses(op, lane_table::kPointer)) append("{:+}", i.offset_bytes);
    if (uses(op, lane_table::kBy)) append(" by arg{}", i.by);
    if (uses(op, lane_table::kAtPointer)) append(" at arg{}{:+}", i.by, i.offset_bytes);
    if (i.mask != kNoLaneValue) append(" where %{}", i.mask);
    if (uses(op, lane_table::kElement)) append(" {}{}", i.element.is_signed ? 'i' : 'u', 8 * i.element.bytes);
    if (uses(op, lane_table::kAnyKindOfImm)) append(" {}", i.imm);
    text += '\n';
  }
  return text;
}

Result<LaneFunction> parse_lane_function(std::string_view text, std::string_view name) {
  return LaneFunctionParser(name, text).parse();
}

}  // namespace millrace
