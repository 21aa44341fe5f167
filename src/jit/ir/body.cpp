// SPDX-License-Identifier: Apache-2.0
// Records scalar bodies, and the first mistake that a caller makes in a body. Prints bodies.
#include "millrace/jit/body.h"

#include <atomic>
#include <iterator>

#include <fmt/format.h>

#include "jit/ir/operation_text.h"
#include "millrace/base/check.h"
#include "millrace/base/number.h"

namespace millrace {
namespace {

/// "i32, f32"
std::string dtypes_text(std::initializer_list<BodyValue> values) {
  std::string text;
  for (const BodyValue& value : values) text += (text.empty() ? "" : ", ") + std::string(to_text(value.dtype));
  return text;
}

/// The message about an operation that is not supported. It follows the words "the body".
std::string refused(std::string_view operation) {
  return fmt::format("computes {}, which is not supported; cast the operands, or convert in the body", operation);
}

/// Bodies never compute in a 16-bit float. A 16-bit float occurs only between two conversions, to round a value or to
/// read its bits.
bool is_16_bit_float(DType dtype) { return body_dtype(dtype) != dtype; }

}  // namespace

BodyValue BodyBuilder::append(BodyInstruction instruction) {
  const DType dtype = instruction.dtype;
  return {body_.instructions.push_back(instruction), dtype, number_};
}

std::uint32_t BodyBuilder::next_number() {
  static std::atomic<std::uint32_t> last = 0;
  const std::uint32_t number = last.fetch_add(1, std::memory_order_relaxed) + 1;
  return number == 0 ? next_number() : number;
}

BodyValue BodyBuilder::constant_scalar(Scalar value) {
  return append({.op = KernelOp::kConstant, .dtype = value.dtype, .immediate = value.bits});
}

// After a mistake, appends a constant of the result's dtype, so that recording can continue.
BodyValue BodyBuilder::emit(KernelOp op, DType dtype, std::initializer_list<BodyValue> operands) {
  BodyInstruction instruction{.op = op, .dtype = dtype};
  DType dtypes[3] = {};
  if (operands.size() > instruction.operands.size()) {
    note_mistake(refused(fmt::format("{}({}) : {}", to_text(op), dtypes_text(operands), to_text(dtype))));
    return append({.op = KernelOp::kConstant, .dtype = dtype});
  }
  const bool converts = rule_of(op) == KernelOpRule::kConvert;
  bool are_defined = true, have_body_dtypes = converts || !is_16_bit_float(dtype);
  for (const BodyValue& operand : operands) {
    are_defined &= defines(operand);
    have_body_dtypes &= converts || !is_16_bit_float(operand.dtype);
    dtypes[instruction.num_operands] = operand.dtype;
    instruction.operands[instruction.num_operands++] = operand.id;
  }
  if (are_defined && have_body_dtypes && follows_rule(op, dtype, std::span(dtypes, operands.size())))
    return append(instruction);
  const std::string operation = fmt::format("{}({}) : {}", to_text(op), dtypes_text(operands), to_text(dtype));
  note_mistake(are_defined ? refused(operation)
                           : fmt::format("computes {} of a value that this body does not compute; compute it here, or "
                                         "pass it on with reduced() or kept()",
                                         operation));
  return append({.op = KernelOp::kConstant, .dtype = dtype});
}

void BodyBuilder::expect_constant(DType dtype, double value) {
  // Adding 0.0 turns -0 into 0, which fits integers.
  if (is_float(dtype) ? !is_16_bit_float(dtype) : Number(value + 0.0).fits(dtype)) return;
  note_mistake(refused(fmt::format("constant({}) : {}", value, to_text(dtype))));
}

void BodyBuilder::expect_floats(std::string_view function, std::initializer_list<BodyValue> operands) {
  for (const BodyValue& operand : operands) {
    if (operand.dtype == DType::kF32 || operand.dtype == DType::kF64) continue;
    return note_mistake(refused(fmt::format("{}({}) : {}", function, dtypes_text(operands), to_text(operand.dtype))));
  }
}

std::string missing_operand_text(std::size_t index, std::size_t num_operands) {
  // A negative index arrives as a huge number; the cast restores it.
  return fmt::format(
      "reads x[{}], expected an index below {}, the number of its operands; correct the index, or pass more operands",
      static_cast<std::ptrdiff_t>(index), num_operands);
}

BodyValue BodyBuilder::select_rarely(BodyValue condition, BodyValue a, BodyValue b) {
  const BodyValue selected = select(condition, a, b);
  if (mistake_.empty()) body_.instructions[selected.id].immediate = 1;
  return selected;
}

BodyValue BodyBuilder::load(std::uint32_t access, DType dtype) {
  return append({.op = KernelOp::kLoad, .dtype = dtype, .immediate = access});
}

BodyValue BodyBuilder::load(std::uint32_t access, DType dtype, BodyValue dynamic_index) {
  MILLRACE_CHECK(dynamic_index.dtype == DType::kI64);
  return append(
      {.op = KernelOp::kLoad, .dtype = dtype, .num_operands = 1, .operands = {dynamic_index.id}, .immediate = access});
}

BodyValue BodyBuilder::index(std::uint32_t domain_dim) {
  return append({.op = KernelOp::kIndex, .dtype = DType::kI64, .immediate = domain_dim});
}

BodyValue BodyBuilder::extent(std::uint32_t number) {
  return append({.op = KernelOp::kExtent, .dtype = DType::kI64, .immediate = number});
}

BodyValue BodyBuilder::reduced(std::uint32_t reduction, DType dtype) {
  return append({.op = KernelOp::kReduced, .dtype = dtype, .immediate = reduction});
}

BodyValue BodyBuilder::temporary(std::uint32_t number, DType dtype) {
  return append({.op = KernelOp::kTemporary, .dtype = dtype, .immediate = number});
}

BodyValue BodyBuilder::check_index(BodyValue index, BodyValue extent) {
  if (index.dtype != DType::kI64 || extent.dtype != DType::kI64 || !defines(index) || !defines(extent)) {
    note_mistake(refused(fmt::format("check_index({}) : i64", dtypes_text({index, extent}))));
    return append({.op = KernelOp::kConstant, .dtype = DType::kI64});
  }
  return append(
      {.op = KernelOp::kCheckIndex, .dtype = DType::kI64, .num_operands = 2, .operands = {index.id, extent.id}});
}

std::string to_text(const Body& body) {
  std::string text;
  std::size_t number = 0;
  for (const BodyInstruction& instruction : body.instructions) {
    fmt::format_to(std::back_inserter(text), "%{} = ", number++);
    append_operation(text, instruction.op, std::span(instruction.operands).first(instruction.num_operands),
                     instruction.immediate, instruction.dtype);
    fmt::format_to(std::back_inserter(text), " : {}\n", to_text(instruction.dtype));
  }
  if (body.yields.empty()) return text;
  text += "yield";
  for (std::size_t i = 0; i < body.yields.size(); ++i) {
    text += fmt::format("{} %{}", i == 0 ? "" : ",", index_of(body.yields[i]));
  }
  return text + "\n";
}

}  // namespace millrace
