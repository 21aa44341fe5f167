// SPDX-License-Identifier: Apache-2.0
// Rows of every size and pattern, sorted, selected and scanned by whole graphs on simulated GPUs.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include <doctest/doctest.h>

#include "millrace/millrace.h"
#include "tests/reference/evaluate.h"
#include "tests/support/graphs/run_graph.h"
#include "tests/support/ops/op_driver.h"
#include "tests/support/sliced.h"

namespace millrace {
namespace {

using ReferenceTensor = reference::Tensor;

enum class Pattern { kRandom, kTies, kEqual, kAscending, kDescending, kNaN, kInfinities, kSubnormals, kZeros };

/// An element by its place among n and a number drawn for it.
float element_of(Pattern pattern, std::int64_t i, std::int64_t n, std::uint64_t draw) {
  const float one_of_many = static_cast<float>(draw % 20'000'000) - 1e7F, sign = draw % 2 == 0 ? 1.0F : -1.0F;
  switch (pattern) {
    case Pattern::kRandom:
      return one_of_many;
    case Pattern::kTies:
      return static_cast<float>(draw % 7);
    case Pattern::kEqual:
      return -2.5F;
    case Pattern::kAscending:
      return static_cast<float>(i - n / 2);
    case Pattern::kDescending:
      return static_cast<float>(n / 2 - i);
    case Pattern::kNaN:
      return draw % 16 < 3 ? std::copysign(std::numeric_limits<float>::quiet_NaN(), sign) : one_of_many;
    case Pattern::kInfinities:
      return draw % 16 < 4 ? sign * std::numeric_limits<float>::infinity() : one_of_many;
    case Pattern::kSubnormals:
      return sign * static_cast<float>(draw / 2 % 100) * std::numeric_limits<float>::denorm_min();
    case Pattern::kZeros:
      return draw % 16 == 0 ? sign : sign * 0.0F;
  }
  return 0;
}

ReferenceTensor make_keys(Pattern pattern, std::int64_t n) {
  ReferenceTensor keys(DType::kF32, {n});
  std::mt19937_64 random(static_cast<std::uint64_t>(n));
  for (std::int64_t i = 0; i < n; ++i) {
    const float element = element_of(pattern, i, n, random());
    std::memcpy(keys.element(i), &element, sizeof(element));
  }
  return keys;
}

/// A node of the graph, and which of its results are outputs.
struct Ordering {
  Op op;
  Attributes attributes;
  std::uint32_t used_results;
};
constexpr std::uint32_t kValues = 1, kIndices = 2, kBoth = 3;

std::vector<Ordering> orderings_of(std::int64_t n) {
  const auto at_most_n = [n](std::int64_t k) { return SizeExpr(std::min(k, n)); };
  return {{Op::sort, SortAttrs{}, kBoth},
          {Op::sort, SortAttrs{.descending = true}, kIndices},
          {Op::topk, TopKAttrs{.k = at_most_n(50)}, kBoth},
          {Op::topk, TopKAttrs{.k = at_most_n(8), .largest = false}, kIndices},
          {Op::topk, TopKAttrs{.k = at_most_n(3000), .sorted = false}, kValues},
          {Op::cumulative_sum, ScanAttrs{}, kValues},
          {Op::cumulative_max, ScanAttrs{.exclusive = true, .reverse = true}, kValues}};
}

Program compile_orderings(std::span<const Ordering> orderings, std::int64_t n, const std::string& device) {
  GraphBuilder builder("orders");
  const Tensor x = builder.input("x", DType::kF32, {n});
  for (const Ordering& ordering : orderings) {
    const std::vector<Tensor> results = builder.op(ordering.op, {&x, 1}, ordering.attributes);
    for (std::size_t i = 0; i < results.size(); ++i) {
      const std::string name = "y" + std::to_string(builder.graph().outputs.size());
      if ((ordering.used_results >> i & 1) != 0) builder.output(name, results[i]);
    }
  }
  CompileOptions options;
  options.context = test::test_context();
  options.device = device;
  return compile(builder.finish().value(), options).value();
}

/// What is wrong with the program's outputs for these keys; nothing: they are the oracle's.
std::string complaint_of(const Program& program, std::span<const Ordering> orderings, const ReferenceTensor& keys) {
  const int num_runs = keys.num_elements() <= 4096 ? 2 : 1;  // a long run takes a second
  const auto outputs = test::run_guarded(program, {&keys, 1}, {}, num_runs);
  if (!outputs.ok()) return outputs.status().message();
  auto next = outputs->begin();
  for (const Ordering& ordering : orderings) {
    test::OpTrial trial{ordering.op, ordering.attributes, {&keys, 1}, 0, {}, ""};
    trial.options.used_results = ordering.used_results;
    const auto first = next;
    next += std::popcount(ordering.used_results);
    const std::string wrong =
        test::compare_results(trial, {first, next}, reference::evaluate(ordering.op, ordering.attributes, {&keys, 1}));
    if (!wrong.empty()) return std::string(to_text(ordering.op)) + " " + to_text(ordering.attributes) + ": " + wrong;
  }
  return "";
}

void check_size(std::int64_t n, std::span<const Pattern> patterns, const std::string& device) {
  CAPTURE(device);
  CAPTURE(n);
  const std::vector<Ordering> orderings = orderings_of(n);
  const Program program = compile_orderings(orderings, n, device);
  for (const Pattern pattern : patterns) {
    CAPTURE(static_cast<int>(pattern));
    CHECK(complaint_of(program, orderings, make_keys(pattern, n)) == "");
  }
}

}  // namespace

TEST_CASE("rows of every size and pattern are in the oracle's order on simulated GPUs" * test::Sliced()) {
  constexpr Pattern kAll[] = {Pattern::kRandom,     Pattern::kTies,       Pattern::kEqual,
                              Pattern::kAscending,  Pattern::kDescending, Pattern::kNaN,
                              Pattern::kInfinities, Pattern::kSubnormals, Pattern::kZeros};
  for (const std::int64_t n : {0, 1, 2, 31, 32, 33, 63, 64, 65, 255, 256, 257, 1000, 1024, 4096, 8000, 32000}) {
    for (const char* device : {"sim:gfx1100", "sim:gfx90a"}) check_size(n, kAll, device);
  }
  // The longest take a second each, so each pattern runs on one of the two.
  check_size(100003, std::span(kAll).first(5), "sim:gfx1100");
  check_size(100003, std::span(kAll).last(4), "sim:gfx90a");
}

}  // namespace millrace
