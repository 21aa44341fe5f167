// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "millrace/base/check.h"
#include "millrace/base/dtype.h"
#include "millrace/base/ids.h"
#include "millrace/jit/kernel_op.h"
#include "millrace/jit/scalar.h"

namespace millrace {

/// The dtype of a tensor's element in a body: f16 and bf16 become f32, and the store rounds. If a body itself must
/// round to f16 or bf16, it converts a value to that dtype and back. A value of these dtypes has no other use, except
/// that a bitcast reads its bits or makes it from bits.
constexpr DType body_dtype(DType stored) {
  return stored == DType::kF16 || stored == DType::kBF16 ? DType::kF32 : stored;
}

enum class BodyValueId : std::uint32_t {};

/// Straight-line scalar code in SSA: instruction i defines value i.
struct BodyInstruction {
  KernelOp op = KernelOp::kConstant;
  DType dtype = DType::kF32;  // the dtype of its value
  std::uint8_t num_operands = 0;
  std::array<BodyValueId, 3> operands{};
  /// For a constant, its bits; for a load, index, extent, reduced or temporary, the number of the access, dim, extent,
  /// reduction or temporary; for a select, whether its condition is rarely true.
  std::uint64_t immediate = 0;
  friend bool operator==(const BodyInstruction&, const BodyInstruction&) = default;
};

struct Body {
  IdVector<BodyValueId, BodyInstruction> instructions;
  std::vector<BodyValueId> yields;
  friend bool operator==(const Body&, const Body&) = default;
};

/// A value in a body under construction.
struct BodyValue {
  BodyValueId id{};
  DType dtype = DType::kF32;
  std::uint32_t builder = 0;  // the number of the BodyBuilder that computes it; 0 fits every builder
};

/// The interface that a body template needs from a builder. BodyBuilder records; HostEval computes. A body is a generic
/// lambda or a struct with a generic call operator: `auto f(auto& b, auto x)`, where x is a BodyOperands of the
/// builder.
template <class B>
concept ScalarBuilder = requires(B& b, typename B::Value x, double d, std::int64_t i, DType t) {
  { b.constant(t, d) } -> std::same_as<typename B::Value>;
  { b.constant_int(t, i) } -> std::same_as<typename B::Value>;
  { b.emit(KernelOp::kAdd, t, {x, x}) } -> std::same_as<typename B::Value>;
  { x.dtype } -> std::convertible_to<DType>;
};

/// The operations that bodies may use, defined once on top of `emit` for every builder (CRTP).
template <class Derived, class V>
class BodyVocabulary {
 public:
  using Value = V;
  V add(V a, V b) { return self().emit(KernelOp::kAdd, a.dtype, {a, b}); }
  V sub(V a, V b) { return self().emit(KernelOp::kSub, a.dtype, {a, b}); }
  V mul(V a, V b) { return self().emit(KernelOp::kMul, a.dtype, {a, b}); }
  V div(V a, V b) { return self().emit(KernelOp::kDiv, a.dtype, {a, b}); }
  V rem(V a, V b) { return self().emit(KernelOp::kRem, a.dtype, {a, b}); }
  V mul_add(V a, V b, V c) { return self().emit(KernelOp::kMulAdd, a.dtype, {a, b, c}); }
  V neg(V a) { return self().emit(KernelOp::kNeg, a.dtype, {a}); }
  V abs(V a) { return self().emit(KernelOp::kAbs, a.dtype, {a}); }
  V min(V a, V b) { return self().emit(KernelOp::kMin, a.dtype, {a, b}); }
  V max(V a, V b) { return self().emit(KernelOp::kMax, a.dtype, {a, b}); }
  V floor(V a) { return self().emit(KernelOp::kFloor, a.dtype, {a}); }
  V ceil(V a) { return self().emit(KernelOp::kCeil, a.dtype, {a}); }
  V trunc(V a) { return self().emit(KernelOp::kTrunc, a.dtype, {a}); }
  V round_even(V a) { return self().emit(KernelOp::kRoundEven, a.dtype, {a}); }
  V sqrt(V a) { return self().emit(KernelOp::kSqrt, a.dtype, {a}); }
  V bit_and(V a, V b) { return self().emit(KernelOp::kAnd, a.dtype, {a, b}); }
  V bit_or(V a, V b) { return self().emit(KernelOp::kOr, a.dtype, {a, b}); }
  V bit_xor(V a, V b) { return self().emit(KernelOp::kXor, a.dtype, {a, b}); }
  V shl(V a, V b) { return self().emit(KernelOp::kShl, a.dtype, {a, b}); }
  V shr(V a, V b) { return self().emit(KernelOp::kShr, a.dtype, {a, b}); }
  V eq(V a, V b) { return self().emit(KernelOp::kEq, DType::kBool, {a, b}); }
  V ne(V a, V b) { return self().emit(KernelOp::kNe, DType::kBool, {a, b}); }
  V lt(V a, V b) { return self().emit(KernelOp::kLt, DType::kBool, {a, b}); }
  V le(V a, V b) { return self().emit(KernelOp::kLe, DType::kBool, {a, b}); }
  V gt(V a, V b) { return lt(b, a); }
  V ge(V a, V b) { return le(b, a); }
  V select(V condition, V a, V b) { return self().emit(KernelOp::kSelect, a.dtype, {condition, a, b}); }
  /// A select whose condition is rarely true. Use it if only `a` is expensive to compute: a kernel may skip that
  /// computation if no lane's condition is true. Consecutive selects with the same condition share the branch.
  V select_rarely(V condition, V a, V b) { return select(condition, a, b); }
  V convert(DType to, V a) { return to == a.dtype ? a : self().emit(KernelOp::kConvert, to, {a}); }
  V bitcast(DType to, V a) { return to == a.dtype ? a : self().emit(KernelOp::kBitcast, to, {a}); }
  /// Precondition for an integer dtype or bool: it can hold `value`. BodyBuilder records a violation as a mistake().
  V constant(DType dtype, double value) {
    self().expect_constant(dtype, value);
    return self().constant_scalar(Scalar::from_double(dtype, value));
  }
  V constant_int(DType dtype, std::int64_t value) { return self().constant_scalar(Scalar::from_int(dtype, value)); }
  /// A constant with the dtype of `x`.
  V constant_like(V x, double value) { return constant(x.dtype, value); }
  // Hooks for builders that record mistakes; see BodyBuilder.
  void expect_constant(DType, double) {}
  void expect_floats(std::string_view, std::initializer_list<V>) {}

