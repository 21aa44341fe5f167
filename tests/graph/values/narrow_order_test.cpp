// SPDX-License-Identifier: Apache-2.0
// The order of elements of 8 and 16 bits, in rows whose length a run binds: up to 65536, keys and indices share 32
// bits. Also the memory of sorts of values alone.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include <doctest/doctest.h>

#include "millrace/graph/lowered_graph.h"
#include "millrace/millrace.h"

namespace millrace {
namespace {

/// Whether `a` comes before `b` in ascending order: NaN is greatest.
template <class T>
bool comes_before(T a, T b) {
  const double x = static_cast<double>(static_cast<float>(a)), y = static_cast<double>(static_cast<float>(b));
  if (std::isnan(x) || std::isnan(y)) return !std::isnan(x) && std::isnan(y);
  return x < y;
}

template <class T>
std::vector<std::int64_t> order_of(const std::vector<T>& row, bool descending) {
  std::vector<std::int64_t> order(row.size());
  std::iota(order.begin(), order.end(), 0);
  const auto at = [&](std::int64_t i) { return row[static_cast<std::size_t>(i)]; };
  // The index decides last: clang 19 does not compile GCC 12's ranges::stable_sort.
  std::ranges::sort(order, [&](std::int64_t a, std::int64_t b) {
    const auto first = at(descending ? b : a), second = at(descending ? a : b);
    if (comes_before(first, second)) return true;
    return !comes_before(second, first) && a < b;
  });
  return order;
}

template <class T, class Draw>
void check_order(bool descending, const Draw& draw) {
  GraphBuilder graph("order");
  graph.output("indices", sort(graph.input("x", dtype_of<T>, {Dim("n").at_most(1 << 20)}), 0, descending).indices);
  Session session = Session::create(compile(graph.finish().value()).value()).value();
  std::mt19937 random(7);
  for (const std::size_t n : {0, 1, 15, 16, 17, 255, 256, 257, 5000, 65'535, 65'536, 65'537}) {
    CAPTURE(n);
    std::vector<T> row;
    for (std::size_t i = 0; i < n; ++i) row.push_back(draw(random));
    std::vector<std::int64_t> indices(n);
    const TensorBinding in[] = {bind(row, {static_cast<std::int64_t>(n)})}, out[] = {bind(indices)};
    REQUIRE(session.run(in, out).message() == "");
    CHECK((indices == order_of(row, descending)));
  }
}

TEST_CASE("orders of narrow elements are right on both sides of the longest rows with short indices") {
  const auto any_half = [](std::mt19937& random) { return Half::from_bits(static_cast<std::uint16_t>(random())); };
  const auto any_u16 = [](std::mt19937& random) { return static_cast<std::uint16_t>(random()); };
  const auto any_i8 = [](std::mt19937& random) { return static_cast<std::int8_t>(random()); };
  for (const bool descending : {false, true}) {
    check_order<Half>(descending, any_half);
    check_order<std::uint16_t>(descending, any_u16);
    check_order<std::int8_t>(descending, any_i8);
  }
}

TEST_CASE("a sort of values of 8 or 16 bits takes memory for counters, not for keys, on every level") {
  const auto context = make_default_context();
  for (const DType dtype :
       {DType::kU8, DType::kI8, DType::kBool, DType::kU16, DType::kI16, DType::kF16, DType::kBF16}) {
    for (const std::string level :
         {"cpu:baseline", "cpu:avx2", "cpu:avx512", "cpu:avx512+vbmi2", "cpu:avx512+vbmi2+vpopcntdq"}) {
      for (const std::int64_t k : {std::int64_t{2'200'000'000}, std::int64_t{1'000'000'000}}) {
        CAPTURE(to_text(dtype));
        CAPTURE(level);
        CAPTURE(k);
        GraphBuilder graph;
        const Tensor x = graph.input("x", dtype, {2'200'000'000});
        graph.output("y", k == 1'000'000'000 ? topk(x, k).values : sort(x).values);
        const auto lowered = lower_graph(graph.finish().value(), context->target(level).value());
        REQUIRE_MESSAGE(lowered.ok(), lowered.status().message());
        CHECK(lowered->schedule.slab_bytes.constant() <= 1 << 20);
      }
    }
  }
}

}  // namespace
}  // namespace millrace
