// SPDX-License-Identifier: Apache-2.0
// Tables of contenders and problems for the programs that measure sorts and selections: name/rows/n/order, or
// name/rows/n/k/order.
#pragma once

#include <cstring>
#include <span>
#include <stdexcept>
#include <string>

#include <benchmark/benchmark.h>

#include "bench/ops/rows.h"
#include "millrace/base/dtype.h"
#include "millrace/graph/binding.h"
#include "tests/support/ops/hard_rows.h"

namespace millrace::bench {

struct Problem {
  std::int64_t rows, n, k = 0;  // k = 0: sorts whole rows
  friend bool operator==(const Problem&, const Problem&) = default;
};

/// The extents of a tensor with the problem's rows along its middle axis. The elements of `columns` neighbouring rows
/// are interleaved.
inline Extents extents_of(const Problem& problem, std::int64_t columns) {
  return {problem.rows / columns, problem.n, columns};
}

struct Contender {
  const char* name;
  /// Uses the inputs that inputs_of() returns for the problem and the order.
  void (*run)(benchmark::State&, const Problem&, std::string_view order);
  std::span<const Problem> problems;
  std::span<const std::string_view> orders;
};

inline constexpr std::span<const std::string_view> kUsualOrders = kOrderNames;
inline constexpr std::span<const std::string_view> kRandom = kUsualOrders.first(1);
/// Names of test::hard_rows(), for contenders that can order NaN.
inline constexpr std::string_view kHardOrders[] = {"one change",
                                                   "sorted with a random tail",
                                                   "organ pipe",
                                                   "sawtooth",
                                                   "killer of the median of 3",
                                                   "killer of sampled vectors",
                                                   "two values",
                                                   "Zipf",
                                                   "ties for the first k",
                                                   "first ones in one chunk",
                                                   "first ones in one lane",
                                                   "masked to fewer than k",
                                                   "mixed zeros",
                                                   "NaN in 1 of 1000",
                                                   "NaN in half",
                                                   "all NaN"};

/// Rows that are hard for sorts and selections, by name.
template <class T>
std::vector<std::vector<T>> make_hard_inputs(const Problem& problem, std::string_view name) {
  std::mt19937_64 random(1);
  for (const test::HardRow& row : test::hard_rows(dtype_of<T>)) {
    if (row.name != name) continue;
    std::vector<std::vector<T>> inputs;
    while (inputs.size() < kInputs) {
      const auto made = test::make_hard_rows(row, dtype_of<T>, {problem.rows, problem.n}, 1, problem.k, random);
      std::vector<T>& input = inputs.emplace_back(static_cast<std::size_t>(problem.rows * problem.n));
      std::memcpy(input.data(), made.bytes.data(), made.bytes.size());
    }
    return inputs;
  }
  throw std::invalid_argument("no such order: " + std::string(name));
}

/// The inputs that every contender uses in turn. The most recent inputs are kept, because the next contender often uses
/// the same.
template <class T>
const std::vector<std::vector<T>>& inputs_of(const Problem& problem, std::string_view order) {
  static Problem last_problem{-1, -1};
  static std::string last_order;
  static std::vector<std::vector<T>> inputs;
  if (last_problem == problem && last_order == order) return inputs;
  inputs = {};
  const auto usual = std::ranges::find(kOrderNames, order);
  inputs = usual == kOrderNames.end()
               ? make_hard_inputs<T>(problem, order)
               : make_inputs<T>(problem.rows, problem.n, static_cast<Order>(usual - kOrderNames.begin()));
  last_problem = problem;
  last_order = order;
  return inputs;
}

inline void register_contenders(std::span<const Contender> contenders) {
  for (const Contender& contender : contenders) {
    for (const Problem& problem : contender.problems) {
      for (const std::string_view order : contender.orders) {
        std::string name = std::string(contender.name) + "/" + std::to_string(problem.rows) + "/" +
                           std::to_string(problem.n) + (problem.k > 0 ? "/" + std::to_string(problem.k) : "") + "/" +
                           std::string(order);
        std::ranges::replace(name, ' ', '_');
        benchmark::RegisterBenchmark(name.c_str(), [=](benchmark::State& state) {
          contender.run(state, problem, order);
          state.SetItemsProcessed(state.iterations() * problem.rows * problem.n);
        });
      }
    }
  }
}

}  // namespace millrace::bench
