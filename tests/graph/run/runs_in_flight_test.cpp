// SPDX-License-Identifier: Apache-2.0
// Runs that were submitted and have not ended, on inline devices and on others.
#include <array>
#include <optional>
#include <thread>

#include <doctest/doctest.h>

#include "millrace/hal/device.h"
#include "millrace/millrace.h"
#include "tests/graph/run/far_programs.h"

namespace millrace {
namespace {

using namespace test;
using F = std::vector<float>;

Timepoint gate_at_1() { return {Semaphore::create(), 1}; }
void open(const Timepoint& gate) { REQUIRE(gate.semaphore->signal(gate.value).ok()); }

TEST_CASE("a submitted run begins when its waits are signalled, and ends at its timepoint") {
  on_near_and_far([](const CompileOptions& options) {
    Session session = Session::create(affine(options)).value();
    F x{1, 2}, w{3, 4}, y(2);
    const Timepoint gate = gate_at_1();
    const Timepoint end =
        session.submit(std::array{bind(x), bind(w)}, std::array{bind(y)}, {}, std::span(&gate, 1)).value();
    CHECK(end.wait(std::chrono::nanoseconds(0)).code() == StatusCode::kDeadlineExceeded);
    CHECK(y == F{0, 0});
    x = {5, 6};  // read when the run begins
    open(gate);
    CHECK(end.wait().ok());
    CHECK(y == F{13, 16});
  });
}

TEST_CASE("a run waits for a value that is reached already, and for the end of another session's run") {
  on_near_and_far([](const CompileOptions& options) {
    const Program program = affine(options);
    Session first = Session::create(program).value(), second = Session::create(program).value();
    F x{1, 2}, w{3, 4}, middle(2), y(2);
    const Timepoint reached{Semaphore::create(5), 5};
    const Timepoint link =
        first.submit(std::array{bind(x), bind(w)}, std::array{bind(middle)}, {}, std::span(&reached, 1)).value();
    const Timepoint end =
        second.submit(std::array{bind(middle), bind(w)}, std::array{bind(y)}, {}, std::span(&link, 1)).value();
    CHECK(end.wait().ok());
    CHECK(y == F{13, 20});
  });
}

TEST_CASE("several runs of one session are in flight, each with its own arguments") {
  on_near_and_far([](const CompileOptions& options) {
    Session session = Session::create(affine(options)).value();
    const Timepoint gate = gate_at_1();
    constexpr std::size_t kRuns = 12;
    std::vector<F> x, y(kRuns, F(2));
    F w{1, 1};
    std::vector<Timepoint> ends;
    for (std::size_t i = 0; i < kRuns; ++i) x.push_back(F(2, static_cast<float>(i)));
    for (std::size_t i = 0; i < kRuns; ++i) {
      const auto wait = i == 0 ? std::span(&gate, 1) : std::span<const Timepoint>();
      ends.push_back(session.submit(std::array{bind(x[i]), bind(w)}, std::array{bind(y[i])}, {}, wait).value());
    }
    for (const F& each : y) CHECK(each == F{0, 0});
    open(gate);
    for (std::size_t i = 0; i < kRuns; ++i) {
      CHECK(ends[i].wait().ok());
      CHECK(y[i] == F(2, static_cast<float>(2 * i + 1)));
    }
  });
}

TEST_CASE("runs in flight each have their own sizes, and memory that fits") {
  on_near_and_far([](const CompileOptions& options) {
    Session session = Session::create(ranked_sum(options)).value();
    const Timepoint gate = gate_at_1();
    const std::size_t sizes[] = {5, 900, 3, 1400, 0, 20};
    std::vector<F> x, y;
    for (const std::size_t n : sizes) {
      x.push_back(counting_down(n));
      y.emplace_back(n);
    }
    std::vector<Timepoint> ends;
    for (std::size_t i = 0; i < std::size(sizes); ++i) {
      const std::array inputs{bind(x[i], extents_of(x[i]))}, outputs{bind(y[i])};
      ends.push_back(session.submit(inputs, outputs, {}, std::span(&gate, 1)).value());
    }
    open(gate);
    for (std::size_t i = 0; i < std::size(sizes); ++i) {
      CHECK(ends[i].wait().ok());
      CHECK(y[i] == sums_up_to(sizes[i]));
    }
  });
}

TEST_CASE("runs of several sessions are in flight at once") {
  on_near_and_far([](const CompileOptions& options) {
    const Program program = ranked_sum(options);
    const Timepoint gate = gate_at_1();
    std::vector<Session> sessions;
    std::vector<F> x, y;
    std::vector<Timepoint> ends;
    for (std::size_t i = 0; i < 5; ++i) {
      sessions.push_back(Session::create(program).value());
      x.push_back(counting_down(100 + i));
      y.emplace_back(100 + i);
    }
    for (std::size_t i = 0; i < 5; ++i) {
      const std::array inputs{bind(x[i], extents_of(x[i]))}, outputs{bind(y[i])};
      ends.push_back(sessions[i].submit(inputs, outputs, {}, std::span(&gate, 1)).value());
    }
    open(gate);
    for (std::size_t i = 0; i < 5; ++i) {
      CHECK(ends[i].wait().ok());
      CHECK(y[i] == sums_up_to(100 + i));
    }
  });
}

TEST_CASE("run() waits for the runs that were submitted before it") {
  on_near_and_far([](const CompileOptions& options) {
    Session session = Session::create(affine(options)).value();
    F x{1, 2}, w{3, 4}, first(2), second(2);
    const Timepoint gate = gate_at_1();
    const Timepoint end =
        session.submit(std::array{bind(x), bind(w)}, std::array{bind(first)}, {}, std::span(&gate, 1)).value();
    std::thread opener([&] { open(gate); });
    CHECK(session.run(std::array{bind(first), bind(w)}, std::array{bind(second)}).ok());
    opener.join();
    CHECK(end.wait(std::chrono::nanoseconds(0)).ok());
    CHECK(second == F{13, 20});
  });
}

TEST_CASE("a submission that is refused leaves the memory of runs in flight alone") {
  on_near_and_far([](const CompileOptions& options) {
    Session session = Session::create(ranked_sum(options)).value();
    const Timepoint gate = gate_at_1(), none;
    F x = counting_down(50), y(50), larger_x = counting_down(5000), larger_y(5000);
    const Timepoint end =
        session.submit(std::array{bind(x, {50})}, std::array{bind(y)}, {}, std::span(&gate, 1)).value();
    const std::array larger_in{bind(larger_x, {5000})}, larger_out{bind(larger_y)};
    CHECK(session.submit(larger_in, larger_out, {}, std::span(&none, 1)).status().message() ==
          "submit: wait 0 has no semaphore; give one or leave the timepoint out");
    open(gate);
    CHECK(end.wait().message() == "");
    CHECK(y == sums_up_to(50));
    CHECK(session.run(larger_in, larger_out).ok());
    CHECK(larger_y == sums_up_to(5000));
  });
}

TEST_CASE("arguments that are refused leave runs in flight alone") {
  on_near_and_far([](const CompileOptions& options) {
    Session session = Session::create(affine(options)).value();
    const Timepoint gate = gate_at_1();
    F x{1, 2}, w{3, 4}, y(2), short_y(1);
    const Timepoint end =
        session.submit(std::array{bind(x), bind(w)}, std::array{bind(y)}, {}, std::span(&gate, 1)).value();
    CHECK(session.submit(std::array{bind(w), bind(x)}, std::array{bind(short_y)}).status().message() ==
          "run: output 'y' has 4 bytes, expected 8 for f32[2]; bind the whole tensor");
    open(gate);
    CHECK(end.wait().ok());
    CHECK(y == F{5, 8});
  });
}

TEST_CASE("a run that fails ends its timepoint and those of later runs in flight with its status") {
  on_near_and_far([](const CompileOptions& options) {
    Session session = Session::create(picked(options)).value();
    const Timepoint gate = gate_at_1();
    F x{1, 2, 3, 4}, y(1), z(1);
    std::vector<std::int64_t> wrong{4}, right{1};
    const Timepoint before =
        session.submit(std::array{bind(x), bind(right)}, std::array{bind(y)}, {}, std::span(&gate, 1)).value();
    const Timepoint bad = session.submit(std::array{bind(x), bind(wrong)}, std::array{bind(z)}).value();
    const Timepoint behind = session.submit(std::array{bind(x), bind(right)}, std::array{bind(z)}).value();
    open(gate);
    CHECK(before.wait().ok());
    CHECK(y == F{2});
    CHECK(bad.wait().message() == kWrongIndex);
    CHECK(behind.wait().message() == kWrongIndex);
    CHECK(session.run(std::array{bind(x), bind(right)}, std::array{bind(z)}).ok());
    CHECK(z == F{2});
  });
}

TEST_CASE("a failed wait fails only its run, and the session continues") {
  on_near_and_far([](const CompileOptions& options) {
    Session session = Session::create(affine(options)).value();
    F x{1, 2}, w{3, 4}, y(2);
    const std::array inputs{bind(x), bind(w)};
    const std::array outputs{bind(y)};
    const Timepoint gate = gate_at_1();
    const Timepoint end = session.submit(inputs, outputs, {}, std::span(&gate, 1)).value();
    gate.semaphore->fail(unavailable("the camera is off"));
    CHECK(end.wait().message() == "the camera is off");
    CHECK(y == F{0, 0});
    CHECK(session.run(inputs, outputs).ok());
    CHECK(y == F{5, 8});
  });
}

TEST_CASE("a session that is destroyed waits for its runs in flight") {
  on_near_and_far([](const CompileOptions& options) {
    const Timepoint gate = gate_at_1();
    F x{1, 2}, w{3, 4};
    std::vector<F> y(6, F(2));
    std::vector<Timepoint> ends;
    std::optional<Session> session = Session::create(affine(options)).value();
    for (F& each : y) {
      ends.push_back(
          session->submit(std::array{bind(x), bind(w)}, std::array{bind(each)}, {}, std::span(&gate, 1)).value());
    }
    std::thread opener([&] { open(gate); });
    session.reset();
    opener.join();
    for (const Timepoint& end : ends) CHECK(end.wait(std::chrono::nanoseconds(0)).ok());
    for (const F& each : y) CHECK(each == F{5, 8});
  });
}

TEST_CASE("a session is moved with its runs in flight, and the moved-from session says so") {
  on_near_and_far([](const CompileOptions& options) {
    const Timepoint gate = gate_at_1();
    F x{1, 2}, w{3, 4}, y(2), z(2);
    const std::array inputs{bind(x), bind(w)};
    Session from = Session::create(affine(options)).value();
    const Timepoint end = from.submit(inputs, std::array{bind(y)}, {}, std::span(&gate, 1)).value();
    Session to = std::move(from);
    constexpr const char* kMoved = "run: the session was moved from; create another";
    CHECK(from.run(inputs, std::array{bind(z)}).message() == kMoved);  // NOLINT(bugprone-use-after-move)
    CHECK(from.submit(inputs, std::array{bind(z)}).status().message() == kMoved);
    CHECK(from.run(inputs, std::array{bind(z)}).code() == StatusCode::kFailedPrecondition);
    from.measure(nullptr);
    open(gate);
    CHECK(to.run(inputs, std::array{bind(z)}).ok());
    CHECK(end.wait().ok());
    CHECK(y == F{5, 8});
    CHECK(z == F{5, 8});
  });
}

TEST_CASE("a session that another is moved to waits for its own runs first") {
  on_near_and_far([](const CompileOptions& options) {
    const Program program = affine(options);
    const Timepoint gate = gate_at_1();
    F x{1, 2}, w{3, 4}, y(2), z(2);
    const std::array inputs{bind(x), bind(w)};
    Session session = Session::create(program).value();
    const Timepoint end = session.submit(inputs, std::array{bind(y)}, {}, std::span(&gate, 1)).value();
    std::thread opener([&] { open(gate); });
    session = Session::create(program).value();
    opener.join();
    CHECK(end.wait(std::chrono::nanoseconds(0)).ok());
    CHECK(y == F{5, 8});
    CHECK(session.run(inputs, std::array{bind(z)}).ok());
    CHECK(z == F{5, 8});
  });
}

}  // namespace
}  // namespace millrace
