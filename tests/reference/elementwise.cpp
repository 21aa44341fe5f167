// SPDX-License-Identifier: Apache-2.0
#include <stdexcept>
#include <string>

#include "tests/reference/families.h"

namespace millrace::reference {
namespace {

[[noreturn]] void refuse(Op op) { throw std::logic_error("the oracle does not know " + std::string(to_text(op))); }

Int128 integer_result(Op op, DType dtype, const Int128* x) {
  switch (op) {
    case Op::add:
      return x[0] + x[1];
    case Op::sub:
      return x[0] - x[1];
    case Op::mul:
      return product(x[0], x[1]);
    case Op::div:
      return x[1] == 0 ? 0 : x[0] / x[1];
    case Op::rem:
      return x[1] == 0 ? 0 : x[0] % x[1];
    case Op::min:
      return lesser(x[0], x[1]);
    case Op::max:
      return greater(x[0], x[1]);
    case Op::neg:
      return -x[0];
    case Op::abs:
      return x[0] < 0 ? -x[0] : x[0];
    case Op::sign:
      return (x[0] > 0) - (x[0] < 0);
    case Op::logical_and:
      return x[0] & x[1];
    case Op::logical_or:
      return x[0] | x[1];
    case Op::logical_xor:
      return x[0] ^ x[1];
    case Op::logical_not:
      return dtype == DType::kBool ? 1 - x[0] : -1 - x[0];
    default:
      refuse(op);
  }
}

/// F is double for f32 and narrower, and long double for f64.
template <class F>
F function_result(Op op, const F* x) {
  switch (op) {
    case Op::min:
      return lesser(x[0], x[1]);
    case Op::max:
      return greater(x[0], x[1]);
    case Op::pow:
      return std::pow(x[0], x[1]);
    case Op::neg:
      return -x[0];
    case Op::abs:
      return std::fabs(x[0]);
    case Op::sign:
      return x[0] > 0 ? 1 : x[0] < 0 ? -1 : x[0];
    case Op::exp:
      return std::exp(x[0]);
    case Op::exp2:
      return std::exp2(x[0]);
    case Op::log:
      return std::log(x[0]);
    case Op::log2:
      return std::log2(x[0]);
    case Op::expm1:
      return std::expm1(x[0]);
    case Op::log1p:
      return std::log1p(x[0]);
    case Op::sin:
      return std::sin(x[0]);
    case Op::cos:
      return std::cos(x[0]);
    case Op::tan:
      return std::tan(x[0]);
    case Op::atan2:
      return std::atan2(x[0], x[1]);
    case Op::tanh:
      return std::tanh(x[0]);
    case Op::sigmoid: {
      const F e = std::exp(-std::fabs(x[0]));
      return x[0] < 0 ? e / (1 + e) : 1 / (1 + e);
    }
    case Op::hard_swish:
      return x[0] <= -3 ? 0 : x[0] > 3 ? x[0] : x[0] * (x[0] + 3) / 6;
    case Op::softplus:
      return x[0] > 0 ? x[0] + std::log1p(std::exp(-x[0])) : std::log1p(std::exp(x[0]));
    case Op::erf:
      return std::erf(x[0]);
    case Op::floor:
      return std::floor(x[0]);
    case Op::ceil:
      return std::ceil(x[0]);
    case Op::trunc:
      return std::trunc(x[0]);
    case Op::round:
      return std::nearbyint(x[0]);
    default:
      refuse(op);
  }
}

/// IEEE 754 defines these to the last bit, so they are computed in the dtype itself: long double would round twice.
template <class T>
T exact_result(Op op, const T* x) {
  switch (op) {
    case Op::add:
      return x[0] + x[1];
    case Op::sub:
      return x[0] - x[1];
    case Op::mul:
      return x[0] * x[1];
    case Op::div:
      return x[0] / x[1];
    case Op::rem:
      return std::fmod(x[0], x[1]);
    case Op::leaky_relu:
      return x[0] < 0 ? x[0] * x[1] : x[0];
    case Op::sqrt:
      return std::sqrt(x[0]);
    case Op::rsqrt: {
      const T root = std::sqrt(x[0]);
      return T{1} / root;
    }
    default:
      refuse(op);
  }
}

bool is_exact(Op op) {
  return op == Op::add || op == Op::sub || op == Op::mul || op == Op::div || op == Op::rem || op == Op::leaky_relu ||
         op == Op::sqrt || op == Op::rsqrt;
}

/// Computes in C: result i from element i of every operand.
template <class C, class F>
Tensor map(DType result, Operands operands, F&& f) {
  Tensor y(result, operands[0].extents());
  for (std::int64_t i = 0; i < y.num_elements(); ++i) {
    C x[3] = {};
    for (std::size_t n = 0; n < operands.size(); ++n) {
      x[n] = read_element<C>(operands[n].type.dtype, operands[n].element(i));
    }
    write_element(result, f(x), y.element(i));
  }
  return y;
}

template <class W>
bool comparison(Op op, W a, W b) {
  switch (op) {
    case Op::equal:
      return a == b;
    case Op::not_equal:
      return a != b;
    case Op::less:
      return a < b;
    case Op::less_equal:
      return a <= b;
    case Op::greater:
      return a > b;
    case Op::greater_equal:
      return a >= b;
    case Op::is_nan:
      return a != a;
    default:
      refuse(op);
  }
}

/// Towards zero, into the dtype's range; NaN is 0.
Int128 saturate(DType dtype, long double value) {
  if (std::isnan(value)) return 0;
  const long double truncated = std::trunc(value);
  if (truncated <= static_cast<long double>(lowest_value<Int128>(dtype))) return lowest_value<Int128>(dtype);
  if (truncated >= static_cast<long double>(highest_value<Int128>(dtype))) return highest_value<Int128>(dtype);
  return static_cast<Int128>(truncated);
}

}  // namespace

Tensor elementwise(Op op, Operands operands) {
  const DType dtype = operands[0].type.dtype;
  if (!is_float(dtype)) {
    return map<Int128>(dtype, operands, [&](const Int128* x) { return integer_result(op, dtype, x); });
  }
  if (dtype == DType::kF64) {
    if (is_exact(op)) return map<double>(dtype, operands, [&](const double* x) { return exact_result(op, x); });
    return map<long double>(dtype, operands, [&](const long double* x) { return function_result(op, x); });
  }
  if (is_exact(op)) return map<float>(dtype, operands, [&](const float* x) { return exact_result(op, x); });
  return map<double>(dtype, operands, [&](const double* x) { return function_result(op, x); });
}

Tensor compare(Op op, Operands operands) {
  return visit_wide(operands[0].type.dtype, [&]<class W>() {
    return map<W>(DType::kBool, operands, [&](const W* x) { return static_cast<W>(comparison(op, x[0], x[1])); });
  });
}

/// Bytes are copied: any dtype, NaN payloads too.
Tensor select(Operands operands) {
  Tensor y(operands[1].type);
  for (std::int64_t i = 0; i < y.num_elements(); ++i) {
    const Tensor& from = *operands[0].element(i) != std::byte{0} ? operands[1] : operands[2];
    std::memcpy(y.element(i), from.element(i), size_bytes(y.type.dtype));
  }
  return y;
}

Tensor cast(DType to, const Tensor& x) {
  Tensor y(to, x.extents());
  const bool float_to_integer = is_float(x.type.dtype) && is_integer(to);
  for (std::int64_t i = 0; i < y.num_elements(); ++i) {
    if (!is_float(x.type.dtype) && !is_float(to)) {
      write_element(to, read_element<Int128>(x.type.dtype, x.element(i)), y.element(i));
      continue;
    }
    // Every dtype's values are exact in a long double.
    const auto value = read_element<long double>(x.type.dtype, x.element(i));
    if (float_to_integer) {
      write_element(to, saturate(to, value), y.element(i));
    } else {
      write_element(to, value, y.element(i));
    }
  }
  return y;
}

/// Bytes are copied.
Tensor bit_cast(DType to, const Tensor& x) {
  Tensor y(to, x.extents());
  y.bytes = x.bytes;
  return y;
}

}  // namespace millrace::reference
