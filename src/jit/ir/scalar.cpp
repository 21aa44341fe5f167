// SPDX-License-Identifier: Apache-2.0
// Scalars, and lanewise ops evaluated on them. This evaluation defines what every generator must compute.
#include "millrace/jit/scalar.h"

#include <cmath>

#include <fmt/format.h>

#include "jit/ir/host_ops.h"
#include "millrace/jit/kernel_op.h"

namespace millrace {
namespace {

using host_ops::HostOp;

Scalar convert_scalar(DType to, Scalar value) {
  return visit_dtype(value.dtype, [&]<class From>() {
    return visit_dtype(to, [&]<class To>() { return Scalar::of(host_ops::convert<To>(value.as<From>())); });
  });
}

template <KernelOp kOp, class T>
Scalar apply_op(std::span<const Scalar> x) {
  if constexpr (kOp == KernelOp::kSelect) {
    return Scalar::of(HostOp<kOp>::apply(x[0].as<bool>(), x[1].as<T>(), x[2].as<T>()));
  } else if constexpr (num_operands(kOp) == 1) {
    return Scalar::of(HostOp<kOp>::apply(x[0].as<T>()));
  } else if constexpr (num_operands(kOp) == 2) {
    return Scalar::of(HostOp<kOp>::apply(x[0].as<T>(), x[1].as<T>()));
  } else {
    return Scalar::of(HostOp<kOp>::apply(x[0].as<T>(), x[1].as<T>(), x[2].as<T>()));
  }
}

template <KernelOp kOp>
Scalar evaluate_op(DType result, std::span<const Scalar> operands) {
  if constexpr (kOp == KernelOp::kConvert) {
    return convert_scalar(result, operands[0]);
  } else if constexpr (kOp == KernelOp::kBitcast) {
    return {result, operands[0].bits};
  } else if constexpr (kOp != KernelOp::kConstant) {
    return visit_dtype(operands.back().dtype, [&]<class T>() -> Scalar {
      if constexpr (takes(kOp, dtype_of<T>)) return apply_op<kOp, T>(operands);
      __builtin_unreachable();  // excluded by follows_rule
    });
  }
  MILLRACE_CHECK(kOp != KernelOp::kConstant);  // its value is an immediate
  __builtin_unreachable();
}

template <class T>
std::string float_text(T value, std::uint64_t bits) {
  if (std::isnan(value)) return fmt::format("nan(0x{:0{}x})", bits, 2 * sizeof(T));
  return fmt::format("{}", value);  // the shortest text that reads back as the same value
}

}  // namespace

bool follows_rule(KernelOp op, DType result, std::span<const DType> operands) {
  if (!is_lanewise(op) || operands.size() != num_operands(op)) return false;
  const DType last = operands.empty() ? result : operands.back();
  if (!takes(op, last)) return false;
  switch (rule_of(op)) {
    case KernelOpRule::kArith:
    case KernelOpRule::kCompare: {
      for (const DType dtype : operands) {
        if (dtype != last) return false;
      }
      return result == (rule_of(op) == KernelOpRule::kArith ? last : DType::kBool);
    }
    case KernelOpRule::kSelect:
      return operands[0] == DType::kBool && operands[1] == last && result == last;
    case KernelOpRule::kConvert:
      return takes(op, result) && (op != KernelOp::kBitcast || size_bytes(last) == size_bytes(result));
    case KernelOpRule::kBody:
    case KernelOpRule::kMachine:
      return false;
  }
  __builtin_unreachable();
}

Scalar evaluate(KernelOp op, DType result, std::span<const Scalar> operands) {
  DType dtypes[3] = {};
  MILLRACE_CHECK(operands.size() <= std::size(dtypes));
  for (std::size_t i = 0; i < operands.size(); ++i) dtypes[i] = operands[i].dtype;
  MILLRACE_CHECK(follows_rule(op, result, std::span(dtypes, operands.size())));
  return host_ops::visit_lanewise(op, [&]<KernelOp kOp>() { return evaluate_op<kOp>(result, operands); });
}

Scalar Scalar::from_double(DType dtype, double value) { return convert_scalar(dtype, of(value)); }

Scalar Scalar::from_int(DType dtype, std::int64_t value) { return convert_scalar(dtype, of(value)); }

double Scalar::to_double() const { return convert_scalar(DType::kF64, *this).as<double>(); }

Scalar load_scalar(DType dtype, const void* from) {
  Scalar scalar{dtype, 0};
  std::memcpy(&scalar.bits, from, size_bytes(dtype));
  if (dtype == DType::kBool) scalar.bits = scalar.bits != 0;
  return scalar;
}

std::string to_text(const Scalar& scalar) {
  switch (scalar.dtype) {
    case DType::kBool:
      return scalar.as<bool>() ? "true" : "false";
    case DType::kF64:
      return float_text(scalar.as<double>(), scalar.bits);
    case DType::kF32:
      return float_text(scalar.as<float>(), scalar.bits);
    case DType::kF16:
    case DType::kBF16: {
      const float value = convert_scalar(DType::kF32, scalar).as<float>();
      return std::isnan(value) ? fmt::format("nan(0x{:04x})", scalar.bits) : fmt::format("{}", value);
    }
    case DType::kU64:
      return fmt::format("{}", scalar.bits);
    default:
      return fmt::format("{}", convert_scalar(DType::kI64, scalar).as<std::int64_t>());
  }
}

}  // namespace millrace
