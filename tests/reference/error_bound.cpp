// SPDX-License-Identifier: Apache-2.0
#include "tests/reference/evaluate.h"

namespace millrace::reference {
namespace {

struct Precision {
  int fraction_bits, least_exponent;
};

Precision precision_of(DType dtype) {
  switch (dtype) {
    case DType::kF16:
      return {10, -14};
    case DType::kBF16:
      return {7, -126};
    case DType::kF32:
      return {23, -126};
    default:
      return {52, -1022};
  }
}

long double ulp_at(DType dtype, long double value) {
  const Precision precision = precision_of(dtype);
  const int exponent = value == 0 ? precision.least_exponent : std::ilogb(value);
  return std::ldexp(1.0L, std::max(exponent, precision.least_exponent) - precision.fraction_bits);
}

Tensor magnitudes(const Tensor& tensor) {
  std::vector<long double> values = read_all<long double>(tensor);
  for (long double& value : values) value = std::fabs(value);
  return make_tensor(tensor.type.dtype, tensor.extents(), values);
}

bool accumulates(Op op) {
  switch (op) {
    case Op::reduce_sum:
    case Op::reduce_prod:
    case Op::reduce_mean:
    case Op::dot:
    case Op::conv2d:
    case Op::avg_pool2d:
    case Op::cumulative_sum:
    case Op::cumulative_prod:
      return true;
    default:
      return false;
  }
}

/// Points that one result element accumulates.
std::int64_t num_points(Op op, const Attributes& attributes, std::span<const Tensor> operands) {
  const Extents x = operands[0].extents();
  std::int64_t points = 1;
  if (op == Op::dot) {
    for (const std::int64_t d : std::get<DotAttrs>(attributes).x_contract) points *= x[from_front(d, x.size())];
  } else if (op == Op::conv2d) {
    const Extents weights = operands[1].extents();
    points = weights[1] * weights[2] * weights[3];
  } else if (op == Op::cumulative_sum || op == Op::cumulative_prod) {
    points = x[from_front(std::get<ScanAttrs>(attributes).axis, x.size())];
  } else if (op == Op::avg_pool2d) {
    points = count(std::get<Pool2dAttrs>(attributes).window);
  } else {
    for (const std::int64_t d : std::get<ReduceAttrs>(attributes).axes) points *= x[from_front(d, x.size())];
  }
  return points;
}

}  // namespace

std::vector<long double> accumulation_bound(Op op, const Attributes& attributes, std::span<const Tensor> operands) {
  const DType dtype = operands.empty() ? DType::kI64 : operands[0].type.dtype;
  if (!accumulates(op) || !is_float(dtype)) return {};
  std::vector<Tensor> absolute;
  for (const Tensor& operand : operands) absolute.push_back(magnitudes(operand));
  const std::vector<Tensor> sums = evaluate(op, attributes, absolute);
  const long double epsilon = dtype == DType::kF64 ? 0x1p-52L : 0x1p-23L;
  const auto points = static_cast<long double>(num_points(op, attributes, operands));
  std::vector<long double> bounds = read_all<long double>(sums[0]);
  for (long double& bound : bounds) bound = points * epsilon * bound + ulp_at(dtype, bound);
  if (op != Op::reduce_prod && op != Op::cumulative_prod) return bounds;
  // Each partial product may lose the least step of the dtype that it is kept in, which factors above 1 then raise.
  std::vector<long double> factors = read_all<long double>(absolute[0]);
  for (long double& factor : factors) factor = std::max(factor, 1.0L);
  absolute[0] = make_tensor(dtype, absolute[0].extents(), factors);
  const std::vector<long double> raised = read_all<long double>(evaluate(op, attributes, absolute)[0]);
  const long double least = ulp_at(dtype == DType::kF64 ? DType::kF64 : DType::kF32, 0);
  for (std::size_t i = 0; i < bounds.size(); ++i) bounds[i] += points * least * raised[i];
  return bounds;
}

long double ulp_distance(DType dtype, long double found, long double expected) {
  if (std::isnan(found) || std::isnan(expected)) {
    return std::isnan(found) && std::isnan(expected) ? 0 : std::numeric_limits<long double>::infinity();
  }
  if (found == expected) return 0;
  if (std::isinf(found) || std::isinf(expected)) return std::numeric_limits<long double>::infinity();
  return std::fabs(found - expected) / ulp_at(dtype, expected);
}

}  // namespace millrace::reference
