// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <vector>

#include "millrace/base/check.h"
#include "millrace/jit/body.h"

namespace millrace::test {

/// Many values of one dtype, as bits.
struct Lanes {
  DType dtype = DType::kF32;
  std::shared_ptr<const std::vector<std::uint64_t>> bits;
};

/// Computes bodies on many lanes with the host's arithmetic, independently of `evaluate`. mul_add rounds once
/// (`kFused`) or twice, so that a bound can be measured for targets with and without FMA.
template <bool kFused>
class LaneBuilder : public BodyVocabulary<LaneBuilder<kFused>, Lanes> {
 public:
  explicit LaneBuilder(std::size_t num_lanes) : num_lanes_(num_lanes) {}

  Lanes constant_scalar(Scalar value) {
    return {value.dtype, std::make_shared<std::vector<std::uint64_t>>(num_lanes_, value.bits)};
  }

  Lanes emit(KernelOp op, DType dtype, std::initializer_list<Lanes> operands) {
    const Lanes* x = operands.begin();
    std::vector<std::uint64_t> result(num_lanes_);
    const DType computed = operands.size() == 3 && op == KernelOp::kSelect ? dtype : x[0].dtype;
    switch (computed) {
      case DType::kBool:
        compute_bool(op, x, result);
        break;
      case DType::kI32:
        compute<std::int32_t>(op, dtype, x, result);
        break;
      case DType::kI64:
        compute<std::int64_t>(op, dtype, x, result);
        break;
      case DType::kU64:
        compute<std::uint64_t>(op, dtype, x, result);
        break;
      case DType::kF32:
        compute<float>(op, dtype, x, result);
        break;
      case DType::kF64:
        compute<double>(op, dtype, x, result);
        break;
      default:
        MILLRACE_CHECK(false);
    }
    return {dtype, std::make_shared<std::vector<std::uint64_t>>(std::move(result))};
  }

 private:
  using Bits = std::vector<std::uint64_t>;

  template <class T>
  static T get(const Lanes& x, std::size_t i) {
    return Scalar{x.dtype, (*x.bits)[i]}.as<T>();
  }

  void compute_bool(KernelOp op, const Lanes* x, Bits& result) {
    MILLRACE_CHECK(op == KernelOp::kAnd || op == KernelOp::kOr);
    for (std::size_t i = 0; i < num_lanes_; ++i) {
      const bool a = get<bool>(x[0], i), b = get<bool>(x[1], i);
      result[i] = op == KernelOp::kAnd ? a && b : a || b;
    }
  }

  template <class T, class F>
  void each(Bits& result, F&& f) {
    for (std::size_t i = 0; i < num_lanes_; ++i) result[i] = Scalar::of(f(i)).bits;
  }

  template <class T>
  void compute(KernelOp op, DType to, const Lanes* x, Bits& result) {
    const auto a = [&](std::size_t i) { return get<T>(x[0], i); };
    const auto b = [&](std::size_t i) { return get<T>(x[1], i); };
    switch (op) {
      case KernelOp::kSelect:
        return each<T>(result, [&](std::size_t i) { return get<bool>(x[0], i) ? get<T>(x[1], i) : get<T>(x[2], i); });
      case KernelOp::kEq:
        return each<T>(result, [&](std::size_t i) { return a(i) == b(i); });
      case KernelOp::kNe:
        return each<T>(result, [&](std::size_t i) { return a(i) != b(i); });
      case KernelOp::kLt:
        return each<T>(result, [&](std::size_t i) { return a(i) < b(i); });
      case KernelOp::kLe:
        return each<T>(result, [&](std::size_t i) { return a(i) <= b(i); });
      case KernelOp::kBitcast:
        result = *x[0].bits;
        return;
      default:
        break;
    }
    if constexpr (std::is_floating_point_v<T>) {
      compute_float<T>(op, to, x, result);
    } else {
      compute_integer<T>(op, x, result);
    }
  }

  template <class T>
  void compute_integer(KernelOp op, const Lanes* x, Bits& result) {
    using U = std::make_unsigned_t<T>;
    const auto a = [&](std::size_t i) { return get<T>(x[0], i); };
    const auto b = [&](std::size_t i) { return get<T>(x[1], i); };
    const auto wrapped = [](U value) { return static_cast<T>(value); };
    constexpr T kWidthMask = sizeof(T) * 8 - 1;
    switch (op) {
      case KernelOp::kAdd:
        return each<T>(result, [&](std::size_t i) { return wrapped(static_cast<U>(a(i)) + static_cast<U>(b(i))); });
      case KernelOp::kSub:
        return each<T>(result, [&](std::size_t i) { return wrapped(static_cast<U>(a(i)) - static_cast<U>(b(i))); });
      case KernelOp::kMul:
        return each<T>(result, [&](std::size_t i) { return wrapped(static_cast<U>(a(i)) * static_cast<U>(b(i))); });
      case KernelOp::kAnd:
        return each<T>(result, [&](std::size_t i) { return a(i) & b(i); });
      case KernelOp::kOr:
        return each<T>(result, [&](std::size_t i) { return a(i) | b(i); });
      case KernelOp::kXor:
        return each<T>(result, [&](std::size_t i) { return a(i) ^ b(i); });
      case KernelOp::kShl:
        return each<T>(result, [&](std::size_t i) { return wrapped(static_cast<U>(a(i)) << (b(i) & kWidthMask)); });
      case KernelOp::kShr:
        return each<T>(result, [&](std::size_t i) { return static_cast<T>(a(i) >> (b(i) & kWidthMask)); });
      default:
        MILLRACE_CHECK(false);
    }
  }

  template <class T>
  void compute_float(KernelOp op, DType to, const Lanes* x, Bits& result) {
    const auto a = [&](std::size_t i) { return get<T>(x[0], i); };
    const auto b = [&](std::size_t i) { return get<T>(x[1], i); };
    switch (op) {
      case KernelOp::kAdd:
        return each<T>(result, [&](std::size_t i) { return a(i) + b(i); });
      case KernelOp::kSub:
        return each<T>(result, [&](std::size_t i) { return a(i) - b(i); });
      case KernelOp::kMul:
        return each<T>(result, [&](std::size_t i) { return a(i) * b(i); });
      case KernelOp::kDiv:
        return each<T>(result, [&](std::size_t i) { return a(i) / b(i); });
      case KernelOp::kMulAdd:
        return each<T>(result, [&](std::size_t i) {
          const T c = get<T>(x[2], i);
          if constexpr (kFused) return std::fma(a(i), b(i), c);
          const T product = a(i) * b(i);
          return product + c;
        });
      case KernelOp::kNeg:
        return each<T>(result, [&](std::size_t i) { return -a(i); });
      case KernelOp::kAbs:
        return each<T>(result, [&](std::size_t i) { return std::fabs(a(i)); });
      case KernelOp::kFloor:
        return each<T>(result, [&](std::size_t i) { return std::floor(a(i)); });
      case KernelOp::kTrunc:
        return each<T>(result, [&](std::size_t i) { return std::trunc(a(i)); });
      case KernelOp::kRoundEven:
        return each<T>(result, [&](std::size_t i) { return std::nearbyint(a(i)); });
      case KernelOp::kConvert:
        if (to == DType::kF64) return each<T>(result, [&](std::size_t i) { return static_cast<double>(a(i)); });
        MILLRACE_CHECK(to == DType::kF32);
        return each<T>(result, [&](std::size_t i) { return static_cast<float>(a(i)); });
      default:
        MILLRACE_CHECK(false);
    }
  }

  std::size_t num_lanes_;
};

}  // namespace millrace::test
