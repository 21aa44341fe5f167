// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "millrace/ops/op.h"
#include "tests/reference/tensor.h"

namespace millrace::reference {

/// What every op means, by plain loops over std:: numbers wider than the dtype (__int128 for integers, long double for
/// f64, double otherwise), rounded once at the end. Shares nothing with the library but types and attributes; result
/// shapes are its own. Precondition: operands that the op takes.
std::vector<Tensor> evaluate(Op op, const Attributes& attributes, std::span<const Tensor> operands);

/// Which elements of an accumulating float op come out the same in every order: all partial results are exact in the
/// accumulator, f32 or f64. Means never do: they divide.
std::vector<bool> is_exact_in_any_order(Op op, const Attributes& attributes, std::span<const Tensor> operands);

/// The maximum number of terms that the docs let one accumulator add: of sums, and of sums of products.
inline constexpr std::int64_t kSumBlock = 128, kProductBlock = 512;

/// The bound that the docs state for sums of n terms: |error| <= roundings * u * sum |terms|, roundings being block *
/// levels + joins. Each level adds at most `block` terms, and n decides how many levels there are. The joins add the
/// sums of lanes, vectors and threads: at most 16 additions on any target. A sum of n terms never takes more than n - 1
/// additions. Two more roundings are a product's, and a division's by the count.
long double roundings_of_sum(std::int64_t n, std::int64_t block);

/// How far an accumulating float op's rounding errors may take each element from `evaluate`: of a sum, the bound that
/// its docs state, and one rounding to the result's dtype. Infinite where some orders overflow.
std::vector<long double> rounding_bound(Op op, const Attributes& attributes, std::span<const Tensor> operands);

/// How far each element of a floating-point result may be from `evaluate`, for ops that accumulate: 0 where the order
/// cannot matter, else rounding_bound(). Empty for other ops.
std::vector<long double> accumulation_bound(Op op, const Attributes& attributes, std::span<const Tensor> operands);

/// The distance of neighbours in the dtype at a finite value.
long double ulp_at(DType dtype, long double value);

/// |found - expected| in units in the last place of `expected`; 0 for two NaN and for equal values (-0 equals +0),
/// infinity when one alone is NaN or infinite. Precondition: a float dtype.
long double ulp_distance(DType dtype, long double found, long double expected);

}  // namespace millrace::reference
