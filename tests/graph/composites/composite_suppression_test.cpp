// SPDX-License-Identifier: Apache-2.0
// Non-maximum suppression against the greedy loop that defines it.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <random>

#include <doctest/doctest.h>

#include "millrace/millrace.h"
#include "tests/graph/run/far_programs.h"
#include "tests/support/graphs/run_graph.h"

namespace millrace {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

struct Scene {
  std::vector<float> boxes, scores;  // [n, 4] and [n]
  std::size_t size() const { return scores.size(); }
};

/// Boxes around some centres, on a grid, so that many overlap by exactly as much; scores of few values, so that many
/// are equal. Some corners are exchanged, some boxes are empty, some scores are NaN or infinite.
Scene scene(std::size_t n, std::uint32_t seed) {
  std::mt19937 random(seed);
  const auto below = [&](std::uint32_t end) { return static_cast<float>(random() % end); };
  Scene made;
  for (std::size_t i = 0; i < n; ++i) {
    const float x = below(6) * 8 + below(3), y = below(6) * 8 + below(3);
    const float width = below(9), height = below(9);
    const bool is_mirrored = random() % 4 == 0;
    made.boxes.insert(made.boxes.end(), {is_mirrored ? x + width : x, y, is_mirrored ? x : x + width, y + height});
    const std::uint32_t kind = random() % 64;
    made.scores.push_back(kind == 0   ? std::nanf("")
                          : kind == 1 ? -kInfinity
                          : kind == 2 ? kInfinity
                                      : below(50) / 8 - 1);
  }
  return made;
}

float overlap(const float* a, const float* b) {
  const auto [ax0, ax1] = std::minmax(a[0], a[2]);
  const auto [ay0, ay1] = std::minmax(a[1], a[3]);
  const auto [bx0, bx1] = std::minmax(b[0], b[2]);
  const auto [by0, by1] = std::minmax(b[1], b[3]);
  const float width = std::max(std::min(ax1, bx1) - std::max(ax0, bx0), 0.f);
  const float height = std::max(std::min(ay1, by1) - std::max(ay0, by0), 0.f);
  const float shared = width * height;
  return shared / ((ax1 - ax0) * (ay1 - ay0) + (bx1 - bx0) * (by1 - by0) - shared);
}

/// Sorts by score, the first of equals first, then keeps each box that no kept one overlaps too much.
std::vector<std::int64_t> greedy(const Scene& given, std::size_t bound, float max_overlap, float min_score) {
  std::vector<std::int64_t> order, kept;
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (given.scores[i] > min_score) order.push_back(static_cast<std::int64_t>(i));
  }
  const auto score = [&](std::int64_t i) { return given.scores[static_cast<std::size_t>(i)]; };
  std::ranges::sort(order,
                    [&](std::int64_t i, std::int64_t k) { return score(i) != score(k) ? score(i) > score(k) : i < k; });
  const auto box = [&](std::int64_t i) { return given.boxes.data() + 4 * i; };
  for (const std::int64_t i : order) {
    const auto hides = [&](std::int64_t other) { return overlap(box(other), box(i)) > max_overlap; };
    if (kept.size() < bound && std::ranges::none_of(kept, hides)) kept.push_back(i);
  }
  return kept;
}

Graph suppression(const SizeExpr& n, const SizeExpr& bound, double max_overlap, double min_score) {
  GraphBuilder graph("suppression");
  const Tensor boxes = graph.input("boxes", DType::kF32, {n, 4}), scores = graph.input("scores", DType::kF32, {n});
  const IndicesAndCount kept = non_max_suppression(boxes, scores, bound, max_overlap, min_score);
  graph.output("indices", kept.indices);
  graph.output("count", kept.count);
  return graph.finish().value();
}

void check(Session& session, const Scene& given, std::size_t bound, float max_overlap, float min_score) {
  const auto n = static_cast<std::int64_t>(given.size());
  std::vector<std::int64_t> indices(bound);
  std::int64_t count = -1;
  REQUIRE(session.run({bind(given.boxes, Extents{n, 4}), bind(given.scores, Extents{n})}, {bind(indices), bind(count)})
              .message() == "");
  std::vector<std::int64_t> expected = greedy(given, bound, max_overlap, min_score);
  CHECK(count == static_cast<std::int64_t>(expected.size()));
  expected.resize(bound, -1);
  CHECK(indices == expected);
}

