// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <random>
#include <vector>

#include "millrace/graph/graph.h"

namespace millrace::test {

enum class GraphSize {
  kSmall,  // values of up to 3000 elements
  kLarge,  // up to 20,000, in rows longer than 3000 too
};

/// What random graphs are made from: numbers, and sizes over up to two symbols with three bindings that keep their
/// facts. Draw in statements of their own: a compiler may evaluate arguments in any order.
class RandomChoice {
 public:
  explicit RandomChoice(std::uint64_t seed, GraphSize size = GraphSize::kSmall);

  std::uint64_t seed() { return random_(); }
  std::uint64_t below(std::uint64_t end) { return random_() % end; }
  std::int64_t from_1_to(std::uint64_t maximum) { return 1 + static_cast<std::int64_t>(below(maximum)); }
  bool chance(unsigned percent) { return below(100) < percent; }
  template <class Range>
  const auto& one_of(const Range& range) {
    return std::begin(range)[below(std::size(range))];
  }

  DType any_dtype();
  /// A number from 0 to 257, or to 9001 in large graphs; or, every other time where there are symbols, one of them,
  /// plus 1 or doubled.
  SizeExpr any_extent();
  /// Rank 0 to 3.
  Shape any_shape();
  /// -rank to rank - 1.
  std::int64_t any_axis(std::size_t rank);
  std::vector<std::int64_t> any_permutation(std::size_t rank);

  const std::vector<SymbolValues>& bindings() const { return bindings_; }
  /// The size under every binding; nothing when one cannot be counted.
  std::optional<std::vector<std::int64_t>> sizes(const SizeExpr&) const;
  GraphSize size() const { return size_; }
  /// Whether every binding gives a shape, and one of few elements.
  bool is_small(const Shape&) const;

 private:
  std::mt19937_64 random_;
  GraphSize size_;
  std::vector<Dim> symbols_;
  std::vector<SymbolValues> bindings_;
};

}  // namespace millrace::test
