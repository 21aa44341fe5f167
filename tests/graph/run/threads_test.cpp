// SPDX-License-Identifier: Apache-2.0
// Programs on cpu devices with threads: the pool of a context, the same bits as on one thread, concurrent sessions.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <fstream>
#include <random>
#include <string>
#include <thread>

#include <doctest/doctest.h>

#include "millrace/hal/device.h"
#include "millrace/millrace.h"
#include "tests/support/executors.h"
#include "tests/support/graphs/run_graph.h"

namespace millrace {
namespace {

using F = std::vector<float>;

/// Rows are normalised, multiplied and ordered: kernels of several kinds, nearly all of them large enough to be shared.
Graph ranked_products(std::int64_t rows, std::int64_t n) {
  GraphBuilder graph("ranked");
  const Tensor x = graph.input("x", DType::kF32, {rows, n}), w = graph.input("w", DType::kF32, {n, n});
  const Tensor product = matmul(softmax(x), w);
  graph.output("sorted", sort(product, 1).values);
  graph.output("sums", reduce_sum(cumulative_sum(product * x), {1}));
  return graph.finish().value();
}

F random_floats(std::int64_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> numbers(-1, 1);
  F values(static_cast<std::size_t>(count));
  for (float& value : values) value = numbers(random);
  return values;
}

Program compiled(Graph graph, std::shared_ptr<const Context> context, std::string device) {
  CompileOptions options;
  options.context = std::move(context);
  options.device = std::move(device);
  return compile(std::move(graph), options).value();
}

/// What a run leaves.
struct Results {
  Results(std::int64_t rows, std::int64_t n)
      : sorted(static_cast<std::size_t>(rows * n)), sums(static_cast<std::size_t>(rows)) {}
  F sorted, sums;
  friend bool operator==(const Results&, const Results&) = default;
};

Status run(Session& session, const F& x, const F& w, Results& results) {
  return session.run(std::array{bind(x), bind(w)}, std::array{bind(results.sorted), bind(results.sums)});
}

int num_threads_of_process() {
  std::ifstream status("/proc/self/status");
  std::string word;
  while (status >> word && word != "Threads:") continue;
  int count = 0;
  status >> count;
  return count;
}

}  // namespace

TEST_CASE("a program gives the same bits on 1, 2, 3 and 8 threads, and on an executor of the application's") {
  constexpr std::int64_t kRows = 300, kN = 257;
  const auto context = test::test_context();
  const Program one = compiled(ranked_products(kRows, kN), context, "cpu");
  const F x = random_floats(kRows * kN, 1), w = random_floats(kN * kN, 2);
  Results expected(kRows, kN);
  Session first = Session::create(one).value();
  REQUIRE(run(first, x, w, expected).ok());
  std::vector<std::shared_ptr<Device>> devices;
  for (const char* spec : {"cpu:threads=1", "cpu:threads=2", "cpu:threads=3", "cpu:threads=8,pinned=on"}) {
    devices.push_back(context->device(spec).value());
  }
  for (const auto kind : {test::ExecutorKind::kSerial, test::ExecutorKind::kReverse, test::ExecutorKind::kThreadEach}) {
    devices.push_back(create_cpu_device(TargetSpec::parse("cpu").value(),
                                        {.executor = test::make_executor(kind, 5), .shares_small_work = true})
                          .value());
  }
  for (const auto& device : devices) {
    CAPTURE(device->name());
    Session session = Session::create(one.on(device).value()).value();
    for (int iteration = 0; iteration < 6; ++iteration) {
      Results found(kRows, kN);
      REQUIRE(run(session, x, w, found).message() == "");
      CHECK(found == expected);
    }
  }
}

TEST_CASE("programs of one context share its threads, which end with the last of them") {
  const auto context = test::test_context();
  (void)compiled(ranked_products(2, 8), context, "cpu");  // starts every thread that compiling starts
  const int before = num_threads_of_process();
  {
    std::vector<Program> programs;
    for (const std::int64_t n : {8, 16, 24}) {
      programs.push_back(compiled(ranked_products(2, n), context, "cpu:threads=3"));
    }
    CHECK(num_threads_of_process() == before + 2);
  }
  CHECK(num_threads_of_process() == before);
}

TEST_CASE("a wrong index is reported identically on several threads") {
  const auto context = test::test_context();
  std::vector<std::string> messages;
  for (const char* device : {"cpu", "cpu:threads=3"}) {
    GraphBuilder graph("picked");
    const Tensor x = graph.input("x", DType::kF32, {100}), i = graph.input("i", DType::kI64, {400'000});
    graph.output("y", gather(x, i, 0));
    Session session = Session::create(compiled(graph.finish().value(), context, device)).value();
    F values(100, 1), y(400'000);
    std::vector<std::int64_t> indices(400'000);
    indices[7] = 100;
    indices[399'999] = -101;
    for (int iteration = 0; iteration < 3; ++iteration) {
      messages.push_back(session.run(std::array{bind(values), bind(indices)}, std::array{bind(y)}).message());
    }
  }
  CHECK(messages[0] ==
        "run: %2 = gather: index 100 at [7] of operand 1, %i of i64[400000], is outside axis 0 of operand 0, %x of "
        "f32[100]; give -100 to 99");
  CHECK(std::ranges::count(messages, messages[0]) == 6);
}

TEST_CASE("sessions of several programs run at once on one pool, and wait for each other") {
  constexpr std::int64_t kRows = 64, kN = 96;
  const auto context = test::test_context();
  const Program large = compiled(ranked_products(kRows, kN), context, "cpu:threads=3");
  const Program small = compiled(ranked_products(3, 8), context, "cpu:threads=3");
  const F x = random_floats(kRows * kN, 1), w = random_floats(kN * kN, 2);
  Results large_expected(kRows, kN), small_expected(3, 8);
  {
    Session session = Session::create(large).value(), other = Session::create(small).value();
    REQUIRE(run(session, x, w, large_expected).ok());
    REQUIRE(other
                .run(std::array{bind(std::span(x).first(24)), bind(std::span(w).first(64))},
                     std::array{bind(small_expected.sorted), bind(small_expected.sums)})
                .ok());
  }
  std::atomic<int> num_right = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      // Sessions come and go, and the pool's threads fall asleep between.
      for (int iteration = 0; iteration < 15; ++iteration) {
        Session session = Session::create(t % 2 == 0 ? large : small).value();
        Results found = t % 2 == 0 ? Results(kRows, kN) : Results(3, 8);
        const auto in = std::array{bind(std::span(x).first(t % 2 == 0 ? x.size() : 24)),
                                   bind(std::span(w).first(t % 2 == 0 ? w.size() : 64))};
        const auto out = std::array{bind(found.sorted), bind(found.sums)};
        const Timepoint gate{Semaphore::create(), 1};
        const Timepoint end = session.submit(in, out, {}, std::span(&gate, 1)).value();
        CHECK(gate.semaphore->signal(1).ok());
        const bool is_right = end.wait().ok() && found == (t % 2 == 0 ? large_expected : small_expected);
        Results again = t % 2 == 0 ? Results(kRows, kN) : Results(3, 8);
        const Status status = session.run(in, std::array{bind(again.sorted), bind(again.sums)});
        if (is_right && status.ok() && again == found) ++num_right;
        if (iteration % 5 == 4) std::this_thread::sleep_for(std::chrono::microseconds(300));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(num_right == 60);
}

TEST_CASE("a device with threads ends just after work, and while its threads sleep") {
  const Graph graph = ranked_products(200, 64);
  const auto context = test::test_context();
  const F x = random_floats(200 * 64, 1), w = random_floats(64 * 64, 2);
  for (int iteration = 0; iteration < 10; ++iteration) {
    const Program program = compiled(graph, context, "cpu:threads=" + std::to_string(2 + iteration % 3));
    Session session = Session::create(program).value();
    Results found(200, 64);
    CHECK(run(session, x, w, found).ok());
    if (iteration % 2 == 1) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

}  // namespace millrace
