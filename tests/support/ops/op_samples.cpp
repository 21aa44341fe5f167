// SPDX-License-Identifier: Apache-2.0
#include "tests/support/ops/op_samples.h"

#include <limits>

#include "tests/reference/evaluate.h"

namespace millrace::test {
namespace {

using reference::Int128;
using reference::Tensor;

void write_special_float(DType dtype, unsigned choice, std::byte* element) {
  constexpr long double kInfinity = std::numeric_limits<long double>::infinity();
  const bool is_small = dtype == DType::kF16 || dtype == DType::kBF16;
  const long double min_positive = dtype == DType::kF64 ? 0x1p-1074L : is_small ? 0x1p-24L : 0x1p-149L;
  const long double greatest = dtype == DType::kF64   ? 0x1.fffffffffffffp1023L
                               : dtype == DType::kF16 ? 65504.0L
                                                      : 0x1.fep127L;
  const long double specials[] = {0.0L,
                                  -0.0L,
                                  1.0L,
                                  -1.0L,
                                  0.5L,
                                  -2.5L,
                                  kInfinity,
                                  -kInfinity,
                                  greatest,
                                  -greatest,
                                  min_positive,
                                  -min_positive,
                                  std::numeric_limits<long double>::quiet_NaN(),
                                  -std::numeric_limits<long double>::quiet_NaN(),
                                  2147483648.0L,
                                  -9.3e18L};
  reference::write_element(dtype, specials[choice % std::size(specials)], element);
}

void write_special_integer(DType dtype, unsigned choice, std::byte* element) {
  const Int128 lowest = reference::lowest_value<Int128>(dtype), highest = reference::highest_value<Int128>(dtype);
  const Int128 specials[] = {0, 1, -1, 2, 7, lowest, lowest + 1, highest, highest - 1, highest / 2 + 1};
  reference::write_element(dtype, specials[choice % std::size(specials)], element);
}

void write_special(DType dtype, unsigned choice, std::byte* element) {
  if (is_float(dtype)) return write_special_float(dtype, choice, element);
  write_special_integer(dtype, choice, element);
}

/// Numbers whose sums and products are exact in any order: for products mostly ones.
double exact_number(Op op, std::uint64_t draw) {
  constexpr double kFactors[] = {1, -1, 1, -1, 1, 1, 2, 0.5};
  if (has_trait(op, kMultiplies)) return kFactors[draw % std::size(kFactors)];
  return static_cast<double>(draw % 9) - 4;
}

void write_usual(const OpCase& row, DType dtype, std::mt19937_64& random, std::byte* element) {
  if (is_float(dtype)) {
    const double unit = std::uniform_real_distribution<double>(0, 1)(random);
    return reference::write_element(dtype, row.low + (row.high - row.low) * unit, element);
  }
  const auto bits = static_cast<std::int64_t>(random());
  // Half of them small, so that ties and exact quotients happen.
  reference::write_element(dtype, static_cast<Int128>((bits & 1) != 0 ? bits : (bits >> 1) % 17), element);
}

Tensor sample_indices(DType dtype, const reference::Extents& extents, std::int64_t axis_extent,
                      std::mt19937_64& random) {
  Tensor indices(dtype, extents);
  for (std::int64_t i = 0; i < indices.num_elements(); ++i) {
    std::uniform_int_distribution<std::int64_t> any(-axis_extent, axis_extent - 1);
    reference::write_element(dtype, static_cast<Int128>(any(random)), indices.element(i));
  }
  return indices;
}

}  // namespace

DType operand_dtype(Op op, std::size_t operand, DType dtype) {
  if (op == Op::select && operand == 0) return DType::kBool;
  if ((op == Op::dot_i32 || op == Op::conv2d_i32) && operand == 1) return DType::kI8;
  if (has_trait(op, kTakesIndices) && operand == 1) return size_bytes(dtype) == 4 ? DType::kI32 : DType::kI64;
  return dtype;
}

Attributes attributes_for(const OpProblem& problem, DType dtype) {
  Attributes attributes = problem.attributes;
  if (problem.bit_cast_to) {
    const std::vector<DType> dtypes = bit_cast_dtypes(dtype);
    return CastAttrs{dtypes[*problem.bit_cast_to % dtypes.size()]};
  }
  if (auto* iota = std::get_if<IotaAttrs>(&attributes)) iota->dtype = dtype;
  if (auto* pad = std::get_if<PadAttrs>(&attributes); pad != nullptr && !pad->value.fits(dtype)) {
    // No integer of the dtype: then the end of its range on that side.
    const bool is_low = pad->value.as_double() < 0;
    const Int128 end = is_low ? reference::lowest_value<Int128>(dtype) : reference::highest_value<Int128>(dtype);
    pad->value = is_low ? Number(static_cast<std::int64_t>(end)) : Number(static_cast<std::uint64_t>(end));
  }
  return attributes;
}

std::vector<Tensor> sample_operands(const OpCase& row, const OpProblem& problem, DType dtype, std::mt19937_64& random) {
  std::vector<Tensor> operands;
  // Accumulating floats have an error bound that could hide small mistakes; every other time the sums are exact.
  const bool is_exact = is_float(dtype) && has_trait(row.op, kAccumulates) && random() % 2 == 0;
  for (std::size_t n = 0; n < problem.operands.size(); ++n) {
    const DType own = operand_dtype(row.op, n, dtype);
    if (has_trait(row.op, kTakesIndices) && n == 1) {
      const auto axis =
          reference::from_front(std::get<GatherAttrs>(problem.attributes).axis, problem.operands[0].size());
      operands.push_back(sample_indices(own, problem.operands[1], problem.operands[0][axis], random));
      continue;
    }
    Tensor operand(own, problem.operands[n]);
    for (std::int64_t i = 0; i < operand.num_elements(); ++i) {
      const auto roll = static_cast<unsigned>(random() >> 40);
      if (!has_trait(row.op, kAccumulates) && roll % 4 == 0) {
        write_special(own, roll / 4, operand.element(i));
      } else if (is_exact) {
        reference::write_element(own, exact_number(row.op, random() >> 8), operand.element(i));
      } else {
        write_usual(row, own, random, operand.element(i));
      }
    }
    operands.push_back(std::move(operand));
  }
  return operands;
}

Tensor sample_specials(DType dtype, const reference::Extents& extents, std::mt19937_64& random) {
  Tensor tensor(dtype, extents);
  for (std::int64_t i = 0; i < tensor.num_elements(); ++i) {
    write_special(dtype, static_cast<unsigned>(random() >> 40), tensor.element(i));
  }
  return tensor;
}

}  // namespace millrace::test
