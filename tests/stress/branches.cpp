// SPDX-License-Identifier: Apache-2.0
#include "tests/stress/branches.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "millrace/millrace.h"

namespace millrace::stress {
namespace {

std::size_t count(std::int64_t rows, std::int64_t columns) { return static_cast<std::size_t>(rows * columns); }

}  // namespace

Graph Branches::graph(std::int64_t factor) {
  GraphBuilder builder("branches");
  const Tensor x = builder.input("x", DType::kI32, {Dim("rows").at_least(1).at_most(kMaxRows), kColumns});
  const Tensor i = builder.input("i", DType::kI64, {kPicked});
  const Tensor w = builder.input("w", DType::kF32, {kColumns, kColumns});
  builder.output("picked", gather(x, i, 0));
  builder.output("scaled", x * static_cast<double>(factor) + 1);
  builder.output("sums", reduce_sum(x, {1}));
  builder.output("sorted", sort(x, 1).values);
  builder.output("running", cumulative_sum(x, {.axis = 1}));
  builder.output("product", matmul(cast(x, DType::kF32), w));
  builder.output("joined", concat({x * 2, x - 1}, 1));
  const Tensor rounds = builder.input("rounds", DType::kI64, {});
  const Tensor zero = builder.constant(Shape{}, std::array{std::int64_t{0}});
  const std::vector<Tensor> last = builder.while_loop(
      {zero, x}, [&](std::span<const Tensor> state) { return less(state[0], rounds); },
      [&](std::span<const Tensor> state) { return std::vector{state[0] + 1, state[1] + flip(x, {1})}; });
  builder.output("repeated", last[1]);
  builder.output("chosen", builder.if_else(
                               less(rounds, 2), [&] { return std::vector{cumulative_sum(x, {.axis = 0})}; },
                               [&] { return std::vector{x * 3}; })[0]);
  return builder.finish().value();
}

Branches::Branches(std::int64_t factor, std::int64_t rows)
    : factor_(factor),
      rows_(rows),
      x_(count(rows, kColumns)),
      scaled_(x_.size()),
      sums_(count(rows, 1)),
      sorted_(x_.size()),
      running_(x_.size()),
      picked_(count(kPicked, kColumns)),
      indices_(kPicked),
      w_(count(kColumns, kColumns)),
      product_(x_.size()),
      joined_(2 * x_.size()),
      repeated_(x_.size()),
      chosen_(x_.size()) {}

void Branches::fill(Random& random) {
  // So small that sums of products in f32 are exact.
  for (std::int32_t& each : x_) each = static_cast<std::int32_t>(random.from_to(-1000, 1000));
  for (float& each : w_) each = static_cast<float>(random.from_to(-100, 100));
  for (std::int64_t& each : indices_) each = random.from_to(-rows_, rows_ - 1);
  rounds_ = random.from_to(0, 5);
  wrong_index.reset();
  if (!random.chance(15)) return;
  wrong_index = random.below(indices_.size());
  indices_[*wrong_index] = random.chance(50) ? rows_ : -rows_ - 1;
}

void Branches::correct_indices() {
  if (wrong_index) indices_[*wrong_index] = 0;
  wrong_index.reset();
}

Branches::Inputs Branches::inputs() { return {bind(x_, {rows_, kColumns}), bind(indices_), bind(w_), bind(rounds_)}; }

Branches::Outputs Branches::outputs() {
  return {bind(picked_),  bind(scaled_), bind(sums_),     bind(sorted_), bind(running_),
          bind(product_), bind(joined_), bind(repeated_), bind(chosen_)};
}

std::string Branches::wrong_index_text() const {
  return fmt::format(
      "= gather: index {} at [{}] of operand 1, %i of i64[{}], is outside axis 0 of operand 0, %x of i32[{}x{}]; "
      "give "
      "{} to {}",
      indices_[*wrong_index], *wrong_index, kPicked, rows_, kColumns, -rows_, rows_ - 1);
}

std::string Branches::compare() const {
  for (std::int64_t row = 0; row < rows_; ++row) {
    std::vector<std::int32_t> ordered(x_.begin() + row * kColumns, x_.begin() + (row + 1) * kColumns);
    std::sort(ordered.begin(), ordered.end());
    std::int32_t sum = 0;
    for (std::int64_t column = 0; column < kColumns; ++column) {
      const std::size_t here = at(row, column);
      const std::string place = fmt::format(" at [{}, {}] of {} rows, factor {}", row, column, rows_, factor_);
      sum += x_[here];
      float product = 0;
      for (std::int64_t k = 0; k < kColumns; ++k) product += static_cast<float>(x_[at(row, k)]) * w_[at(k, column)];
      if (scaled_[here] != x_[here] * factor_ + 1) return "scaled is wrong" + place;
      if (sorted_[here] != ordered[static_cast<std::size_t>(column)]) return "sorted is wrong" + place;
      if (running_[here] != sum) return "running is wrong" + place;
      if (product_[here] != product) return "product is wrong" + place;
      const std::int32_t* const joined = joined_.data() + row * 2 * kColumns + column;
      if (joined[0] != 2 * x_[here] || joined[kColumns] != x_[here] - 1) return "joined is wrong" + place;
      const std::int32_t opposite = x_[at(row, kColumns - 1 - column)];
      if (repeated_[here] != x_[here] + rounds_ * opposite) return "repeated is wrong" + place;
      std::int32_t above = 0;
      for (std::int64_t i = 0; i <= row; ++i) above += x_[at(i, column)];
      if (chosen_[here] != (rounds_ < 2 ? above : 3 * x_[here])) return "chosen is wrong" + place;
    }
    if (sums_[static_cast<std::size_t>(row)] != sum) return fmt::format("sums is wrong at [{}] of {} rows", row, rows_);
  }
  for (std::int64_t i = 0; i < kPicked; ++i) {
    const std::int64_t index = indices_[static_cast<std::size_t>(i)], row = index < 0 ? index + rows_ : index;
    for (std::int64_t column = 0; column < kColumns; ++column) {
      if (picked_[at(i, column)] != x_[at(row, column)]) return fmt::format("picked is wrong at [{}, {}]", i, column);
    }
  }
  return {};
}

}  // namespace millrace::stress
