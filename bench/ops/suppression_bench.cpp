// SPDX-License-Identifier: Apache-2.0
// Non-maximum suppression of 6300 and 25200 boxes, as object detectors produce them, compared with the greedy loop, on
// one thread: name/n/bound.
#include <random>

#include <benchmark/benchmark.h>

#include "bench/ops/peers/plain_suppression.h"
#include "millrace/millrace.h"

namespace {

using namespace millrace;

struct Boxes {
  std::vector<float> corners, scores;
};

/// Boxes of 10 to 110 pixels in an image of 640 x 640.
std::vector<Boxes> make_boxes(std::int64_t n) {
  std::vector<Boxes> all(4);
  std::mt19937 random(7);
  std::uniform_real_distribution<float> place(0, 530), size(10, 110), score(0, 1);
  for (Boxes& boxes : all) {
    for (std::int64_t i = 0; i < n; ++i) {
      const float x = place(random), y = place(random);
      boxes.corners.insert(boxes.corners.end(), {x, y, x + size(random), y + size(random)});
      boxes.scores.push_back(score(random));
    }
  }
  return all;
}

void ours(benchmark::State& state, const std::vector<Boxes>& inputs, std::int64_t bound) {
  const auto n = static_cast<std::int64_t>(inputs[0].scores.size());
  GraphBuilder graph("suppression");
  const Tensor boxes = graph.input("boxes", DType::kF32, {n, 4}), scores = graph.input("scores", DType::kF32, {n});
  const IndicesAndCount kept = non_max_suppression(boxes, scores, bound);
  graph.output("indices", kept.indices);
  graph.output("count", kept.count);
  Session session = Session::create(compile(graph.finish().value(), {.device = "cpu:threads=1"}).value()).value();
  std::vector<std::int64_t> indices(static_cast<std::size_t>(bound));
  std::int64_t count = 0;
  std::size_t iteration = 0;
  for (auto _ : state) {
    const Boxes& given = inputs[iteration++ % inputs.size()];
    const Status status = session.run({bind(given.corners), bind(given.scores)}, {bind(indices), bind(count)});
    if (!status.ok()) state.SkipWithError(status.message().c_str());
  }
  state.counters["kept"] = static_cast<double>(count);
}

void plain(benchmark::State& state, const std::vector<Boxes>& inputs, std::int64_t bound) {
  std::vector<std::int64_t> indices(static_cast<std::size_t>(bound));
  std::int64_t count = 0;
  std::size_t iteration = 0;
  for (auto _ : state) {
    const Boxes& boxes = inputs[iteration++ % inputs.size()];
    count = peers::plain_suppression(boxes.corners.data(), boxes.scores.data(),
                                     static_cast<std::int64_t>(boxes.scores.size()), bound, 0.5f, indices.data());
    benchmark::ClobberMemory();
  }
  state.counters["kept"] = static_cast<double>(count);
}

[[maybe_unused]] const bool kRegistered = [] {
  for (const std::int64_t n : {6300, 25200}) {
    for (const std::int64_t bound : {std::int64_t{100}, std::int64_t{300}, n}) {
      const std::string sizes = "/" + std::to_string(n) + "/" + std::to_string(bound);
      benchmark::RegisterBenchmark(("ours" + sizes).c_str(),
                                   [=](benchmark::State& state) { ours(state, make_boxes(n), bound); });
      benchmark::RegisterBenchmark(("plain" + sizes).c_str(),
                                   [=](benchmark::State& state) { plain(state, make_boxes(n), bound); });
    }
  }
  return true;
}();

}  // namespace