 private:
  Derived& self() { return static_cast<Derived&>(*this); }
};

/// Records a Body.
class BodyBuilder : public BodyVocabulary<BodyBuilder, BodyValue> {
 public:
  BodyValue constant_scalar(Scalar);
  /// Dtypes must follow the op's rule, with f16 and bf16 only in converts and bitcasts; otherwise this records a
  /// mistake().
  BodyValue emit(KernelOp op, DType dtype, std::initializer_list<BodyValue> operands);
  BodyValue select_rarely(BodyValue condition, BodyValue a, BodyValue b);
  BodyValue load(std::uint32_t access, DType dtype);
  BodyValue load(std::uint32_t access, DType dtype, BodyValue dynamic_index);
  BodyValue index(std::uint32_t domain_dim);
  BodyValue extent(std::uint32_t number);
  BodyValue reduced(std::uint32_t reduction, DType dtype);
  BodyValue temporary(std::uint32_t number, DType dtype);
  BodyValue check_index(BodyValue index, BodyValue extent);
  void yield(BodyValue value) { body_.yields.push_back(value.id); }
  /// Records a mistake if an integer dtype or bool cannot hold `value`, or if the dtype is f16 or bf16.
  void expect_constant(DType dtype, double value);
  /// Records a mistake if an operand of `function` is not f32 or f64. Functions made of several ops call this first,
  /// because the ops themselves may accept integers.
  void expect_floats(std::string_view function, std::initializer_list<BodyValue> operands);
  /// The first broken rule, as a text that continues "the body": "computes mul(i32, f32) : i32, which ..."; empty if no
  /// rule is broken. Applications write bodies too, so check this before finish().
  const std::string& mistake() const { return mistake_; }
  void note_mistake(std::string text) {
    if (mistake_.empty()) mistake_ = std::move(text);
  }
  /// Precondition: no mistake.
  Body finish() {
    MILLRACE_CHECK(mistake_.empty());
    return std::move(body_);
  }
  /// Whether this builder computes the value.
  bool defines(BodyValue value) const {
    return (value.builder == 0 || value.builder == number_) && body_.instructions.contains(value.id) &&
           body_.instructions[value.id].dtype == value.dtype;
  }
  /// Appends `body`. `replace(instruction)` may return a value to use instead of an instruction (such as a load that
  /// another body computes); otherwise the instruction is copied. Returns the yields.
  template <class Replace>
  std::vector<BodyValue> inline_body(const Body& body, Replace&& replace);

