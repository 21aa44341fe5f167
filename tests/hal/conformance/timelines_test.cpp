// SPDX-License-Identifier: Apache-2.0
// Semaphores of a device, and the submissions that they order.
#include <atomic>
#include <thread>

#include <doctest/doctest.h>

#include "tests/hal/conformance/devices.h"
#include "tests/hal/conformance/replay.h"

namespace millrace {
namespace {

using namespace std::chrono_literals;
using W = std::vector<std::uint32_t>;

}  // namespace

TEST_CASE("device: its semaphore starts at the given value, and the host signals it") {
  on_every_device([](TestedDevice& device) {
    CHECK(timeline(device.raw())->query().value() == 0);
    const auto semaphore = timeline(device.raw(), 7);
    CHECK(semaphore->query().value() == 7);
    CHECK(semaphore->wait(7, 0ns).ok());
    CHECK(semaphore->signal(9).ok());
    CHECK(semaphore->query().value() == 9);
    CHECK(semaphore->signal(9).message() ==
          "semaphore: signalled 9, expected more than its value 9; a timeline only grows");
  });
}

TEST_CASE("device: a wait for work that may not begin reaches its time limit, and the work still ends later") {
  on_every_device([](TestedDevice& device) {
    const auto gate = timeline(device.raw()), done = timeline(device.raw());
    const Replay replay = nothing(device.raw());
    REQUIRE(replay.submit({}, {{gate, 1}}, {{done, 1}}).ok());
    const Status status = done->wait(1, 1ms);
    CHECK(status.code() == StatusCode::kDeadlineExceeded);
    CHECK(status.message() ==
          "semaphore: value 0 after 1000000 ns, expected at least 1; wait longer, or find the missing signal");
    REQUIRE(gate->signal(1).ok());
    CHECK(done->wait(1).ok());
  });
}

TEST_CASE("device: the thread that submitted may signal later what the submission waits for") {
  on_every_device([](TestedDevice& device) {
    const auto gate = timeline(device.raw()), done = timeline(device.raw());
    const Words words(device.raw(), {1});
    const Replay replay = set_word(device.raw(), 5);
    REQUIRE(replay.submit({words.binding()}, {{gate, 2}}, {{done, 1}}).ok());
    CHECK(done->query().value() == 0);
    REQUIRE(gate->signal(1).ok());
    CHECK(done->query().value() == 0);
    CHECK(words.read() == W{1});
    REQUIRE(gate->signal(2).ok());
    REQUIRE(done->wait(1).ok());
    CHECK(words.read() == W{5});
  });
}

TEST_CASE("device: it waits for a semaphore of the host's as for its own") {
  on_every_device([](TestedDevice& device) {
    const auto gate = Semaphore::create(), done = Semaphore::create();
    const Replay replay = nothing(device.raw());
    REQUIRE(replay.submit({}, {{gate, 1}}, {{done, 1}}).ok());
    CHECK(done->query().value() == 0);
    REQUIRE(gate->signal(1).ok());
    CHECK(done->wait(1).ok());
  });
}

TEST_CASE("device: it waits for another device's signals, and another device waits for its signals") {
  on_every_device([](TestedDevice& device) {
    const auto other = create_cpu_device(TargetSpec::parse("cpu").value()).value();
    const auto turn = timeline(*other);
    const Replay here = nothing(device.raw()), there = nothing(*other);
    for (std::uint64_t i = 20; i > 0; i -= 2) {
      REQUIRE(here.submit({}, {{turn, i - 1}}, {{turn, i}}).ok());
      REQUIRE(there.submit({}, {{turn, i - 2}}, {{turn, i - 1}}).ok());
    }
    CHECK(turn->wait(20).ok());
  });
}

TEST_CASE("device: submissions run in the order of their values, not in the order of submission") {
  on_every_device([](TestedDevice& device) {
    const auto turn = timeline(device.raw());
    const Words words(device.raw(), {0});
    std::vector<Replay> digits;
    for (std::uint32_t i = 1; i <= 5; ++i) digits.push_back(append_digit(device.raw(), i));
    for (const std::uint64_t i : {3u, 5u, 2u, 4u, 1u}) {
      REQUIRE(digits[i - 1].submit({words.binding()}, {{turn, i}}, {{turn, i + 1}}).ok());
    }
    CHECK(turn->query().value() == 0);
    REQUIRE(turn->signal(1).ok());
    REQUIRE(turn->wait(6).ok());
    CHECK(words.read() == W{12345});
  });
}

TEST_CASE("device: a greater value than the one waited for starts the work, too") {
  on_every_device([](TestedDevice& device) {
    const auto gate = timeline(device.raw());
    const Replay replay = nothing(device.raw());
    std::vector<std::shared_ptr<Semaphore>> done;
    for (std::uint64_t value = 1; value <= 3; ++value) {
      done.push_back(timeline(device.raw()));
      REQUIRE(replay.submit({}, {{gate, value}}, {{done.back(), 1}}).ok());
    }
    REQUIRE(gate->signal(100).ok());
    for (const auto& each : done) CHECK(each->wait(1).ok());
  });
}

TEST_CASE("device: a submission waits for several semaphores, and for several values of one") {
  on_every_device([](TestedDevice& device) {
    const auto one = timeline(device.raw()), other = timeline(device.raw()), done = timeline(device.raw());
    const Replay replay = nothing(device.raw());
    REQUIRE(replay.submit({}, {{one, 1}, {other, 1}, {one, 3}, {one, 2}}, {{done, 1}}).ok());
    REQUIRE(one->signal(2).ok());
    REQUIRE(other->signal(1).ok());
    CHECK(done->query().value() == 0);
    REQUIRE(one->signal(3).ok());
    CHECK(done->wait(1).ok());
  });
}

TEST_CASE("device: a wait for a value that is reached already does not wait") {
  on_every_device([](TestedDevice& device) {
    const auto reached = timeline(device.raw(), 5), done = timeline(device.raw());
    const Replay replay = nothing(device.raw());
    REQUIRE(replay.submit({}, {{reached, 5}, {reached, 0}}, {{done, 1}}).ok());
    CHECK(done->wait(1).ok());
  });
}

TEST_CASE("device: a chain of a thousand submissions runs through, each after the one before it") {
  on_every_device([](TestedDevice& device) {
    constexpr std::uint64_t kLength = 1000;
    const auto turn = timeline(device.raw());
    const Words words(device.raw(), {1});
    const Replay seven = append_digit(device.raw(), 7);
    for (std::uint64_t i = 1; i <= kLength; ++i) {
      REQUIRE(seven.submit({words.binding()}, {{turn, i}}, {{turn, i + 1}}).ok());
    }
    REQUIRE(turn->signal(1).ok());
    REQUIRE(turn->wait(kLength + 1).ok());
    std::uint32_t expected = 1;
    for (std::uint64_t i = 0; i < kLength; ++i) expected = expected * 10 + 7;
    CHECK(words.read() == W{expected});
  });
}

TEST_CASE("device: one submission waits for many") {
  on_every_device([](TestedDevice& device) {
    const auto gate = timeline(device.raw()), done = timeline(device.raw());
    const Replay two = set_word(device.raw(), 2);
    std::vector<Words> words;
    std::vector<Timepoint> all;
    for (int i = 0; i < 30; ++i) {
      words.push_back(Words(device.raw(), {1}));
      all.push_back({timeline(device.raw()), 1});
      REQUIRE(two.submit({words.back().binding()}, {{gate, 1}}, {all.back()}).ok());
    }
    REQUIRE(nothing(device.raw()).submit({}, all, {{done, 1}}).ok());
    REQUIRE(gate->signal(1).ok());
    REQUIRE(done->wait(1).ok());
    for (const Timepoint& each : all) CHECK(each.semaphore->query().value() == 1);
    for (const Words& each : words) CHECK(each.read() == W{2});
  });
}

TEST_CASE("device: many submissions wait for one") {
  on_every_device([](TestedDevice& device) {
    const auto gate = timeline(device.raw()), first = timeline(device.raw());
    const Words source(device.raw(), {0});
    const Replay eight = set_word(device.raw(), 8);
    ListBuilder b;
    const BindingIndex x = b.input("x", 4), y = b.output("y", 4);
    b.copy(b.range(x, 0, 4), b.range(y, 0, 4));
    const Replay copy(device.raw(), b);
    REQUIRE(eight.submit({source.binding()}, {{gate, 1}}, {{first, 1}}).ok());
    std::vector<Words> words;
    std::vector<Timepoint> ends;
    for (int i = 0; i < 30; ++i) {
      words.push_back(Words(device.raw(), {0}));
      ends.push_back({timeline(device.raw()), 1});
      REQUIRE(copy.submit({source.binding(), words.back().binding()}, {{first, 1}}, {ends.back()}).ok());
    }
    REQUIRE(gate->signal(1).ok());
    for (const Timepoint& end : ends) CHECK(end.wait().ok());
    for (const Words& each : words) CHECK(each.read() == W{8});
  });
}

TEST_CASE("device: a callback is called once when the work is done: set before, and at once when set after") {
  on_every_device([](TestedDevice& device) {
    const auto gate = timeline(device.raw()), done = timeline(device.raw());
    const Replay replay = nothing(device.raw());
    std::atomic<int> before = 0, after = 0;
    const auto told = Semaphore::create();
    done->on_reached(1, [&](const Status& status) {
      before += status.ok() ? 1 : 100;
      (void)told->signal(1);
    });
    REQUIRE(replay.submit({}, {{gate, 1}}, {{done, 1}}).ok());
    CHECK(before == 0);
    REQUIRE(gate->signal(1).ok());
    REQUIRE(told->wait(1).ok());
    CHECK(before == 1);
    done->on_reached(1, [&](const Status& status) { after += status.ok() ? 1 : 100; });
    CHECK(after == 1);
  });
}

TEST_CASE("device: a callback is given the failure of the work, set before and after") {
  on_every_device([](TestedDevice& device) {
    const std::string expected =
        "kernel 'gather_0': index out of range; give indices within the axis that they select from";
    const auto done = timeline(device.raw()), told = Semaphore::create();
    std::string before, after;
    done->on_reached(1, [&](const Status& status) {
      before = status.message();
      (void)told->signal(1);
    });
    const Replay replay = failing(device.raw());
    (void)replay.submit({}, {}, {{done, 1}});
    REQUIRE(told->wait(1).ok());
    CHECK(before == expected);
    done->on_reached(9, [&](const Status& status) { after = status.message(); });
    CHECK(after == expected);
  });
}

TEST_CASE("device: a callback may submit further work") {
  on_every_device([](TestedDevice& device) {
    const auto gate = timeline(device.raw()), first = timeline(device.raw()), second = timeline(device.raw());
    const Words words(device.raw(), {0});
    const Replay one = append_digit(device.raw(), 1), two = append_digit(device.raw(), 2);
    first->on_reached(1, [&](const Status&) { (void)two.submit({words.binding()}, {}, {{second, 1}}); });
    REQUIRE(one.submit({words.binding()}, {{gate, 1}}, {{first, 1}}).ok());
    REQUIRE(gate->signal(1).ok());
    REQUIRE(second->wait(1).ok());
    CHECK(words.read() == W{12});
  });
}

TEST_CASE("device: a failed wait fails the work that depends on it, with the first status, and nothing else") {
  on_every_device([](TestedDevice& device) {
    const auto gate = timeline(device.raw()), broken = timeline(device.raw()), link = timeline(device.raw());
    const auto last = timeline(device.raw()), other = timeline(device.raw());
    const Words words(device.raw(), {0}), untouched(device.raw(), {1});
    const Replay five = set_word(device.raw(), 5);
    REQUIRE(five.submit({untouched.binding()}, {{broken, 1}}, {{link, 1}}).ok());
    REQUIRE(five.submit({untouched.binding()}, {{link, 1}, {gate, 1}}, {{last, 1}}).ok());
    REQUIRE(five.submit({words.binding()}, {{gate, 1}}, {{other, 1}}).ok());
    broken->fail(data_loss("the first"));
    broken->fail(data_loss("the second"));
    CHECK(link->wait(1).message() == "the first");
    CHECK(last->wait(1).message() == "the first");
    CHECK(last->wait(1).code() == StatusCode::kDataLoss);
    REQUIRE(gate->signal(1).ok());
    CHECK(other->wait(1).ok());
    CHECK(words.read() == W{5});
    CHECK(untouched.read() == W{1});
  });
}

TEST_CASE("device: the first failed wait in the list gives the status") {
  on_every_device([](TestedDevice& device) {
    const auto fine = timeline(device.raw(), 1), one = timeline(device.raw()), other = timeline(device.raw());
    one->fail(unavailable("one"));
    other->fail(unavailable("other"));
    const auto done = timeline(device.raw());
    const Replay replay = nothing(device.raw());
    (void)replay.submit({}, {{fine, 1}, {other, 1}, {one, 1}}, {{done, 1}});
    CHECK(done->wait(1).message() == "other");
  });
}

TEST_CASE("device: a failing dispatch in a chain fails only those after it") {
  on_every_device([](TestedDevice& device) {
    const auto gate = timeline(device.raw()), before = timeline(device.raw());
    const auto bad = timeline(device.raw()), behind = timeline(device.raw());
    const Words words(device.raw(), {0});
    const Replay one = append_digit(device.raw(), 1), two = append_digit(device.raw(), 2),
                 fails = failing(device.raw());
    REQUIRE(one.submit({words.binding()}, {{gate, 1}}, {{before, 1}}).ok());
    REQUIRE(fails.submit({}, {{before, 1}}, {{bad, 1}}).ok());
    REQUIRE(two.submit({words.binding()}, {{bad, 1}}, {{behind, 1}}).ok());
    REQUIRE(gate->signal(1).ok());
    CHECK(behind->wait(1).message() ==
          "kernel 'gather_0': index out of range; give indices within the axis that they select from");
    CHECK(before->query().value() == 1);
    if (device.raw().info().skips_work_after_failure) CHECK(words.read() == W{1});
  });
}

TEST_CASE("device: one submission takes a semaphore through several values, and to the greatest") {
  on_every_device([](TestedDevice& device) {
    const auto done = timeline(device.raw());
    const Replay replay = nothing(device.raw());
    REQUIRE(replay.submit({}, {}, {{done, 1}, {done, 2}}).ok());
    CHECK(done->wait(2).ok());
    REQUIRE(replay.submit({}, {}, {{done, Semaphore::kMaxValue}}).ok());
    CHECK(done->wait(Semaphore::kMaxValue).ok());
  });
}

TEST_CASE("device: a submission fails if its timeline was signalled past its value meanwhile") {
  on_every_device([](TestedDevice& device) {
    const auto gate = timeline(device.raw()), done = timeline(device.raw()), later = timeline(device.raw());
    REQUIRE(nothing(device.raw()).submit({}, {{gate, 1}}, {{done, 1}, {later, 1}}).ok());
    REQUIRE(done->signal(4).ok());
    REQUIRE(gate->signal(1).ok());
    CHECK(later->wait(1).message() == "semaphore: signalled 1, expected more than its value 4; a timeline only grows");
    CHECK(done->query().status().message() == later->query().status().message());
  });
}

TEST_CASE("device: many threads wait for one submission") {
  on_every_device([](TestedDevice& device) {
    const auto gate = timeline(device.raw()), done = timeline(device.raw());
    REQUIRE(nothing(device.raw()).submit({}, {{gate, 1}}, {{done, 1}}).ok());
    std::atomic<int> woken = 0;
    std::vector<std::thread> waiters;
    for (int i = 0; i < 4; ++i) waiters.emplace_back([&] { woken += done->wait(1).ok() ? 1 : 0; });
    REQUIRE(gate->signal(1).ok());
    for (std::thread& waiter : waiters) waiter.join();
    CHECK(woken == 4);
  });
}

TEST_CASE("device: a semaphore may outlive its device") {
  for (const DeviceCase& row : conformance_devices()) {
    const std::string name = row.name;
    CAPTURE(name);
    auto device = row.create().value();
    const auto semaphore = timeline(*device, 3);
    device.reset();
    CHECK(semaphore->query().value() == 3);
    CHECK(semaphore->signal(4).ok());
    CHECK(semaphore->wait(4).ok());
  }
}

}  // namespace millrace
