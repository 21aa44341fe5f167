// SPDX-License-Identifier: Apache-2.0
#include "tests/support/random/random_choice.h"

#include <algorithm>

namespace millrace::test {
namespace {

constexpr std::int64_t max_elements(GraphSize size) { return size == GraphSize::kSmall ? 3000 : 20'000; }

}  // namespace

RandomChoice::RandomChoice(std::uint64_t seed, GraphSize size) : random_(seed), size_(size) {
  // Bounded: one that is left in no input's extents is bound by name.
  const Dim dims[] = {Dim("n").at_most(64), Dim("m").at_least(1).at_most(64), Dim("rows").at_most(40).multiple_of(4),
                      Dim("k").at_most(6)};
  bindings_.resize(3);
  for (std::uint64_t i = 0, count = below(3); i < count; ++i) {
    const Dim& dim = dims[below(4)];
    symbols_.push_back(dim);
    for (SymbolValues& values : bindings_) {
      std::int64_t value = 0;
      do value = static_cast<std::int64_t>(below(9) == 0 ? below(37) : below(9));
      while (!dim.allows(value));
      values[dim.name()] = value;
    }
  }
  if (symbols_.empty()) bindings_.resize(1);
}

DType RandomChoice::any_dtype() { return chance(50) ? DType::kF32 : one_of(kAllDTypes); }

SizeExpr RandomChoice::any_extent() {
  if (!symbols_.empty() && chance(50)) {
    const SizeExpr symbol = one_of(symbols_);
    return chance(80) ? symbol : chance(50) ? symbol + 1 : symbol * 2;
  }
  constexpr std::int64_t kLong[] = {3001, 4096, 4097, 5000, 9001};
  if (size_ == GraphSize::kLarge && chance(30)) return one_of(kLong);
  constexpr std::int64_t kExtents[] = {0, 1, 1, 2, 3, 4, 5, 7, 8, 16, 17, 33, 65, 257};
  return one_of(kExtents);
}

Shape RandomChoice::any_shape() {
  std::vector<SizeExpr> dims;
  for (std::uint64_t i = 0, rank = below(4); i < rank; ++i) dims.push_back(any_extent());
  return is_small(Shape(dims)) ? Shape(std::move(dims)) : Shape({4, 5});
}

std::int64_t RandomChoice::any_axis(std::size_t rank) {
  const auto ends = static_cast<std::int64_t>(std::max<std::size_t>(rank, 1));
  return static_cast<std::int64_t>(below(2 * static_cast<std::uint64_t>(ends))) - ends;
}

std::vector<std::int64_t> RandomChoice::any_permutation(std::size_t rank) {
  std::vector<std::int64_t> permutation;
  for (std::size_t d = 0; d < rank; ++d) permutation.push_back(static_cast<std::int64_t>(d));
  for (std::size_t d = rank; d-- > 1;) std::swap(permutation[d], permutation[below(d + 1)]);
  return permutation;
}

std::optional<std::vector<std::int64_t>> RandomChoice::sizes(const SizeExpr& size) const {
  std::vector<std::int64_t> found;
  for (const SymbolValues& values : bindings_) {
    const Result<std::int64_t> value = size.evaluate(values);
    if (!value.ok()) return std::nullopt;
    found.push_back(*value);
  }
  return found;
}

bool RandomChoice::is_small(const Shape& shape) const {
  for (const SizeExpr& dim : shape.dims()) {
    const auto extents = sizes(dim);
    if (!extents || std::ranges::any_of(*extents, [](std::int64_t extent) { return extent < 0; })) return false;
  }
  const auto counts = sizes(shape.num_elements());
  return counts && std::ranges::all_of(*counts, [&](std::int64_t count) { return count <= max_elements(size_); });
}

}  // namespace millrace::test
