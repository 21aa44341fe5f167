// SPDX-License-Identifier: Apache-2.0
// Prints and reads the operations, constants and types that loop kernels and machine kernels share.
#include "jit/ir/operation_text.h"

#include <iterator>

#include <fmt/format.h>

#include "base/size_expr/reader.h"
#include "base/text/near_name.h"
#include "base/text/number.h"
#include "base/text/read_type.h"
#include "millrace/base/check.h"
#include "millrace/jit/body.h"

namespace millrace {
namespace {

Result<std::uint64_t> read_memory(TextReader& text) {
  const bool is_slot = text.take("#");
  if (!is_slot && !text.take("@")) return text.unexpected("expected '@' or '#', and the number of a buffer or slot");
  MILLRACE_TRY_ASSIGN(const auto index, read_number<std::uint32_t>(text));
  return MemoryRef{is_slot, index}.encode();
}

/// "[%3]"
Status read_bracketed(TextReader& text, std::vector<std::uint32_t>& operands) {
  MILLRACE_TRY(expect(text, "["));
  MILLRACE_TRY_ASSIGN(const std::uint32_t operand, read_value(text));
  operands.push_back(operand);
  return expect(text, "]");
}

/// Reads more operands, if any: ", %4, %5".
Status read_further(TextReader& text, std::vector<std::uint32_t>& operands) {
  while (text.rest().starts_with(',')) {
    const std::size_t comma = text.position();
    text.skip(1);
    if (!text.rest().starts_with('%')) {
      text.move_to(comma);
      return {};
    }
    MILLRACE_TRY_ASSIGN(const std::uint32_t operand, read_value(text));
    operands.push_back(operand);
  }
  return {};
}

template <class... Args>
void append(std::string& text, fmt::format_string<Args...> format, Args&&... args) {
  fmt::format_to(std::back_inserter(text), format, std::forward<Args>(args)...);
}

/// "%4, %5"
template <class Id>
void append_values(std::string& text, std::span<const Id> values) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i > 0) text += ", ";
    append_value(text, index_of(values[i]));
  }
}

}  // namespace

void append_value(std::string& text, std::uint32_t number) {
  const fmt::format_int digits(number);
  text += '%';
  text.append(digits.data(), digits.size());
}

template <DenseId Id>
void append_operation(std::string& text, KernelOp op, std::span<const Id> operands, std::uint64_t immediate,
                      DType result) {
  text += to_text(op);
  const ImmediateForm form = immediate_form(op);
  if (form == ImmediateForm::kConstant) return append(text, " {}", to_text(Scalar{result, immediate}));
  if (form == ImmediateForm::kSize) return append(text, " s{}", immediate);
  if (form == ImmediateForm::kNumber || form == ImmediateForm::kMemory) {
    text += ' ';
    text += form == ImmediateForm::kNumber ? std::to_string(immediate) : MemoryRef::decode(immediate).to_text();
    if (operands.empty()) return;
    text += '[';
    append_value(text, index_of(operands[0]));
    text += operands.size() > 1 ? "], " : "]";
    return append_values(text, operands.subspan(1));
  }
  if (!operands.empty()) text += ' ';
  append_values(text, operands);
  if (form == ImmediateForm::kLane) append(text, "[{}]", immediate);
  if (form == ImmediateForm::kLast) append(text, ", {}", immediate);
  if (form == ImmediateForm::kRarely && immediate != 0) text += ", rarely";
  MILLRACE_CHECK(form != ImmediateForm::kNone || immediate == 0);  // cache keys need all immediates in the text
}

template void append_operation(std::string&, KernelOp, std::span<const BodyValueId>, std::uint64_t, DType);
template void append_operation(std::string&, KernelOp, std::span<const MachineValueId>, std::uint64_t, DType);

