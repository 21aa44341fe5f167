// SPDX-License-Identifier: Apache-2.0
// Sessions on devices near and far: memory of the caller's and of the device's, sizes, mistakes and threads.
#include <array>
#include <functional>
#include <optional>
#include <thread>
#include <utility>

#include <doctest/doctest.h>

#include "millrace/graph/lowered_graph.h"
#include "millrace/graph/program_variant.h"
#include "millrace/hal/device.h"
#include "millrace/hal/transfer.h"
#include "millrace/millrace.h"
#include "tests/graph/run/far_programs.h"
#include "tests/support/graphs/run_graph.h"

namespace millrace {
namespace {

using namespace test;
using F = std::vector<float>;

bool is_hip(const CompileOptions& options) { return options.on_device->name().starts_with("hip:"); }

TensorBinding part(const Buffer& buffer, std::size_t offset_bytes, std::size_t size_bytes) {
  return {.size_bytes = size_bytes, .buffer = &buffer, .offset_bytes = offset_bytes};
}

TEST_CASE("arguments are the caller's memory, the device's buffers, or some of each") {
  on_near_and_far([](const CompileOptions& options) {
    Device& device = *options.on_device;
    const Program program = affine(options);
    F x{1, 2}, w{10, 20};
    const auto far_x = to_device(device, x), far_w = to_device(device, w), far_y = to_device(device, F{0, 0});
    const F expected{12, 24};
    for (int way = 0; way < 8; ++way) {
      CAPTURE(way);
      Session session = Session::create(program).value();
      F y(2);
      REQUIRE(upload(device, *far_y, std::as_bytes(std::span(y))).ok());
      const std::array inputs{(way & 1) != 0 ? bind(*far_x) : bind(x), (way & 2) != 0 ? bind(*far_w) : bind(w)};
      const std::array outputs{(way & 4) != 0 ? bind(*far_y) : bind(y)};
      REQUIRE(session.run(inputs, outputs).message() == "");
      CHECK(((way & 4) != 0 ? from_device(device, *far_y) : y) == expected);
    }
  });
}

TEST_CASE("one session takes memory of either kind from run to run") {
  on_near_and_far([](const CompileOptions& options) {
    Device& device = *options.on_device;
    Session session = Session::create(affine(options)).value();
    F x{1, 2}, w{0, 0}, y(2);
    const auto far_x = to_device(device, F{5, 6}), far_y = to_device(device, F{0, 0});
    for (int round = 0; round < 3; ++round) {
      y = {0, 0};
      REQUIRE(session.run(std::array{bind(x), bind(w)}, std::array{bind(y)}).ok());
      CHECK(y == F{2, 4});
      REQUIRE(session.run(std::array{bind(*far_x), bind(w)}, std::array{bind(*far_y)}).ok());
      CHECK(from_device(device, *far_y) == F{10, 12});
    }
  });
}

TEST_CASE("arguments may be parts of one buffer, and the bytes next to them stay") {
  on_near_and_far([](const CompileOptions& options) {
    Device& device = *options.on_device;
    Session session = Session::create(affine(options)).value();
    const auto all = to_device(device, F{-1, 1, 2, -1, 10, 20, -1, 0, 0, -1});
    REQUIRE(session.run(std::array{part(*all, 4, 8), part(*all, 16, 8)}, std::array{part(*all, 28, 8)}).message() ==
            "");
    CHECK(from_device(device, *all) == F{-1, 1, 2, -1, 10, 20, -1, 12, 24, -1});
  });
}

TEST_CASE("one program's output buffer is the next one's input, without the host") {
  on_near_and_far([](const CompileOptions& options) {
    Device& device = *options.on_device;
    Session session = Session::create(affine(options)).value();
    const auto w = to_device(device, F{1, 1});
    auto from = to_device(device, F{1, 2}), to = to_device(device, F{0, 0});
    for (int i = 0; i < 4; ++i) {
      REQUIRE(session.submit(std::array{bind(*from), bind(*w)}, std::array{bind(*to)}).value().wait().ok());
      std::swap(from, to);
    }
    CHECK(from_device(device, *from) == F{31, 47});
  });
}

TEST_CASE("buffers are checked like other memory") {
  on_near_and_far([](const CompileOptions& options) {
    Device& device = *options.on_device;
    Session session = Session::create(affine(options)).value();
    F w{1, 2}, y(2);
    const auto x = to_device(device, F{1, 2, 3});
    const auto run = [&](const TensorBinding& given) {
      return session.run(std::array{given, bind(w)}, std::array{bind(y)}).message();
    };
    CHECK(run(bind(*x)) == "run: input 'x' has 12 bytes, expected 8 for f32[2]; bind the whole tensor");
    CHECK(run(part(*x, 2, 8)) == "run: input 'x' is not aligned to 4 bytes, as f32 needs; bind aligned memory");
    CHECK(run(part(*x, 8, 8)) ==
          "submit: input 'x' is 8 bytes at offset 8 of a buffer of 12 bytes, expected a range inside it");
    const auto foreign = on_far("cpu").on_device->allocate(8).value();
    CHECK(run(bind(*foreign)) ==
          "submit: input 'x' is a buffer of another device; bind one that device '" + device.name() + "' allocated");
    CHECK(session.run(std::array{part(*x, 0, 8), bind(w)}, std::array{part(*x, 4, 8)}).message() ==
          "run: output 'y' shares memory with input 'x'; give it its own");
    CHECK(run(part(*x, 4, 8)) == "");
    CHECK(y == F{5, 8});
  });
}

TEST_CASE("sizes grow and shrink from run to run") {
  on_near_and_far([](const CompileOptions& options) {
    Session session = Session::create(ranked_sum(options)).value();
    for (const std::size_t n : {3u, 700u, 1u, 0u, 700u, 40u, 1500u, 2u}) {
      CAPTURE(n);
      F x = counting_down(n), y(n);
      REQUIRE(session.run(std::array{bind(x, extents_of(x))}, std::array{bind(y)}).message() == "");
      CHECK(y == sums_up_to(n));
    }
  });
}

TEST_CASE("a wrong index is reported as on the host, and the session continues") {
  on_near_and_far([](const CompileOptions& options) {
    Session session = Session::create(picked(options)).value();
    F x{1, 2, 3, 4}, y(1);
    std::vector<std::int64_t> i{4};
    const auto run = [&] { return session.run(std::array{bind(x), bind(i)}, std::array{bind(y)}); };
    for (int round = 0; round < 3; ++round) {
      i[0] = 4;
      CHECK(run().message() == kWrongIndex);
      CHECK(run().code() == StatusCode::kOutOfRange);
      i[0] = -2;
      CHECK(run().ok());
      CHECK(y == F{3});
    }
  });
}

TEST_CASE("a wrong index in the device's own memory is reported, too") {
  on_near_and_far([](const CompileOptions& options) {
    Device& device = *options.on_device;
    Session session = Session::create(picked(options)).value();
    const auto x = to_device(device, F{1, 2, 3, 4}), y = to_device(device, F{0});
    const auto i = device.allocate(16).value();
    const std::int64_t indices[] = {0, 4};
    REQUIRE(upload(device, *i, std::as_bytes(std::span(indices))).ok());
    const auto run = [&](std::size_t offset) {
      return session.run(std::array{bind(*x), part(*i, offset, 8)}, std::array{bind(*y)}).message();
    };
    CHECK(run(0) == "");
    CHECK(run(8) == kWrongIndex);
  });
}

TEST_CASE("a wrong index that the run itself computed is reported as far as it is known") {
  on_every_far([](const CompileOptions& options) {
    const auto message = [](const CompileOptions& where) {
      GraphBuilder builder;
      Tensor x = builder.input("x", DType::kF32, {3}), i = builder.input("i", DType::kI32, {2});
      builder.output("y", gather(x, cumulative_sum(i), 0));
      Session session = Session::create(compile(builder.finish().value(), where).value()).value();
      F values{1, 2, 3}, y(2);
      std::vector<std::int32_t> indices{2, 2};
      return session.run(std::array{bind(values), bind(indices)}, std::array{bind(y)}).message();
    };
    CompileOptions near = options;
    near.on_device = nullptr;
    CHECK(message(options) == message(near));
    CHECK(message(options).starts_with("run: %3 = gather: "));
  });
}

TEST_CASE("program and device may be dropped before the session that uses them") {
  on_near_and_far([](const CompileOptions& options) {
    std::optional<CompileOptions> own = options;
    if (options.on_device->info().addresses_host_memory) return;
    own->on_device =
        is_hip(options) ? options.context->device(options.device).value() : on_far(options.device).on_device;
    std::optional<Program> program = affine(*own);
    Session session = Session::create(*program).value();
    program.reset();
    own.reset();
    F x{1, 2}, w{3, 4}, y(2);
    CHECK(session.run(std::array{bind(x), bind(w)}, std::array{bind(y)}).ok());
    CHECK(y == F{5, 8});
  });
}

TEST_CASE("a second thread in a session is refused, and the first continues") {
  // A trace tells of each command while the run goes on.
  std::function<void()> intrude = [] {};
  CompileOptions options;
  options.context = test_context();
  options.on_device = create_trace_device(options.context->device("cpu").value(), [&](std::string_view) {
    std::thread([&] { std::exchange(intrude, [] {})(); }).join();
  });
  Session session = Session::create(affine(options)).value();
  F x{1, 2}, w{3, 4}, y(2), z(2);
  const std::array inputs{bind(x), bind(w)};
  const std::array outputs{bind(y)}, others{bind(z)};
  Status run, submit;
  intrude = [&] {
    run = session.run(inputs, others);
    submit = session.submit(inputs, others).status();
  };
  CHECK(session.run(inputs, outputs).message() == "");
  CHECK(run.code() == StatusCode::kFailedPrecondition);
  CHECK(run.message() ==
        "run: another thread is in the session, expected one at a time; make a session for each thread");
  CHECK(submit.message() == run.message());
  CHECK(y == F{5, 8});
  CHECK(z == F{0, 0});
  CHECK(session.run(inputs, others).ok());
}

TEST_CASE("sessions of one program each run on their own thread") {
  on_near_and_far([](const CompileOptions& options) {
    const Program program = ranked_sum(options);
    std::vector<std::thread> threads;
    std::array<int, 3> num_right{};
    for (std::size_t t = 0; t < num_right.size(); ++t) {
      threads.emplace_back([&, t] {
        Session session = Session::create(program).value();
        for (std::size_t n = 10; n < 20; ++n) {
          F x = counting_down(n + t), y(n + t);
          num_right[t] +=
              session.run(std::array{bind(x, extents_of(x))}, std::array{bind(y)}).ok() && y == sums_up_to(n + t) ? 1
                                                                                                                  : 0;
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    CHECK(num_right == std::array{10, 10, 10});
  });
}

TEST_CASE("memory that a device does not have is the run's error, and the session continues") {
  on_every_far([](const CompileOptions& options) {
    GraphBuilder builder;
    builder.output("y", -builder.input("x", DType::kF32, {Dim("n")}));
    Session session = Session::create(compile(builder.finish().value(), options).value()).value();
    F x{1, 2}, y(2);
    const std::int64_t n = std::int64_t{1} << 50;
    const TensorBinding too_much{
        .data = x.data(), .size_bytes = std::size_t{1} << 52, .extents = {n}, .has_extents = true};
    // Elsewhere than x; nobody touches it.
    const TensorBinding out{.data = reinterpret_cast<void*>(std::uintptr_t{1} << 54),
                            .size_bytes = too_much.size_bytes};
    const Status status = session.run(std::array{too_much}, std::array{out});
    CHECK(status.code() == StatusCode::kResourceExhausted);
    if (is_hip(options)) {
      CHECK(
          status.message().starts_with("run: staging: allocate: 4503599627370496 bytes of device 'hip:0', which has "));
      CHECK(status.message().ends_with(
          " free: hipMallocFromPoolAsync failed with hipErrorOutOfMemory; free memory, or ask for less"));
    } else {
      CHECK(status.message() == "run: staging: buffer: 4503599627370496 bytes of far memory are not to be had");
    }
    CHECK(session.run(std::array{bind(x, {2})}, std::array{bind(y)}).ok());
    CHECK(y == F{-1, -2});
  });
}

TEST_CASE("intermediate values for which a device has no memory are the run's error, and the session continues") {
  on_every_far([](const CompileOptions& options) {
    Session session = Session::create(ranked_sum(options)).value();
    F x = counting_down(4), y(4);
    const std::int64_t n = std::int64_t{1} << 50;
    const TensorBinding too_much{
        .data = x.data(), .size_bytes = std::size_t{1} << 52, .extents = {n}, .has_extents = true};
    const TensorBinding out{.data = y.data(), .size_bytes = too_much.size_bytes};
    const Status status = session.run(std::array{too_much}, std::array{out});
    CHECK(status.code() == StatusCode::kResourceExhausted);
    CHECK(status.message().starts_with("run: intermediate values, the largest "));
    CHECK(session.run(std::array{bind(x, {4})}, std::array{bind(y)}).ok());
    CHECK(y == sums_up_to(4));
  });
}

TEST_CASE("a program for a lower level runs on the host's best device, and the better of two targets is taken") {
  CompileOptions options;
  options.context = test_context();
  options.targets = {"cpu:baseline"};
  F x{1, 2}, w{3, 4}, y(2);
  const auto runs = [&](const Program& program) {
    y = {0, 0};
    return Session::create(program).value().run(std::array{bind(x), bind(w)}, std::array{bind(y)}).ok() && y == F{5, 8};
  };
  const Program lower = affine(options);
  CHECK(lower.lowered().schedule.kernels.size() == lower.variants()[0].images.size());
  CHECK(lower.variants()[0].target.to_text() == "cpu:baseline");
  CHECK(runs(lower));
  const std::string best = TargetSpec::parse("cpu").value().to_text();
  options.targets = {"cpu:baseline", best};
  const Program both = affine(options);
  const std::size_t chosen = both.variants().size() - 1;
  CHECK(both.variants()[chosen].target.to_text() == best);
  CHECK(&both.lowered() == both.variants()[chosen].lowered.get());
  CHECK(runs(both));
}

TEST_CASE("a program moves between near and far devices of its targets") {
  CompileOptions options;
  options.context = test_context();
  options.targets = {"cpu", "sim:gfx1100"};
  const Program program = affine(options);
  F x{1, 2}, w{3, 4};
  for (const char* inner : {"cpu", "sim:gfx1100"}) {
    CAPTURE(inner);
    const Program there = program.on(on_far(inner).on_device).value();
    F y(2);
    CHECK(Session::create(there).value().run(std::array{bind(x), bind(w)}, std::array{bind(y)}).ok());
    CHECK(y == F{5, 8});
  }
}

}  // namespace
}  // namespace millrace
