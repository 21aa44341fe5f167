// SPDX-License-Identifier: Apache-2.0
// The text of operations, which loop kernels and machine kernels share.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/text/reader.h"
#include "millrace/jit/machine_kernel.h"

namespace millrace {

/// How text writes an instruction's immediate.
enum class ImmediateForm : std::uint8_t {
  kNone,
  kConstant,  // "constant 1.5"; the immediate holds the value's bits in the result's dtype
  kNumber,    // "index 1", "load 0[%2]"
  kMemory,    // "store_vector @0[%1], %2"
  kSize,      // "size s0"
  kLane,      // "extract %1[3]"
  kLast,      // "shuffle_xor %1, 16"
  kRarely,    // "select %0, %1, %2, rarely" if the immediate is 1
};

constexpr ImmediateForm immediate_form(KernelOp op) {
  if (touches_memory(op)) return ImmediateForm::kMemory;
  switch (op) {
    case KernelOp::kConstant:
      return ImmediateForm::kConstant;
    case KernelOp::kLoad:
    case KernelOp::kIndex:
    case KernelOp::kExtent:
    case KernelOp::kReduced:
    case KernelOp::kTemporary:
      return ImmediateForm::kNumber;
    case KernelOp::kSize:
      return ImmediateForm::kSize;
    case KernelOp::kExtract:
      return ImmediateForm::kLane;
    case KernelOp::kInterleave:
    case KernelOp::kReportError:
    case KernelOp::kShuffleXor:
      return ImmediateForm::kLast;
    case KernelOp::kSelect:
      return ImmediateForm::kRarely;
    default:
      return ImmediateForm::kNone;
  }
}

/// An operation, except for its results, types and blocks.
struct Operation {
  KernelOp op = KernelOp::kConstant;
  std::vector<std::uint32_t> operands;  // numbers of values
  std::uint64_t immediate = 0;
};

/// Appends "%7". Not by a format string: cache keys consist of such texts, and parsing formats took half of their time.
void append_value(std::string& text, std::uint32_t number);
/// Appends "load_masked @0[%2], %5, %6", "constant 1.5". `result` is the dtype of a constant.
template <DenseId Id>
void append_operation(std::string& text, KernelOp, std::span<const Id> operands, std::uint64_t immediate, DType result);
/// Reads what append_operation wrote. Does not check the number of operands; the verifiers do. Does not read kFor.
Result<Operation> read_operation(TextReader&);
Result<KernelOp> read_op(TextReader&);
Result<std::vector<std::uint32_t>> read_operands(TextReader&);
/// "%7"
Result<std::uint32_t> read_value(TextReader&);
/// "f32", "f32x16"
Result<VectorType> read_vector_type(TextReader&);
/// Reads the "-1.5" of a constant such as "-1.5 : f32", and returns its bits in that dtype. Does not consume the ':'
/// and the dtype.
Result<std::uint64_t> read_constant(TextReader&);
/// Consumes the punctuation, or fails with a message such as "expected '='".
Status expect(TextReader&, std::string_view punctuation);
/// Reads a number and fails unless it is `expected`: a kernel's tensors, loads and so on are numbered in order.
Status expect_number(TextReader&, std::size_t expected);

/// "symbol n in 1..64", one line each.
std::string symbol_lines(const std::map<std::string, Dim>& symbols, std::string_view indentation);
Status read_symbols(TextReader&, std::map<std::string, Dim>& symbols);

/// The enumerator, from 0 to `last`, whose to_text() is `name`.
template <class Enum>
std::optional<Enum> find_by_text(std::string_view name, Enum last) {
  for (unsigned i = 0; i <= static_cast<unsigned>(last); ++i) {
    if (to_text(static_cast<Enum>(i)) == name) return static_cast<Enum>(i);
  }
  return {};
}

}  // namespace millrace
