// SPDX-License-Identifier: Apache-2.0
#include "millrace/hal/semaphore.h"

#include <atomic>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

namespace millrace {

using namespace std::chrono_literals;

TEST_CASE("a semaphore starts at its value and takes each greater one") {
  const auto semaphore = Semaphore::create(3);
  CHECK(semaphore->query().value() == 3);
  CHECK(semaphore->signal(4).ok());
  CHECK(semaphore->signal(9).ok());
  CHECK(semaphore->query().value() == 9);
}

TEST_CASE("a signal that does not grow is refused and changes nothing") {
  const auto semaphore = Semaphore::create(5);
  for (std::uint64_t value : {0u, 4u, 5u}) {
    const Status status = semaphore->signal(value);
    CHECK(status.code() == StatusCode::kFailedPrecondition);
    CHECK(status.message() ==
          "semaphore: signalled " + std::to_string(value) + ", expected more than its value 5; a timeline only grows");
  }
  CHECK(semaphore->query().value() == 5);
}

TEST_CASE("waiting for a value that is reached returns at once") {
  const auto semaphore = Semaphore::create(5);
  CHECK(semaphore->wait(0).ok());
  CHECK(semaphore->wait(5).ok());
  CHECK(semaphore->wait(5, 0ns).ok());
  CHECK(semaphore->wait(5, -1ns).ok());
}

TEST_CASE("a wait that times out says what the value is and what was expected") {
  const auto semaphore = Semaphore::create(2);
  const Status polled = semaphore->wait(3, 0ns);
  CHECK(polled.code() == StatusCode::kDeadlineExceeded);
  CHECK(polled.message() ==
        "semaphore: value 2 after 0 ns, expected at least 3; wait longer, or find the missing signal");
  CHECK(semaphore->wait(7, 1ms).message() ==
        "semaphore: value 2 after 1000000 ns, expected at least 7; wait longer, or find the missing signal");
}

TEST_CASE("a timeout beyond the clock waits for the signal") {
  const auto semaphore = Semaphore::create();
  std::thread signaller([&] { CHECK(semaphore->signal(1).ok()); });
  CHECK(semaphore->wait(1, std::chrono::nanoseconds::max() - 1ns).ok());
  signaller.join();
}

TEST_CASE("a failure reaches queries, signals and waits, now and later, and is final") {
  const auto semaphore = Semaphore::create(2);
  semaphore->fail(data_loss("the first"));
  semaphore->fail(internal_error("the second"));
  CHECK(semaphore->query().status().message() == "the first");
  CHECK(semaphore->signal(3).message() == "the first");
  CHECK(semaphore->wait(3).code() == StatusCode::kDataLoss);
  CHECK(semaphore->wait(3).message() == "the first");
  CHECK(semaphore->wait(1).message() == "the first");
}

TEST_CASE("failing with an ok status is an error of its own") {
  const auto semaphore = Semaphore::create();
  semaphore->fail(Status());
  CHECK(semaphore->query().status().message() == "semaphore: failed with an ok status; give the error");
}

TEST_CASE("one signal wakes every waiter that it satisfies") {
  const auto semaphore = Semaphore::create();
  std::atomic<int> woken = 0;
  std::vector<std::thread> waiters;
  for (std::uint64_t i = 1; i <= 4; ++i) {
    waiters.emplace_back([&, i] {
      CHECK(semaphore->wait(i).ok());
      ++woken;
    });
  }
  CHECK(semaphore->signal(4).ok());
  for (std::thread& waiter : waiters) waiter.join();
  CHECK(woken == 4);
}

TEST_CASE("a failure wakes every waiter with its status") {
  const auto semaphore = Semaphore::create();
  std::atomic<int> told = 0;
  std::vector<std::thread> waiters;
  for (int i = 0; i < 4; ++i) {
    waiters.emplace_back([&] { told += semaphore->wait(1).message() == "device lost" ? 1 : 0; });
  }
  semaphore->fail(unavailable("device lost"));
  for (std::thread& waiter : waiters) waiter.join();
  CHECK(told == 4);
}

TEST_CASE("two threads hand work to each other through two timelines") {
  const auto ping = Semaphore::create();
  const auto pong = Semaphore::create();
  std::uint64_t shared = 0;  // guarded by the semaphores alone: TSan sees whether they order it
  constexpr std::uint64_t kRounds = 2000;
  std::thread other([&] {
    for (std::uint64_t i = 1; i <= kRounds; ++i) {
      if (!ping->wait(i).ok()) return;
      ++shared;
      if (!pong->signal(i).ok()) return;
    }
  });
  for (std::uint64_t i = 1; i <= kRounds; ++i) {
    ++shared;
    REQUIRE(ping->signal(i).ok());
    REQUIRE(pong->wait(i).ok());
  }
  other.join();
  CHECK(shared == 2 * kRounds);
}

TEST_CASE("if threads signal the same value, one succeeds") {
  for (int round = 0; round < 100; ++round) {
    const auto semaphore = Semaphore::create();
    std::atomic<int> succeeded = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; ++i) threads.emplace_back([&] { succeeded += semaphore->signal(1).ok() ? 1 : 0; });
    for (std::thread& thread : threads) thread.join();
    REQUIRE(succeeded == 1);
  }
}

