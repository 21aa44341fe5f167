// SPDX-License-Identifier: Apache-2.0
// Every allocation of a call fails once.
#include <array>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "millrace/millrace.h"
#include "tests/support/allocation_count.h"

namespace millrace {
namespace {

constexpr std::string_view kText =
    "graph g(%x: f32[rows in 1..8, 8], %w: f32[8, 16], %i: i32[3]) {\n"
    "  %c = constant(2, 3) : f32[2]\n  %n = neg(%c)\n  %m = reduce_sum(%n) {axes = [0]}\n"
    "  %f = broadcast(%m) {shape = [8, 16]}\n  %v = mul(%w, %f)\n  %p = dot(%x, %v)\n"
    "  %g = gather(%p, %i) {axis = 0}\n  %t = tanh(%g)\n  %values, %indices = sort(%t) {axis = 1}\n"
    "  return values = %values, indices = %indices\n}\n";

/// Has each allocation of `body(prepare())` fail in turn, alone and with all that follow; what `prepare` does never
/// fails. It succeeds all the same or says kResourceExhausted, and gives back all that it took.
template <class Prepare, class Body>
void fail_each_allocation(Prepare prepare, Body body, std::uint64_t stride = 1) {
  REQUIRE(body(prepare()).message() == "");
  auto counted = prepare();
  const std::uint64_t before = num_allocations();
  REQUIRE(body(std::move(counted)).ok());
  const std::uint64_t num = num_allocations() - before;
  REQUIRE(num > 0);
  CAPTURE(num);
  std::uint64_t num_failed = 0, num_leaks = 0;
  std::string wrong;
  for (const Failing which : {Failing::kOne, Failing::kAllFromThere}) {
    for (std::uint64_t n = 0; n < num; n += stride) {
      const std::int64_t live = num_live_allocations();
      {
        auto prepared = prepare();
        Status status;
        {
          const FailingAllocation failing(n, which);
          status = body(std::move(prepared));
        }
        if (!status.ok()) ++num_failed;
        if (!status.ok() && status.code() != StatusCode::kResourceExhausted) wrong = status.message();
      }
      // Wrong messages are kept: they may be longer than the one before.
      if (wrong.empty() && num_live_allocations() != live) ++num_leaks;
    }
  }
  CHECK(num_failed > 0);
  CHECK(wrong == "");
  CHECK(num_leaks == 0);
  CHECK(body(prepare()).message() == "");
}

int nothing() { return 0; }

TEST_CASE("parsing and building survive want of memory anywhere") {
  fail_each_allocation(nothing, [](int) { return parse_graph(kText).status(); });
  const auto operands = [] { return std::pair(Shape{4, 8}, Shape{4, 8}); };
  fail_each_allocation(operands, [](std::pair<Shape, Shape> shapes) {
    GraphBuilder graph("g");
    const Tensor x = graph.input("x", DType::kF32, std::move(shapes.first));
    const std::array<std::byte, 4> two{};
    const Tensor y = graph.constant_bytes({DType::kF32, {}}, two);
    const Tensor z = graph.op1(Op::add, {x, graph.fill(DType::kF32, std::move(shapes.second), 2)});
    const std::vector<Tensor> sorted = graph.op(Op::sort, std::span(&z, 1), SortAttrs{});
    if (!sorted.empty()) graph.output("z", sorted[0]);
    graph.output("y", y);
    return graph.finish().status();
  });
}

}  // namespace
}  // namespace millrace
