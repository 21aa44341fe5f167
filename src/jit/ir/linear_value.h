// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "millrace/base/saturating.h"
#include "millrace/jit/machine_builder.h"

namespace millrace {

/// A sum of i64 scalars. Its constant part is kept separate, and added only when the value is needed, so that the
/// generated code has no additions of 0 or multiplications by 1.
class LinearValue {
 public:
  LinearValue() = default;
  explicit LinearValue(std::int64_t constant) : constant_(constant) {}
  explicit LinearValue(MachineValue value) : sum_(value), has_sum_(true) {}

  bool is_zero() const { return !has_sum_ && constant_ == 0; }

  /// The value of `expr` at launch.
  static LinearValue of_size(MachineBuilder& b, const SizeExpr& expr) {
    return expr.is_constant() ? LinearValue(expr.constant()) : LinearValue(b.size(expr));
  }

  /// this + other * factor
  LinearValue plus(MachineBuilder& b, const LinearValue& other, const SizeExpr& factor = 1) const {
    if (other.is_zero() || factor.is(0)) return *this;
    LinearValue result = *this;
    if (!factor.is_constant()) {
      const MachineValue term = other.value(b);
      result.add_term(b, b.mul(term, b.size(factor)));
      return result;
    }
    result.constant_ = saturating::add(constant_, saturating::multiply(other.constant_, factor.constant()));
    if (other.has_sum_) result.add_term(b, factor.is(1) ? other.sum_ : b.mul(other.sum_, b.i64(factor.constant())));
    return result;
  }

  MachineValue value(MachineBuilder& b) const {
    if (!has_sum_) return b.i64(constant_);
    return constant_ == 0 ? sum_ : b.add(sum_, b.i64(constant_));
  }

 private:
  void add_term(MachineBuilder& b, MachineValue term) {
    sum_ = has_sum_ ? b.add(sum_, term) : term;
    has_sum_ = true;
  }
  // Not an optional: GCC 12 warns that copying an empty one uses an uninitialised value.
  MachineValue sum_{};
  bool has_sum_ = false;
  std::int64_t constant_ = 0;
};

}  // namespace millrace