TEST_CASE("a timeline ends at its greatest value") {
  CHECK(Semaphore::create(UINT64_MAX)->query().value() == Semaphore::kMaxValue);
  const auto semaphore = Semaphore::create(1);
  CHECK(semaphore->signal(UINT64_MAX).message() ==
        "semaphore: signalled 18446744073709551615, expected at most 18446744073709551614");
  CHECK(semaphore->signal(UINT64_MAX).code() == StatusCode::kInvalidArgument);
  CHECK(semaphore->query().value() == 1);
  CHECK(semaphore->signal(Semaphore::kMaxValue).ok());
  CHECK(semaphore->wait(Semaphore::kMaxValue).ok());
  CHECK(semaphore->signal(Semaphore::kMaxValue).code() == StatusCode::kFailedPrecondition);
}

TEST_CASE("a value above the greatest is reached only by a failure") {
  const auto semaphore = Semaphore::create(Semaphore::kMaxValue);
  CHECK(semaphore->wait(UINT64_MAX, 0ns).code() == StatusCode::kDeadlineExceeded);
  std::string told;
  semaphore->on_reached(UINT64_MAX, [&](const Status& status) { told = status.message(); });
  CHECK(told.empty());
  semaphore->fail(data_loss("gone"));
  CHECK(told == "gone");
}

TEST_CASE("a callback is called at once for a value that is reached") {
  const auto semaphore = Semaphore::create(5);
  int calls = 0;
  for (const std::uint64_t value : {0u, 4u, 5u}) {
    semaphore->on_reached(value, [&](const Status& status) { calls += status.ok() ? 1 : 100; });
  }
  CHECK(calls == 3);
}

TEST_CASE("a signal calls the callbacks that are due, in the order in which they were set, each once") {
  const auto semaphore = Semaphore::create();
  std::string called;
  const auto set = [&](std::uint64_t value, char name) {
    semaphore->on_reached(value, [&called, name](const Status&) { called += name; });
  };
  set(3, 'a');
  set(1, 'b');
  set(2, 'c');
  set(9, 'd');
  set(2, 'e');
  CHECK(called.empty());
  CHECK(semaphore->signal(1).ok());
  CHECK(called == "b");
  CHECK(semaphore->signal(4).ok());
  CHECK(called == "bace");
  CHECK(semaphore->signal(8).ok());
  CHECK(called == "bace");
  CHECK(semaphore->signal(9).ok());
  CHECK(called == "baced");
}

TEST_CASE("a callback sees the value, may signal on, and may set another") {
  const auto semaphore = Semaphore::create();
  std::vector<std::uint64_t> seen;
  semaphore->on_reached(1, [&](const Status&) {
    seen.push_back(semaphore->query().value());
    semaphore->on_reached(2, [&](const Status&) { seen.push_back(semaphore->query().value()); });
    CHECK(semaphore->signal(7).ok());
  });
  CHECK(semaphore->signal(1).ok());
  CHECK(seen == std::vector<std::uint64_t>{1, 7});
}

TEST_CASE("a failure calls every callback with its status, also those set later") {
  const auto semaphore = Semaphore::create(1);
  std::vector<std::string> told;
  const auto note = [&](const Status& status) { told.push_back(status.message()); };
  semaphore->on_reached(2, note);
  semaphore->on_reached(9, note);
  semaphore->fail(data_loss("the first"));
  semaphore->fail(data_loss("the second"));
  semaphore->on_reached(0, note);
  CHECK(told == std::vector<std::string>{"the first", "the first", "the first"});
}

TEST_CASE("a refused signal calls nothing") {
  const auto semaphore = Semaphore::create(3);
  int calls = 0;
  semaphore->on_reached(4, [&](const Status&) { ++calls; });
  CHECK(!semaphore->signal(3).ok());
  CHECK(!semaphore->signal(UINT64_MAX).ok());
  CHECK(calls == 0);
}

TEST_CASE("callbacks that never come are dropped with their semaphore") {
  const auto token = std::make_shared<int>(0);
  auto semaphore = Semaphore::create();
  semaphore->on_reached(1, [token](const Status&) {});
  CHECK(token.use_count() == 2);
  semaphore.reset();
  CHECK(token.use_count() == 1);
}

TEST_CASE("a timepoint waits on its semaphore") {
  const Timepoint point{Semaphore::create(2), 3};
  CHECK(point.wait(0ns).code() == StatusCode::kDeadlineExceeded);
  CHECK(point.semaphore->signal(3).ok());
  CHECK(point.wait().ok());
}

TEST_CASE("threads set callbacks while another signals, and each is called once") {
  const auto semaphore = Semaphore::create();
  constexpr std::uint64_t kValues = 300;
  std::atomic<int> calls = 0;
  std::vector<std::thread> setters;
  for (int t = 0; t < 2; ++t) {
    setters.emplace_back([&] {
      for (std::uint64_t value = 1; value <= kValues; ++value)
        semaphore->on_reached(value, [&](const Status&) { ++calls; });
    });
  }
  for (std::uint64_t value = 1; value <= kValues; ++value) CHECK(semaphore->signal(value).ok());
  for (std::thread& setter : setters) setter.join();
  CHECK(calls == 2 * static_cast<int>(kValues));
}

}  // namespace millrace
