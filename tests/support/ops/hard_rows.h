// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <random>
#include <span>
#include <string_view>
#include <vector>

#include "tests/reference/tensor.h"

namespace millrace::test {

/// The sizes for which a row is made: some rows are hard for a k, and some for the places where vectors of `lanes`
/// lanes are sampled.
struct RowSize {
  std::int64_t n, k, lanes;
};

/// Rows that are hard for sorts and selections.
struct HardRow {
  enum class Dtypes : std::uint8_t { kAll, kFloats, k64Bits };

  std::string_view name;
  Dtypes dtypes;
  /// The elements as numbers, which integers and narrow floats hold as steps of the same order.
  std::vector<double> (*numbers)(const RowSize&, std::mt19937_64& random);
  /// An alternative to `numbers`: the elements' bits, one by one; narrow dtypes take the lowest bits.
  std::uint64_t (*bits)(std::mt19937_64& random) = nullptr;
};

/// Those that the dtype has.
std::vector<HardRow> hard_rows(DType);

/// Rows along an axis. NaNs get signs and payloads of several kinds.
reference::Tensor make_hard_rows(const HardRow&, DType, const reference::Extents&, std::size_t axis, std::int64_t k,
                                 std::mt19937_64& random);

}  // namespace millrace::test
