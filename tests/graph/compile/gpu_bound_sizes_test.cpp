// SPDX-License-Identifier: Apache-2.0
// Sorts, TopK and scans whose sizes a run binds do about as much work on simulated GPUs as those compiled for these
// sizes, and give the same bytes.
#include <cstring>
#include <optional>
#include <random>

#include <doctest/doctest.h>

#include "millrace/hal/device.h"
#include "millrace/hal/sim_device.h"
#include "millrace/millrace.h"
#include "tests/support/graphs/run_graph.h"
#include "tests/support/sliced.h"

namespace millrace {
namespace {

constexpr std::int64_t kMaxK = 100;  // of a k that a run binds

enum class Order { kSort, kArgsort, kTopK, kSum };
constexpr Order kOrders[] = {Order::kSort, Order::kArgsort, Order::kTopK, Order::kSum};

/// The sizes of one run: of the graph itself, or of its symbols.
struct Sizes {
  SizeExpr rows, n, k;
};
struct Bound {
  std::int64_t rows = 0, n = 0, k = 0;
};

Graph graph_of(Order order, const Sizes& sizes) {
  GraphBuilder builder("bound");
  Tensor x = builder.input("x", DType::kF32, {sizes.rows, sizes.n});
  switch (order) {
    case Order::kSort:
      builder.output("y", sort(x).values);
      break;
    case Order::kArgsort:
      builder.output("y", sort(x, -1, /*descending=*/true).indices);
      break;
    case Order::kTopK: {
      const auto [values, indices] = topk(x, sizes.k);
      builder.output("values", values);
      builder.output("indices", indices);
      break;
    }
    case Order::kSum:
      builder.output("y", cumulative_sum(x));
      break;
  }
  return builder.finish().value();
}

/// Whole numbers with ties, whose sums are all exact.
reference::Tensor make_rows(const Bound& bound) {
  reference::Tensor x(DType::kF32, {bound.rows, bound.n});
  std::mt19937 random(7);
  for (std::int64_t i = 0; i < x.num_elements(); ++i) {
    const auto element = static_cast<float>(random() % 40) - 20;
    std::memcpy(x.element(i), &element, sizeof element);
  }
  return x;
}

class OnSimulator {
 public:
  OnSimulator(const char* target, const Graph& graph) : device_(open(target)) {
    CompileOptions options;
    options.context = test::test_context();
    options.on_device = device_;
    program_ = compile(graph, options).value();
  }

  std::vector<reference::Tensor> run(const reference::Tensor& x, std::span<const DimBinding> dims) {
    const auto outputs = test::run_guarded(*program_, {&x, 1}, dims, 1);
    REQUIRE(outputs.status().message() == "");
    return *outputs;
  }
  /// Counts the last run's.
  std::uint64_t lane_instructions() const {
    std::uint64_t sum = 0;
    for (const SimDispatch& dispatch : device_->dispatches()) sum += dispatch.counts.lane_instructions;
    return sum;
  }

 private:
  static std::shared_ptr<SimDevice> open(const char* target) {
    return create_sim_device(TargetSpec::parse(target).value()).value();
  }
  std::shared_ptr<SimDevice> device_;
  std::optional<Program> program_;
};

/// Runs the program that was compiled for symbolic sizes, and one that is compiled for these sizes.
void compare(OnSimulator& any, Order order, const Bound& bound, const char* target, bool binds_k) {
  CAPTURE(target);
  CAPTURE(static_cast<int>(order));
  CAPTURE(bound.rows);
  CAPTURE(bound.n);
  CAPTURE(bound.k);
  CAPTURE(binds_k);
  const reference::Tensor x = make_rows(bound);
  OnSimulator one(target, graph_of(order, {bound.rows, bound.n, bound.k}));
  const std::vector<reference::Tensor> expected = one.run(x, {});
  const DimBinding dims[] = {{"k", bound.k}};
  const std::vector<reference::Tensor> found = any.run(x, std::span(dims).first(binds_k ? 1 : 0));
  REQUIRE(found.size() == expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) CHECK(found[i].bytes == expected[i].bytes);
  // A row of one element needs no exchange: its way through workgroup memory shows.
  const double max_ratio = bound.n <= 1 ? 1.6 : 1.3;
  CHECK(static_cast<double>(any.lane_instructions()) <= max_ratio * static_cast<double>(one.lane_instructions()));
}

void check_orders(const char* target, const Sizes& any, std::span<const Order> orders, std::span<const Bound> bounds) {
  for (const Order order : orders) {
    OnSimulator program(target, graph_of(order, any));
    const bool binds_k = order == Order::kTopK && !any.k.is_constant();
    for (const Bound& bound : bounds) compare(program, order, bound, target, binds_k);
  }
}

}  // namespace

TEST_CASE("sorts, TopK and scans of sizes that a run binds cost as much as those of known sizes" * test::Sliced()) {
  constexpr Bound kBounds[] = {{1156, 2, 2},   {512, 256, 8}, {7, 33, 8},    {1, 1000, 8}, {3, 5000, 8},
                               {1, 100000, 8}, {5, 64, 40},   {66, 4100, 9}, {5, 700, 90}, {1, 1, 1},
                               {3, 1, 0},      {0, 5, 3},     {4, 0, 0}};
  const Sizes any{Dim("rows"), Dim("n"), Dim("k").at_most(kMaxK)};
  check_orders("sim:gfx1100", any, kOrders, kBounds);
  check_orders("sim:gfx90a", any, kOrders, std::span(kBounds).first(5));
}

TEST_CASE("if only k, the rows or their size is known, a run costs no more either") {
  constexpr Bound kOfK[] = {{1156, 8, 8}, {64, 256, 8}, {7, 33, 8}, {1, 1000, 8}, {3, 5000, 8}, {1, 100000, 8}};
  constexpr Order kSelect[] = {Order::kTopK};
  check_orders("sim:gfx1100", {Dim("rows"), Dim("n").at_least(8), 8}, kSelect, kOfK);
  constexpr Bound kOfRows[] = {{0, 9000, 30}, {1, 9000, 30}, {65, 9000, 30}};
  check_orders("sim:gfx1100", {Dim("rows"), 9000, 30}, kSelect, kOfRows);
  constexpr Bound kOfN[] = {{3, 20, 12}, {3, 2000, 12}, {3, 20000, 12}};
  check_orders("sim:gfx90a", {3, Dim("n").at_least(12), 12}, kSelect, kOfN);
}

}  // namespace millrace
