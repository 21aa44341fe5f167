// SPDX-License-Identifier: Apache-2.0
// The costs and gains of the thread pool: hand-overs to polling and to sleeping threads; tiny dispatches, compared with
// the inline device; large kernels, and several concurrent kernels, on one thread and on two; and large kernels while
// other processes keep CPUs busy. Required: a dispatch to a polling thread takes at most 1.5 us, a dispatch that wakes
// its thread at most 6 us, and work on 1,000 elements at most 1.05 x the time of the inline device. On a machine with
// two CPUs, two threads are at least 1.25 x as fast as one thread while one other process is busy, and not slower while
// two are. Take the median of several repetitions on an otherwise idle machine: if more threads want to run than there
// are CPUs, a hand-over waits for a CPU.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <random>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include <benchmark/benchmark.h>

#include "hal/host/cpu_set.h"
#include "hal/host/thread_pool.h"
#include "millrace/hal/device.h"
#include "millrace/millrace.h"

namespace millrace {
namespace {

using Clock = std::chrono::steady_clock;

std::shared_ptr<ThreadPool> make_pool(std::uint32_t num_threads) {
  return ThreadPool::create({.num_threads = num_threads}).value();
}

/// A loop over two indices, one of them on the other thread, which polls or sleeps before the loop begins. Measures the
/// time from the call until the other thread has begun, or until the loop has ended. If other programs run, some
/// hand-overs wait for a CPU; the percentiles p10 and p50 over all hand-overs are not affected.
void hand_over(benchmark::State& state, bool is_parked, bool until_begun) {
  const auto pool = make_pool(2);
  const std::thread::id caller = std::this_thread::get_id();
  std::vector<double> all;
  for (auto _ : state) {
    while (is_parked && pool->num_awake() > 0) std::this_thread::sleep_for(std::chrono::microseconds(20));
    std::atomic<std::int64_t> begun_ns = 0;
    const auto begin = Clock::now();
    const auto ns = [&] { return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - begin).count(); };
    const auto body = [&](std::size_t, std::size_t) {
      if (std::this_thread::get_id() != caller) return begun_ns.store(ns());
      // The caller leaves the second index to the other thread, unless that thread does not begin within 100 us.
      while (until_begun && begun_ns == 0 && ns() < 100'000) continue;
    };
    pool->parallel_for(2, 1, body);
    const std::int64_t end_ns = ns();
    all.push_back(static_cast<double>(until_begun && begun_ns != 0 ? begun_ns.load() : end_ns));
    state.SetIterationTime(1e-9 * all.back());
  }
  std::ranges::sort(all);
  state.counters["p10_ns"] = all[all.size() / 10];
  state.counters["p50_ns"] = all[all.size() / 2];
}
BENCHMARK_CAPTURE(hand_over, hot_until_begun, false, true)->UseManualTime();
BENCHMARK_CAPTURE(hand_over, hot_loop, false, false)->UseManualTime();
BENCHMARK_CAPTURE(hand_over, parked_until_begun, true, true)->UseManualTime()->Iterations(2000);
BENCHMARK_CAPTURE(hand_over, parked_loop, true, false)->UseManualTime()->Iterations(2000);

/// The time that the system takes to wake a sleeping thread, which is part of the cost of a parked hand-over.
void wake_alone(benchmark::State& state) {
  std::atomic<int> word = 0, seen = 0;
  std::thread sleeper([&] {
    for (int last = 0; last >= 0; seen = last) {
      word.wait(last);
      last = word;
    }
  });
  std::vector<double> all;
  int number = 0;
  for (auto _ : state) {
    std::this_thread::sleep_for(std::chrono::microseconds(200));
    const auto begin = Clock::now();
    word = ++number;
    word.notify_one();
    const auto end = Clock::now();
    while (seen != number) continue;
    all.push_back(static_cast<double>(std::chrono::duration_cast<std::chrono::nanoseconds>(end - begin).count()));
    state.SetIterationTime(1e-9 * all.back());
  }
  word = -1;
  word.notify_one();
  sleeper.join();
  std::ranges::sort(all);
  state.counters["p50_ns"] = all[all.size() / 2];
}
BENCHMARK(wake_alone)->UseManualTime()->Iterations(2000);

/// A dispatch of two groups of one instruction each. With `shares_small_work`, the device shares it between threads
/// although it is too small for that.
void dispatch_empty(benchmark::State& state, std::uint32_t num_threads, bool shares_small_work) {
  const ExecutableImage image{.target = "cpu:baseline",
                              .info = {.name = "empty"},
                              .bytes = std::vector<std::byte>{std::byte{0xc3}},
                              .code_bytes = 1};
  CommandList list;
  list.kernels.push_back(image.info);
  list.commands.emplace_back(DispatchCommand{.kernel = KernelIndex{}, .num_groups = list.add_size(2)});
  CpuDeviceOptions options{.shares_small_work = shares_small_work};
  if (num_threads > 1) options.executor = make_pool(num_threads);
  const auto device = create_cpu_device(TargetSpec::parse("cpu").value(), options).value();
  const auto recording = device->record(list, device->load(std::span(&image, 1)).value()).value();
  const std::int64_t sizes[] = {2};
  for (auto _ : state) {
    if (!device->submit(*recording, {.sizes = sizes}).ok()) state.SkipWithError("submit failed");
  }
}
BENCHMARK_CAPTURE(dispatch_empty, inline, 1, false);
BENCHMARK_CAPTURE(dispatch_empty, on_2_threads, 2, false);
BENCHMARK_CAPTURE(dispatch_empty, on_2_threads_handed_over, 2, true);

std::vector<float> random_floats(std::int64_t count) {
  std::mt19937 random(1);
  std::uniform_real_distribution<float> numbers(-1, 1);
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) value = numbers(random);
  return values;
}

using Build = Graph (*)(std::int64_t rows, std::int64_t n);

template <class F>
Graph graph_of(std::int64_t rows, std::int64_t n, const F& body) {
  GraphBuilder graph("bench");
  graph.output("y", body(graph.input("x", DType::kF32, {rows, n})));
  return graph.finish().value();
}

constexpr auto add_one = [](Tensor x) { return x + 1.0; };
constexpr auto soften = [](Tensor x) { return softmax(x); };
constexpr auto sort_rows_of = [](Tensor x) { return sort(x, 1).values; };
constexpr auto square = [](Tensor x) { return matmul(x, x); };
constexpr auto first_50 = [](Tensor x) { return topk(x, 50).values; };
/// Three kernels that may run concurrently, and one that joins them.
constexpr auto branch_out = [](Tensor x) { return sort(x, 1).values + softmax(x) + cumulative_sum(x); };
constexpr auto sum_up = [](Tensor x) { return reduce_sum(x, {1}); };
template <auto body>
Graph build(std::int64_t rows, std::int64_t n) {
  return graph_of(rows, n, body);
}

/// Runs a program on `num_threads` threads, over and over.
void run_program_on(benchmark::State& state, std::int64_t num_threads, Build build, std::int64_t rows, std::int64_t n) {
  CompileOptions options;
  options.device = "cpu:threads=" + std::to_string(num_threads);
  const Program program = compile(build(rows, n), options).value();
  Session session = Session::create(program).value();
  const std::vector<float> x = random_floats(rows * n);
  std::vector<float> y(static_cast<std::size_t>(program.outputs()[0].type.shape.num_elements().evaluate({}).value()));
  const std::array inputs{bind(x)}, outputs{bind(y)};
  for (auto _ : state) {
    if (const Status status = session.run(inputs, outputs); !status.ok()) state.SkipWithError(status.message().c_str());
  }
}

/// range(0) is the number of threads.
void run_program(benchmark::State& state, Build build, std::int64_t rows, std::int64_t n) {
  run_program_on(state, state.range(0), build, rows, n);
}
#define MILLRACE_POOL_BENCH(name, body, rows, n) \
  BENCHMARK_CAPTURE(run_program, name, build<body>, rows, n)->Arg(1)->Arg(2)->UseRealTime()
MILLRACE_POOL_BENCH(add_1000, add_one, 1, 1000);
MILLRACE_POOL_BENCH(add_10x100, add_one, 10, 100);
MILLRACE_POOL_BENCH(softmax_8x125, soften, 8, 125);
MILLRACE_POOL_BENCH(sort_8x125, sort_rows_of, 8, 125);
MILLRACE_POOL_BENCH(matmul_32, square, 32, 32);
MILLRACE_POOL_BENCH(sum_8x125, sum_up, 8, 125);
MILLRACE_POOL_BENCH(branches_1x500, branch_out, 1, 500);
MILLRACE_POOL_BENCH(branches_1x4000, branch_out, 1, 4000);
MILLRACE_POOL_BENCH(branches_64x512, branch_out, 64, 512);
MILLRACE_POOL_BENCH(softmax_64x512, soften, 64, 512);
MILLRACE_POOL_BENCH(matmul_128, square, 128, 128);
MILLRACE_POOL_BENCH(add_4M, add_one, 4096, 1024);
MILLRACE_POOL_BENCH(softmax_4096x1024, soften, 4096, 1024);
MILLRACE_POOL_BENCH(topk_128x32000, first_50, 128, 32000);
MILLRACE_POOL_BENCH(matmul_1024, square, 1024, 1024);
MILLRACE_POOL_BENCH(sort_4096x256, sort_rows_of, 4096, 256);
MILLRACE_POOL_BENCH(sort_1M, sort_rows_of, 1, 1'000'000);
MILLRACE_POOL_BENCH(sort_10M, sort_rows_of, 1, 10'000'000);

/// Keeps CPUs busy with other processes during its lifetime. Each process is pinned to one CPU, or runs where the
/// system puts it.
class BusyNeighbours {
 public:
  BusyNeighbours(std::int64_t count, bool is_pinned) {
    const std::vector<std::uint32_t> cpus = usable_cpus();
    for (std::int64_t i = 0; i < count; ++i) {
      const pid_t process = fork();
      are_all_ &= process >= 0;
      if (process == 0) be_busy(cpus[cpus.size() - 1 - static_cast<std::size_t>(i) % cpus.size()], is_pinned);
      processes_.push_back(process);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  BusyNeighbours(const BusyNeighbours&) = delete;
  BusyNeighbours& operator=(const BusyNeighbours&) = delete;
  ~BusyNeighbours() {
    for (const pid_t process : processes_) {
      if (process <= 0) continue;
      kill(process, SIGKILL);
      waitpid(process, nullptr, 0);
    }
  }

  /// Whether the system has started all of them.
  bool are_all() const { return are_all_; }

 private:
  [[noreturn]] static void be_busy(std::uint32_t cpu, bool is_pinned) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (is_pinned && !pin_thread(pthread_self(), cpu).ok()) _exit(1);
    for (volatile std::uint32_t iterations = 0;;) iterations = iterations + 1;
  }

  std::vector<pid_t> processes_;
  bool are_all_ = true;
};

/// range(0) is the number of threads, range(1) is the number of neighbours, and range(2) is 1 if each neighbour is
/// pinned to a CPU.
void run_next_to_busy(benchmark::State& state, Build build, std::int64_t rows, std::int64_t n) {
  const BusyNeighbours neighbours(state.range(1), state.range(2) != 0);
  if (!neighbours.are_all()) return state.SkipWithError("a neighbour could not be started");
  run_program_on(state, state.range(0), build, rows, n);
}
#define MILLRACE_NEIGHBOUR_BENCH(name, body, rows, n)             \
  BENCHMARK_CAPTURE(run_next_to_busy, name, build<body>, rows, n) \
      ->ArgNames({"threads", "busy", "pinned"})                   \
      ->ArgsProduct({{1, 2}, {1, 2}, {0, 1}})                     \
      ->UseRealTime()
MILLRACE_NEIGHBOUR_BENCH(matmul_1024, square, 1024, 1024);
MILLRACE_NEIGHBOUR_BENCH(softmax_4096x1024, soften, 4096, 1024);
MILLRACE_NEIGHBOUR_BENCH(sort_4096x256, sort_rows_of, 4096, 256);
MILLRACE_NEIGHBOUR_BENCH(sort_1M, sort_rows_of, 1, 1'000'000);
MILLRACE_NEIGHBOUR_BENCH(sort_10M, sort_rows_of, 1, 10'000'000);

/// Work that finds the threads asleep, as in a program that runs now and then. It must not take longer than on one
/// thread: the pool wakes a thread only for work that is long enough. range(0) is the number of threads.
void run_after_a_pause(benchmark::State& state) {
  const std::int64_t rows = state.range(1), n = 512;
  CompileOptions options;
  options.device = "cpu:threads=" + std::to_string(state.range(0));
  const Program program = compile(build<soften>(rows, n), options).value();
  Session session = Session::create(program).value();
  const std::vector<float> x = random_floats(rows * n);
  std::vector<float> y(x.size());
  const std::array inputs{bind(x)}, outputs{bind(y)};
  std::vector<double> all;
  for (auto _ : state) {
    std::this_thread::sleep_for(std::chrono::microseconds(200));
    const auto begin = Clock::now();
    const Status status = session.run(inputs, outputs);
    const auto end = Clock::now();
    if (!status.ok()) state.SkipWithError(status.message().c_str());
    all.push_back(static_cast<double>(std::chrono::duration_cast<std::chrono::nanoseconds>(end - begin).count()));
    state.SetIterationTime(1e-9 * all.back());
  }
  std::ranges::sort(all);
  state.counters["p50_ns"] = all[all.size() / 2];
}
BENCHMARK(run_after_a_pause)
    ->ArgsProduct({{1, 2}, {16, 32, 64, 128, 256, 512, 1024}})
    ->UseManualTime()
    ->Iterations(1000);

}  // namespace
}  // namespace millrace