 private:
  BodyValue append(BodyInstruction);
  static std::uint32_t next_number();
  Body body_;
  std::uint32_t number_ = next_number();
  std::string mistake_;
};

/// Computes immediately, on host scalars.
class HostEval : public BodyVocabulary<HostEval, Scalar> {
 public:
  Scalar constant_scalar(Scalar value) { return value; }
  Scalar emit(KernelOp op, DType dtype, std::initializer_list<Scalar> operands) {
    return evaluate(op, dtype, std::span(operands.begin(), operands.size()));
  }
  /// Like BodyBuilder::mistake(). Needed here too, because a body may read different operands on the host than when it
  /// is recorded.
  const std::string& mistake() const { return mistake_; }
  void note_mistake(std::string text) {
    if (mistake_.empty()) mistake_ = std::move(text);
  }

 private:
  std::string mistake_;
};

/// "reads x[1], expected an index below 1, the number of its operands; ...".
std::string missing_operand_text(std::size_t index, std::size_t num_operands);

/// The operands of a body. An index that is too large gives a constant 0 with the dtype of the first operand, and
/// records a mistake in the builder. Iterators check this too.
template <class B>
class BodyOperands {
 public:
  using Value = typename B::Value;

  class Iterator {
   public:
    using value_type = Value;
    using reference = Value;
    using pointer = void;
    using difference_type = std::ptrdiff_t;
    using iterator_category = std::input_iterator_tag;

    Iterator() = default;
    Iterator(const BodyOperands* operands, std::size_t index) : operands_(operands), index_(index) {}
    Value operator*() const { return (*operands_)[index_]; }
    Iterator& operator++() {
      ++index_;
      return *this;
    }
    Iterator operator++(int) { return {operands_, index_++}; }
    friend bool operator==(const Iterator&, const Iterator&) = default;

   private:
    const BodyOperands* operands_ = nullptr;
    std::size_t index_ = 0;
  };

  /// Keeps references to the builder and the values.
  BodyOperands(B& builder, std::span<const Value> values) : builder_(&builder), values_(values) {}

  Value operator[](std::size_t index) const {
    if (index < values_.size()) return values_[index];
    builder_->note_mistake(missing_operand_text(index, values_.size()));
    return builder_->constant_scalar({values_.empty() ? DType::kF32 : values_[0].dtype, 0});
  }
  Value front() const { return (*this)[0]; }
  Value back() const { return (*this)[values_.size() - 1]; }
  std::size_t size() const { return values_.size(); }
  bool empty() const { return values_.empty(); }
  Iterator begin() const { return {this, 0}; }
  Iterator end() const { return {this, values_.size()}; }

 private:
  B* builder_;
  std::span<const Value> values_;
};

/// One line per value, "%2 = add %0, %1 : f32", then "yield %2".
std::string to_text(const Body&);

template <class Replace>
std::vector<BodyValue> BodyBuilder::inline_body(const Body& body, Replace&& replace) {
  std::vector<BodyValue> values;
  values.reserve(body.instructions.size());
  for (const BodyInstruction& instruction : body.instructions) {
    BodyInstruction copy = instruction;
    for (unsigned i = 0; i < copy.num_operands; ++i) copy.operands[i] = values[index_of(copy.operands[i])].id;
    if (std::optional<BodyValue> replacement = replace(copy)) {
      values.push_back(*replacement);
    } else {
      values.push_back(append(copy));
    }
  }
  std::vector<BodyValue> yields;
  for (BodyValueId id : body.yields) yields.push_back(values[index_of(id)]);
  return yields;
}

}  // namespace millrace
