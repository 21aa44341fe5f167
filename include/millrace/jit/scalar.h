// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string>

#include "millrace/base/dtype.h"
#include "millrace/jit/kernel_op.h"

namespace millrace {

/// One value with its dtype. The value is in the low bits; the other bits are 0.
struct Scalar {
  DType dtype = DType::kF32;
  std::uint64_t bits = 0;

  template <class T>
  static Scalar of(T value) {
    Scalar scalar{dtype_of<T>, 0};
    std::memcpy(&scalar.bits, &value, sizeof(T));
    return scalar;
  }
  template <class T>
  T as() const {
    T value;
    std::memcpy(static_cast<void*>(&value), &bits, sizeof(T));
    return value;
  }
  /// `value` rounded to `dtype`; integers saturate, NaN gives 0.
  static Scalar from_double(DType dtype, double value);
  /// `value` converted to `dtype`; integers wrap.
  static Scalar from_int(DType dtype, std::int64_t value);
  double to_double() const;
  friend bool operator==(const Scalar&, const Scalar&) = default;
};

/// Reads the element at `from`. A bool is a byte: nonzero is true.
Scalar load_scalar(DType, const void* from);

/// Exact text: "1.5", "-0", "true", "inf", "nan(0x7fc00000)".
std::string to_text(const Scalar&);

/// Whether a lanewise op accepts operands and a result of these dtypes.
bool follows_rule(KernelOp op, DType result, std::span<const DType> operands);

/// Evaluates a lanewise op. This defines its meaning for the interpreter, constant folding and every generator's tests.
/// mul_add is fused. `result` is the result's dtype. Precondition: follows_rule(op, ...), and op is not kConstant.
Scalar evaluate(KernelOp op, DType result, std::span<const Scalar> operands);

}  // namespace millrace
