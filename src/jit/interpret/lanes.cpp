// SPDX-License-Identifier: Apache-2.0
// The steps of lanewise instructions, reductions over lanes, splats and iotas.
#include <type_traits>

#include "jit/interpret/program.h"
#include "jit/ir/host_ops.h"

namespace millrace::interpreter {
namespace {

using host_ops::HostOp;

template <KernelOp kOp, class T>
const Step* run_unary(const Step* step, Frame& frame) {
  auto* __restrict out = frame.at<T>(step->out);
  const T* __restrict a = frame.at<const T>(step->in[0]);
  const std::uint32_t lanes = step->lanes;
  for (std::uint32_t i = 0; i < lanes; ++i) out[i] = HostOp<kOp>::apply(a[i]);
  return step + 1;
}

template <KernelOp kOp, class T>
const Step* run_binary(const Step* step, Frame& frame) {
  using R = decltype(HostOp<kOp>::apply(T{}, T{}));
  auto* __restrict out = frame.at<R>(step->out);
  const T* a = frame.at<const T>(step->in[0]);
  const T* b = frame.at<const T>(step->in[1]);
  const std::uint32_t lanes = step->lanes;
  for (std::uint32_t i = 0; i < lanes; ++i) out[i] = HostOp<kOp>::apply(a[i], b[i]);
  return step + 1;
}

template <KernelOp kOp, class First, class T>
const Step* run_ternary(const Step* step, Frame& frame) {
  auto* __restrict out = frame.at<T>(step->out);
  const First* a = frame.at<const First>(step->in[0]);
  const T* b = frame.at<const T>(step->in[1]);
  const T* c = frame.at<const T>(step->in[2]);
  const std::uint32_t lanes = step->lanes;
  for (std::uint32_t i = 0; i < lanes; ++i) out[i] = HostOp<kOp>::apply(a[i], b[i], c[i]);
  return step + 1;
}

template <class To, class From>
const Step* run_convert(const Step* step, Frame& frame) {
  To* __restrict out = frame.at<To>(step->out);
  const From* __restrict a = frame.at<const From>(step->in[0]);
  const std::uint32_t lanes = step->lanes;
  for (std::uint32_t i = 0; i < lanes; ++i) out[i] = host_ops::convert<To>(a[i]);
  return step + 1;
}

template <KernelOp kOp, class T>
const Step* run_reduce(const Step* step, Frame& frame) {
  T* left = frame.at<T>(step->in[1]);
  const T* values = frame.at<const T>(step->in[0]);
  for (std::uint32_t thread = 0; thread < frame.num_threads; ++thread, values += step->lanes) {
    for (std::uint32_t i = 0; i < step->lanes; ++i) left[i] = values[i];
    for (std::uint32_t half = step->lanes / 2; half > 0; half /= 2) {
      for (std::uint32_t i = 0; i < half; ++i) left[i] = HostOp<kOp>::apply(left[i], left[i + half]);
    }
    frame.at<T>(step->out)[thread] = left[0];
  }
  return step + 1;
}

template <class T>
const Step* run_lane_iota(const Step* step, Frame& frame) {
  T* out = frame.at<T>(step->out);
  for (std::uint32_t thread = 0; thread < frame.num_threads; ++thread, out += step->lanes) {
    for (std::uint32_t i = 0; i < step->lanes; ++i) out[i] = static_cast<T>(i);
  }
  return step + 1;
}

template <class T>
const Step* run_splat(const Step* step, Frame& frame) {
  const T* values = frame.at<const T>(step->in[0]);
  T* out = frame.at<T>(step->out);
  for (std::uint32_t thread = 0; thread < frame.num_threads; ++thread, out += step->lanes) {
    const T value = values[thread];
    for (std::uint32_t i = 0; i < step->lanes; ++i) out[i] = value;
  }
  return step + 1;
}

template <KernelOp kOp, class T>
constexpr Handler pick_handler() {
  if constexpr (!takes(kOp, dtype_of<T>) || !is_register_dtype(dtype_of<T>)) {
    return nullptr;
  } else if constexpr (kOp == KernelOp::kSelect) {
    return run_ternary<kOp, bool, T>;
  } else if constexpr (num_operands(kOp) == 1) {
    return run_unary<kOp, T>;
  } else if constexpr (num_operands(kOp) == 2) {
    return run_binary<kOp, T>;
  } else {
    return run_ternary<kOp, T, T>;
  }
}

template <KernelOp kReduce, KernelOp kOp>
Handler pick_reduce(DType dtype) {
  return visit_dtype(dtype, []<class T>() -> Handler {
    if constexpr (takes(kReduce, dtype_of<T>)) return run_reduce<kOp, T>;
    return nullptr;
  });
}

}  // namespace

Handler lanewise_handler(KernelOp op, DType operand, DType result) {
  if (op == KernelOp::kConvert) return convert_handler(operand, result);
  return host_ops::visit_lanewise(op, [&]<KernelOp kOp>() -> Handler {
    if constexpr (rule_of(kOp) == KernelOpRule::kConvert || kOp == KernelOp::kConstant) {
      return nullptr;  // decode() handles bitcasts and constants
    } else {
      return visit_dtype(operand, []<class T>() { return pick_handler<kOp, T>(); });
    }
  });
}

Handler convert_handler(DType operand, DType result) {
  return visit_dtype(operand, [&]<class From>() {
    return visit_dtype(result, []<class To>() -> Handler {
      if constexpr (is_register_dtype(dtype_of<From>) && is_register_dtype(dtype_of<To>)) return run_convert<To, From>;
      return nullptr;
    });
  });
}

Handler reduce_handler(KernelOp op, DType dtype) {
  switch (op) {
    case KernelOp::kReduceAdd:
      return pick_reduce<KernelOp::kReduceAdd, KernelOp::kAdd>(dtype);
    case KernelOp::kReduceMul:
      return pick_reduce<KernelOp::kReduceMul, KernelOp::kMul>(dtype);
    case KernelOp::kReduceMin:
      return pick_reduce<KernelOp::kReduceMin, KernelOp::kMin>(dtype);
    case KernelOp::kReduceMax:
      return pick_reduce<KernelOp::kReduceMax, KernelOp::kMax>(dtype);
    default:
      return nullptr;
  }
}

Handler lane_iota_handler(DType dtype) {
  return visit_dtype(dtype, []<class T>() -> Handler {
    if constexpr (takes(KernelOp::kLaneIota, dtype_of<T>)) return run_lane_iota<T>;
    return nullptr;
  });
}

Handler splat_handler(DType dtype) {
  return visit_dtype(dtype, []<class T>() -> Handler { return run_splat<T>; });
}

}  // namespace millrace::interpreter