Result<Operation> read_operation(TextReader& text) {
  Operation operation;
  auto& [op, operands, immediate] = operation;
  MILLRACE_TRY_ASSIGN(op, read_op(text));
  switch (immediate_form(op)) {
    case ImmediateForm::kConstant: {
      MILLRACE_TRY_ASSIGN(immediate, read_constant(text));
      break;
    }
    case ImmediateForm::kNumber: {
      MILLRACE_TRY_ASSIGN(immediate, read_number<std::uint32_t>(text));
      if (text.rest().starts_with('[')) MILLRACE_TRY(read_bracketed(text, operands));
      break;
    }
    case ImmediateForm::kMemory: {
      MILLRACE_TRY_ASSIGN(immediate, read_memory(text));
      MILLRACE_TRY(read_bracketed(text, operands));
      MILLRACE_TRY(read_further(text, operands));
      break;
    }
    case ImmediateForm::kSize: {
      if (!text.rest().starts_with('s')) return text.unexpected("expected a size argument, such as s0");
      text.skip(1);
      MILLRACE_TRY_ASSIGN(immediate, read_number<std::uint32_t>(text));
      break;
    }
    case ImmediateForm::kLane: {
      MILLRACE_TRY_ASSIGN(operands, read_operands(text));
      MILLRACE_TRY(expect(text, "["));
      MILLRACE_TRY_ASSIGN(immediate, read_number<std::uint32_t>(text));
      MILLRACE_TRY(expect(text, "]"));
      break;
    }
    case ImmediateForm::kLast: {
      MILLRACE_TRY_ASSIGN(operands, read_operands(text));
      MILLRACE_TRY(expect(text, ","));
      MILLRACE_TRY_ASSIGN(immediate, read_number<std::uint64_t>(text));
      break;
    }
    case ImmediateForm::kRarely:
    case ImmediateForm::kNone: {
      if (num_operands(op) == 0) break;  // a value after it belongs to the next line
      MILLRACE_TRY_ASSIGN(operands, read_operands(text));
      if (op == KernelOp::kSelect && text.take(",")) {
        if (!text.take_word("rarely")) return text.unexpected("expected a value or 'rarely'");
        immediate = 1;
      }
      break;
    }
  }
  return operation;
}

Result<KernelOp> read_op(TextReader& text) {
  const std::size_t begin = text.position();
  const std::string_view name = text.take_name();
  for (const KernelOp op : kAllKernelOps) {
    if (to_text(op) == name) return op;
  }
  NearName near(name);
  for (const KernelOp op : kAllKernelOps) near.consider(to_text(op));
  text.move_to(begin);
  return text.unexpected("expected the name of an instruction; " + near.remedy("kernel_ops.inc lists them"));
}

Result<std::vector<std::uint32_t>> read_operands(TextReader& text) {
  std::vector<std::uint32_t> operands;
  if (!text.rest().starts_with('%')) return operands;
  MILLRACE_TRY_ASSIGN(const std::uint32_t first, read_value(text));
  operands.push_back(first);
  MILLRACE_TRY(read_further(text, operands));
  return operands;
}

Result<std::uint32_t> read_value(TextReader& text) {
  if (!text.take("%")) return text.unexpected("expected a value, such as %0");
  return read_number<std::uint32_t>(text);
}

Result<VectorType> read_vector_type(TextReader& text) {
  const std::size_t begin = text.position();
  const std::string_view name = text.take_name();
  const std::size_t cross = name.find('x');
  const std::optional<DType> dtype = parse_dtype(name.substr(0, cross));
  text.move_to(begin);
  if (!dtype || cross == std::string_view::npos) {
    MILLRACE_TRY_ASSIGN(const DType scalar, read_dtype(text));
    return VectorType{scalar, 1};
  }
  text.skip(cross + 1);
  MILLRACE_TRY_ASSIGN(const auto lanes, read_number<std::uint32_t>(text));
  return VectorType{*dtype, lanes};
}

Result<std::uint64_t> read_constant(TextReader& text) {
  const std::size_t begin = text.position();
  const std::size_t colon = text.rest().find(':');
  if (colon == std::string_view::npos) return text.unexpected("expected a constant, ':' and its dtype");
  text.skip(colon + 1);
  MILLRACE_TRY_ASSIGN(const VectorType type, read_vector_type(text));
  text.move_to(begin);
  MILLRACE_TRY_ASSIGN(const std::uint64_t bits, visit_dtype(type.dtype, [&]<class T>() -> Result<std::uint64_t> {
                        MILLRACE_TRY_ASSIGN(const T value, read_number<T>(text));
                        return Scalar::of(value).bits;
                      }));
  if (text.position() != begin + colon) return text.unexpected("expected ':' and the constant's dtype");
  return bits;
}

Status expect(TextReader& text, std::string_view punctuation) {
  return text.take(punctuation) ? Status() : text.unexpected(fmt::format("expected '{}'", punctuation));
}

Status expect_number(TextReader& text, std::size_t expected) {
  const std::size_t begin = text.position();
  MILLRACE_TRY_ASSIGN(const auto number, read_number<std::uint32_t>(text));
  if (number == expected) return {};
  return text.error(begin, fmt::format("found number {}, expected {}; number in order", number, expected));
}

std::string symbol_lines(const std::map<std::string, Dim>& symbols, std::string_view indentation) {
  std::string lines;
  for (const auto& [name, symbol] : symbols) lines += fmt::format("{}symbol {}\n", indentation, symbol.to_text());
  return lines;
}

Status read_symbols(TextReader& text, std::map<std::string, Dim>& symbols) {
  while (text.take_word("symbol")) MILLRACE_TRY(read_size_expr(text, symbols).status());
  return {};
}

}  // namespace millrace
