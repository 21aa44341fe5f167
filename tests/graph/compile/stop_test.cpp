// SPDX-License-Identifier: Apache-2.0
// Runs and compilations that are asked to stop, and code that several threads generate.
#include <array>
#include <chrono>
#include <set>
#include <stop_token>
#include <thread>

#include <doctest/doctest.h>

#include "millrace/graph/compile_report.h"
#include "millrace/graph/program_variant.h"
#include "millrace/hal/device.h"
#include "millrace/hal/executor.h"
#include "millrace/millrace.h"
#include "tests/support/gpu/far_device.h"
#include "tests/support/graphs/run_graph.h"

namespace millrace {
namespace {

/// y = the sorted sums of x's columns, and more kernels that do not depend on it: one for each of `num_more` numbers.
Graph many_kernels(int num_more) {
  GraphBuilder builder("many");
  const Tensor x = builder.input("x", DType::kF32, {8, 16});
  const Tensor sums = reduce_sum(x, {0});
  builder.output("y", sort(sums, 0).values);
  for (int i = 1; i <= num_more; ++i) builder.output("z" + std::to_string(i), reduce_max(sin(x * i), {1}));
  return builder.finish().value();
}

CompileOptions uncached() {
  Context context = *test::test_context();
  context.cache = nullptr;
  CompileOptions options;
  options.context = std::make_shared<const Context>(std::move(context));
  return options;
}

CompileOptions on_far_device() {
  CompileOptions options = uncached();
  options.on_device = test::create_far_device(create_cpu_device(TargetSpec::parse("cpu").value()).value());
  return options;
}

TEST_CASE("a run that is asked to stop ends with kCancelled, and the next run of its session is right") {
  for (const bool is_far : {false, true}) {
    GraphBuilder builder("long");
    const Tensor x = builder.input("x", DType::kI64, {64, 4096});
    Tensor y = x;
    for (int i = 0; i < 20; ++i) y = rem(cumulative_sum(flip(y, {1}), {.axis = 1}), 1000);
    builder.output("y", y);
    CompileOptions options = is_far ? on_far_device() : uncached();
    const Program program = compile(builder.finish().value(), options).value();
    Session session = Session::create(program).value();
    std::vector<std::int64_t> in(64 * 4096), out(in.size()), expected(in.size());
    for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<std::int64_t>(i % 97);
    REQUIRE(session.run({bind(in)}, {bind(expected)}).ok());

    std::stop_source at_once;
    at_once.request_stop();
    const Status stopped = session.run({bind(in)}, {bind(out)}, {}, at_once.get_token());
    CHECK(stopped.code() == StatusCode::kCancelled);
    CHECK(stopped.message().ends_with("stopped on request; what it should have written is unspecified"));
    REQUIRE(session.run({bind(in)}, {bind(out)}).ok());
    CHECK(out == expected);

    // From another thread, earlier and earlier until it comes in time.
    for (std::chrono::microseconds delay{4000};; delay /= 2) {
      std::stop_source stop;
      std::jthread other([&] {
        std::this_thread::sleep_for(delay);
        stop.request_stop();
      });
      const Status status = session.run({bind(in)}, {bind(out)}, {}, stop.get_token());
      other.join();
      if (!status.ok()) {
        CHECK(status.code() == StatusCode::kCancelled);
        break;
      }
      CHECK(out == expected);
      REQUIRE(delay.count() > 0);
    }
    REQUIRE(session.run({bind(in)}, {bind(out)}).ok());
    CHECK(out == expected);
  }
}

TEST_CASE("a submitted run that waits ends at once when it is asked to stop, and so do the runs after it") {
  for (const bool is_far : {false, true}) {
    const Program program = compile(many_kernels(0), is_far ? on_far_device() : uncached()).value();
    Session session = Session::create(program).value();
    const std::vector<float> in(128, 1);
    std::vector<float> first(16), second(16), third(16);
    const auto gate = Semaphore::create();
    std::stop_source stop;
    const Timepoint wait{gate, 1};
    const Timepoint one = session.submit({bind(in)}, {bind(first)}, {}, {&wait, 1}, stop.get_token()).value();
    const Timepoint two = session.submit({bind(in)}, {bind(second)}).value();
    stop.request_stop();
    CHECK(one.wait().code() == StatusCode::kCancelled);
    CHECK(two.wait().code() == StatusCode::kCancelled);
    REQUIRE(gate->signal(1).ok());
    CHECK(first == std::vector<float>(16));
    REQUIRE(session.run({bind(in)}, {bind(third)}).ok());
    CHECK(third == std::vector<float>(16, 8));
  }
}

TEST_CASE(
    "after a stopped run, updated variables can be set or reset, and variables that it only reads are unchanged") {
  using Four = std::array<float, 4>;
  for (const bool is_far : {false, true}) {
    CAPTURE(is_far);
    GraphBuilder builder("count");
    const Tensor x = builder.input("x", DType::kF32, {4});
    const Tensor count = builder.variable("count", {DType::kF32, {4}}, 1);
    const Tensor factor = builder.variable("factor", {DType::kF32, {4}}, 5);
    builder.update(count, count + x);
    builder.output("y", count * factor);
    const Program program = compile(builder.finish().value(), is_far ? on_far_device() : uncached()).value();
    Session session = Session::create(program).value();
    const Four in{1, 2, 3, 4};
    Four y{}, value{};
    const auto stop_one = [&] {
      const auto gate = Semaphore::create();
      std::stop_source stop;
      const Timepoint wait{gate, 1};
      const Timepoint end = session.submit({bind(in)}, {bind(y)}, {}, {&wait, 1}, stop.get_token()).value();
      stop.request_stop();
      CHECK(end.wait().code() == StatusCode::kCancelled);
      REQUIRE(gate->signal(1).ok());
      CHECK(session.get("factor", bind(value)).message() == "");
      CHECK(value == Four{5, 5, 5, 5});
    };
    stop_one();
    REQUIRE(session.reset().message() == "");
    REQUIRE(session.run({bind(in)}, {bind(y)}).message() == "");
    CHECK(y == Four{5, 5, 5, 5});
    stop_one();
    REQUIRE(session.set("count", bind(in)).message() == "");
    REQUIRE(session.run({bind(in)}, {bind(y)}).message() == "");
    CHECK(y == Four{5, 10, 15, 20});
    CHECK(session.get("count", bind(value)).message() == "");
    CHECK(value == Four{2, 4, 6, 8});
  }
}

TEST_CASE("a compilation that is asked to stop ends before the next kernel, on one thread or several") {
  for (const std::uint32_t num_threads : {1u, 3u}) {
    CompileOptions options = uncached();
    options.device = "cpu:threads=1";
    if (num_threads > 1) options.executor = create_thread_pool({.num_threads = num_threads}).value();
    std::stop_source stop;
    options.stop = stop.get_token();
    std::size_t num_begun = 0;
    options.progress = [&](const CompileProgress& progress) {
      num_begun = progress.kernel + 1;
      if (progress.kernel == 2) stop.request_stop();
    };
    const Status status = compile(many_kernels(20), options).status();
    CHECK(status.code() == StatusCode::kCancelled);
    CHECK(status.message().starts_with("compile: stopped on request before kernel '"));
    CHECK(num_begun >= 3);
    CHECK(num_begun <= 2 + num_threads);
    options.stop = {};
    CHECK(compile(many_kernels(20), options).ok());
  }
}

/// What does not depend on threads: each kernel's code, in order.
std::vector<std::vector<std::byte>> code_of(const Program& program) {
  std::vector<std::vector<std::byte>> all;
  for (const ProgramVariant& variant : program.variants()) {
    for (const ExecutableImage& image : variant.images) {
      all.emplace_back(image.bytes.begin(), image.bytes.end());
    }
  }
  return all;
}

TEST_CASE("several threads generate the same code as one, and each kernel is reported in order") {
  CompileOptions options = uncached();
  options.device = "cpu:threads=1";
  options.targets = {"cpu", "amdgpu:gfx1100"};
  const Program alone = compile(many_kernels(12), options).value();
  const std::size_t num_kernels = code_of(alone).size();
  std::set<std::thread::id> ids;
  std::vector<std::size_t> numbers;
  options.progress = [&](const CompileProgress& progress) {
    ids.insert(std::this_thread::get_id());
    numbers.push_back(progress.kernel);
    CHECK(progress.num_kernels == num_kernels);
  };
  SUBCASE("of an executor of the options") { options.executor = create_thread_pool({.num_threads = 4}).value(); }
  SUBCASE("of the device's pool") { options.device = "cpu:threads=4"; }
  const Program together = compile(many_kernels(12), options).value();
  CHECK(code_of(together) == code_of(alone));
  CHECK(ids.size() > 1);
  REQUIRE(numbers.size() == num_kernels);
  for (std::size_t i = 0; i < numbers.size(); ++i) CHECK(numbers[i] == i);
  const std::vector<KernelReport>& reports = together.report().kernel_reports;
  REQUIRE(reports.size() == alone.report().kernel_reports.size());
  for (std::size_t i = 0; i < reports.size(); ++i) CHECK(reports[i].name == alone.report().kernel_reports[i].name);
}

}  // namespace
}  // namespace millrace
