// SPDX-License-Identifier: Apache-2.0
// Random work that semaphores order gives the result of running it one after another.
#include <optional>
#include <random>
#include <thread>

#include <doctest/doctest.h>

#include "tests/hal/conformance/devices.h"
#include "tests/hal/conformance/kernels.h"
#include "tests/hal/conformance/replay.h"
#include "tests/hal/test_kernels.h"

namespace millrace {
namespace {

using W = std::vector<std::uint32_t>;

/// Submissions on a few buffers in the order of their semaphores, and the result of running them one after another.
class RandomWork {
 public:
  static constexpr std::size_t kBuffers = 5, kWords = 8;
  static constexpr std::int64_t kBytes = 4 * kWords;

  RandomWork(Device& device, const TargetSpec& target, unsigned seed) : device_(device), random_(seed) {
    for (std::uint32_t i = 0; i < kBuffers; ++i) {
      expected_.emplace_back(kWords, i);
      words_.push_back(Words(device, expected_.back()));
      last_write_.emplace_back();
      reads_.emplace_back();
    }
    ListBuilder fill;
    const BindingIndex filled = fill.output("y", kBytes);
    fill.fill(fill.range(filled, Dim("offset"), kBytes / 2), kPattern, 4);
    lists_.push_back(fill);
    ListBuilder copy;
    const BindingIndex source = copy.input("x", kBytes), copied = copy.output("y", kBytes);
    copy.copy(copy.range(source, 0, kBytes), copy.range(copied, 0, kBytes));
    lists_.push_back(copy);
    const ExecutableImage image = scale_on(target);
    ListBuilder scale;
    const BindingIndex x = scale.input("x", kBytes), y = scale.output("y", kBytes);
    scale.dispatch(scale.kernel(image.info), kWords, {scale.range(x, 0, kBytes), scale.range(y, 0, kBytes)},
                   {Dim("factor")});
    lists_.push_back(scale);
    replays_.emplace_back(device, fill, std::vector<ExecutableImage>(), SymbolValues{{"offset", 0}});
    replays_.emplace_back(device, copy);
    replays_.emplace_back(device, scale, std::vector{image}, SymbolValues{{"factor", 1}});
  }

  void submit(std::span<const Timepoint> also_wait) {
    const std::size_t what = random_() % 3, from = random_() % kBuffers;
    const std::size_t to = (from + 1 + random_() % (kBuffers - 1)) % kBuffers;
    const auto factor = static_cast<std::uint32_t>(2 + random_() % 7);
    const auto half = static_cast<std::size_t>(random_() % 2);
    std::vector<Timepoint> wait(also_wait.begin(), also_wait.end());
    const auto append = [&](const std::vector<Timepoint>& some) { wait.insert(wait.end(), some.begin(), some.end()); };
    append(last_write_[to]);
    append(reads_[to]);
    std::vector<BufferBinding> bindings = {words_[to].binding()};
    if (what != 0) {
      append(last_write_[from]);
      bindings.insert(bindings.begin(), words_[from].binding());
    }
    const Timepoint end{device_.create_semaphore().value(), 1};
    Replay replay = replays_[what];
    replay.sizes =
        lists_[what].evaluate({{"offset", static_cast<std::int64_t>(half) * kBytes / 2}, {"factor", factor}});
    REQUIRE(replay.submit(bindings, wait, {end}).ok());
    if (what != 0) reads_[from].push_back(end);
    last_write_[to] = {end};
    reads_[to].clear();
    ends_.push_back(end);
    W& y = expected_[to];
    if (what == 0) std::fill_n(y.begin() + static_cast<std::ptrdiff_t>(half * kWords / 2), kWords / 2, kPattern);
    for (std::size_t i = 0; what != 0 && i < kWords; ++i) y[i] = expected_[from][i] * (what == 2 ? factor : 1);
  }

  void check() const {
    for (const Timepoint& end : ends_) REQUIRE(end.wait().ok());
    for (std::size_t i = 0; i < kBuffers; ++i) CHECK(words_[i].read() == expected_[i]);
  }

 private:
  static constexpr std::uint32_t kPattern = 0x01000193;

  Device& device_;
  std::minstd_rand random_;
  std::vector<ListBuilder> lists_;
  std::vector<Replay> replays_;
  std::vector<Words> words_;
  std::vector<W> expected_;
  std::vector<std::vector<Timepoint>> last_write_, reads_;  // per buffer: its last write, and the reads since
  std::vector<Timepoint> ends_;
};

}  // namespace

TEST_CASE("device: random work ordered by semaphores gives the result of running it one after another") {
  on_every_device([](TestedDevice& device) {
    for (const unsigned seed : {1u, 2u, 3u}) {
      CAPTURE(seed);
      RandomWork work(device.raw(), device.target(), seed);
      for (int i = 0; i < 200; ++i) work.submit({});
      work.check();
    }
  });
}

TEST_CASE("device: random work that is held back and released at once gives the same result") {
  on_every_device([](TestedDevice& device) {
    for (const unsigned seed : {11u, 12u, 13u}) {
      CAPTURE(seed);
      RandomWork work(device.raw(), device.target(), seed);
      const Timepoint gate[] = {{timeline(device.raw()), 1}};
      for (int i = 0; i < 200; ++i) work.submit(i % 3 == 0 ? std::span<const Timepoint>(gate) : std::span(gate, 0));
      REQUIRE(gate[0].semaphore->signal(1).ok());
      work.check();
    }
  });
}

TEST_CASE("device: random work of several concurrent threads gives the same result") {
  on_every_device([](TestedDevice& device) {
    std::vector<std::unique_ptr<RandomWork>> works;
    for (const unsigned seed : {21u, 22u})
      works.push_back(std::make_unique<RandomWork>(device.raw(), device.target(), seed));
    std::vector<std::thread> threads;
    for (const auto& work : works) {
      threads.emplace_back([&] {
        for (int i = 0; i < 100; ++i) work->submit({});
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (const auto& work : works) work->check();
  });
}

}  // namespace millrace