TEST_CASE("non_max_suppression keeps the boxes that the greedy loop keeps, on every kind of device") {
  const auto run = [](const CompileOptions& options) {
    for (const auto& [max_overlap, min_score] : {std::pair{0.5f, -kInfinity}, {0.f, 1.f}, {1.f / 3, -0.5f}}) {
      for (const std::size_t bound : {5, 40}) {
        const Graph graph = suppression(40, static_cast<std::int64_t>(bound), max_overlap, min_score);
        const Result<Program> program = compile(graph, options);
        REQUIRE(program.status().message() == "");
        Session session = Session::create(*program).value();
        check(session, scene(40, 1), bound, max_overlap, min_score);
      }
    }
  };
  test::on_near_and_far(run);
  CompileOptions isa;
  isa.context = test::isa_context();
  isa.device = "isa:gfx1100";
  run(isa);
}

TEST_CASE("non_max_suppression of sizes that a run binds, and of the numbers of boxes that detectors have") {
  for (const CompileOptions& options : test::every_way_to_compile()) {
    const Result<Program> program = compile(suppression(Dim("n").at_most(30000), 100, 0.5, -kInfinity), options);
    REQUIRE(program.status().message() == "");
    Session session = Session::create(*program).value();
    const bool is_compiled = options.lowering.compile.force_generator != "interpreter";
    for (const std::size_t n : {0, 1, 2, 333, 6300, 25200}) {
      if (n < 1000 || is_compiled) check(session, scene(n, static_cast<std::uint32_t>(n)), 100, 0.5f, -kInfinity);
    }
  }
}

TEST_CASE("non_max_suppression of no boxes, and with a bound of 0") {
  for (const auto& [n, bound] : {std::pair<std::int64_t, std::int64_t>{0, 0}, {0, 3}, {7, 0}}) {
    Session session = Session::create(compile(suppression(n, bound, 0.5, -kInfinity)).value()).value();
    check(session, scene(static_cast<std::size_t>(n), 3), static_cast<std::size_t>(bound), 0.5f, -kInfinity);
  }
}

TEST_CASE("non_max_suppression computes boxes of 16 bits in f32, and reads in texts") {
  const Result<Graph> graph = parse_graph(
      "graph g(%boxes: f16[3, 4], %scores: f16[3]) {\n"
      "  %kept, %count = non_max_suppression(%boxes, %scores) {bound = 2, max_overlap = 0.25}\n"
      "  return kept = %kept, count = %count\n}\n");
  REQUIRE(graph.status().message() == "");
  Session session = Session::create(compile(*graph).value()).value();
  const std::array<Half, 12> boxes = {Half(0), Half(0), Half(4), Half(4), Half(1), Half(0),
                                      Half(5), Half(4), Half(8), Half(8), Half(9), Half(9)};
  const std::array<Half, 3> scores = {Half(1), Half(2), Half(0.5f)};
  std::array<std::int64_t, 2> kept{};
  std::int64_t count = 0;
  REQUIRE(session.run({bind(boxes), bind(scores)}, {bind(kept), bind(count)}).message() == "");
  CHECK(kept == std::array<std::int64_t, 2>{1, 2});
  CHECK(count == 2);
}

TEST_CASE("non_max_suppression reports operands that do not fit") {
  const auto complaint = [](const TensorType& boxes, const TensorType& scores) {
    GraphBuilder graph;
    const IndicesAndCount kept =
        non_max_suppression(graph.input("b", boxes.dtype, boxes.shape), graph.input("s", scores.dtype, scores.shape));
    graph.output("y", kept.indices);
    return graph.finish().status().message();
  };
  const std::string end = ", expected boxes[n, 4] and scores[n] of one float dtype; reshape or cast one";
  CHECK(complaint({DType::kF32, {5, 4}}, {DType::kF32, {6}}) ==
        "non_max_suppression: operands are f32[5x4] and f32[6]" + end);
  CHECK(complaint({DType::kF32, {5, 3}}, {DType::kF32, {5}}) ==
        "non_max_suppression: operands are f32[5x3] and f32[5]" + end);
  CHECK(complaint({DType::kI32, {5, 4}}, {DType::kI32, {5}}) ==
        "non_max_suppression: operands are i32[5x4] and i32[5]" + end);
}

}  // namespace
}  // namespace millrace
