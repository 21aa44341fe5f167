// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "millrace/graph/binding.h"
#include "millrace/graph/graph.h"
#include "tests/stress/stress.h"

namespace millrace::stress {

/// A run of a graph of independent branches over one input: kernels of several kinds, most of which may run
/// concurrently, a loop and a condition.
/// Plain loops give the expected results.
class Branches {
 public:
  static constexpr std::int64_t kMaxRows = 24, kColumns = 20, kPicked = 9;

  using Inputs = std::array<TensorBinding, 4>;
  using Outputs = std::array<TensorBinding, 9>;

  /// x: i32[rows, columns], i: i64[picked], w: f32[columns, columns] and rounds: i64[]; another graph for each factor.
  static Graph graph(std::int64_t factor);

  Branches(std::int64_t factor, std::int64_t rows);
  /// New inputs, now and then with an index that is out of range.
  void fill(Random&);
  void correct_indices();
  Inputs inputs();
  Outputs outputs();
  /// What is not as it should be, or nothing.
  std::string compare() const;

  /// Where the first wrong index is.
  std::optional<std::size_t> wrong_index;
  /// How the message of a run with it ends.
  std::string wrong_index_text() const;

 private:
  std::size_t at(std::int64_t row, std::int64_t column) const {
    return static_cast<std::size_t>(row * kColumns + column);
  }

  std::int64_t factor_, rows_;
  std::vector<std::int32_t> x_, scaled_, sums_, sorted_, running_, picked_;
  std::vector<std::int64_t> indices_;
  std::vector<float> w_, product_;
  std::vector<std::int32_t> joined_, repeated_, chosen_;
  std::int64_t rounds_ = 0;
};

}  // namespace millrace::stress
