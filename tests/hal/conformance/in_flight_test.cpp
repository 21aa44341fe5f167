// SPDX-License-Identifier: Apache-2.0
// Submissions that have not ended: what they keep, and what may be destroyed before they end.
#include <thread>

#include <doctest/doctest.h>

#include "tests/hal/conformance/devices.h"
#include "tests/hal/conformance/kernels.h"
#include "tests/hal/conformance/replay.h"
#include "tests/hal/test_kernels.h"

namespace millrace {
namespace {

using W = std::vector<std::uint32_t>;

/// y = x * factor on two words; the factor is a size.
struct Scale {
  explicit Scale(TestedDevice& device) : image(scale_on(device.target())) {
    const BindingIndex x = b.input("x", 8), y = b.output("y", 8);
    b.dispatch(b.kernel(image.info), 2, {b.range(x, 0, 8), b.range(y, 0, 8)}, {Dim("factor")});
  }
  Replay record(Device& device) const { return {device, b, {image}, {{"factor", 1}}}; }
  std::vector<std::int64_t> by(std::int64_t factor) const { return b.evaluate({{"factor", factor}}); }
  ExecutableImage image;
  ListBuilder b;
};

}  // namespace

TEST_CASE("device: several submissions of one recording are in flight, each with its bindings and sizes") {
  on_every_device([](TestedDevice& device) {
    const Scale scale(device);
    Replay replay = scale.record(device.raw());
    const auto gate = timeline(device.raw());
    std::vector<Words> in, out;
    std::vector<Timepoint> ends;
    for (std::uint32_t i = 0; i < 10; ++i) {
      in.push_back(Words(device.raw(), {i, 1}));
      out.push_back(Words(device.raw(), {0, 0}));
      ends.push_back({timeline(device.raw()), 1});
      replay.sizes = scale.by(100 + i);
      REQUIRE(replay.submit({in[i].binding(), out[i].binding()}, {{gate, 1}}, {ends[i]}).ok());
    }
    REQUIRE(gate->signal(1).ok());
    for (std::uint32_t i = 0; i < 10; ++i) {
      REQUIRE(ends[i].wait().ok());
      CHECK(out[i].read() == W{i * (100 + i), 100 + i});
    }
  });
}

TEST_CASE("device: the memory of a submission's spans may be freed when submit() has returned") {
  on_every_device([](TestedDevice& device) {
    const Scale scale(device);
    const Replay replay = scale.record(device.raw());
    const Words x(device.raw(), {1, 2}), y(device.raw(), {0, 0});
    const auto gate = timeline(device.raw()), done = timeline(device.raw());
    {
      std::vector<BufferBinding> bindings = {x.binding(), y.binding()};
      std::vector<std::int64_t> sizes = scale.by(3);
      std::vector<Timepoint> wait = {{gate, 1}}, signal = {{done, 1}};
      REQUIRE(device.raw()
                  .submit(*replay.recording, {.bindings = bindings, .sizes = sizes, .wait = wait, .signal = signal})
                  .ok());
      bindings.assign(2, {});
      sizes.assign(sizes.size(), -1);
      wait.assign(1, {});
      signal.assign(1, {});
    }
    REQUIRE(gate->signal(1).ok());
    REQUIRE(done->wait(1).ok());
    CHECK(y.read() == W{3, 6});
  });
}

TEST_CASE("device: recording and executable may be dropped when submit() has returned") {
  on_every_device([](TestedDevice& device) {
    const Words x(device.raw(), {1, 2}), y(device.raw(), {0, 0});
    const auto gate = timeline(device.raw()), done = timeline(device.raw());
    {
      const Scale scale(device);
      Replay replay = scale.record(device.raw());
      replay.sizes = scale.by(4);
      REQUIRE(replay.submit({x.binding(), y.binding()}, {{gate, 1}}, {{done, 1}}).ok());
    }
    REQUIRE(gate->signal(1).ok());
    REQUIRE(done->wait(1).ok());
    CHECK(y.read() == W{4, 8});
  });
}

TEST_CASE("device: a list and images may be dropped when the recording is made") {
  on_every_device([](TestedDevice& device) {
    std::optional<Replay> replay;
    {
      auto b = std::make_unique<ListBuilder>();
      auto images = std::make_unique<std::vector<ExecutableImage>>(1, store_ids_on(device.target()));
      const BindingIndex y = b->output("y", 8);
      b->dispatch(b->kernel(images->front().info), 2, {b->range(y, 0, 8)});
      replay.emplace(device.raw(), *b, *images);
    }
    const Words y(device.raw(), {9, 9});
    REQUIRE(wait_for(*replay, {y.binding()}).ok());
    CHECK(y.read() == W{0, 1});
  });
}

TEST_CASE("device: the thread that submitted may end before the work begins") {
  on_every_device([](TestedDevice& device) {
    const Words y(device.raw(), {0});
    const auto gate = timeline(device.raw()), done = timeline(device.raw());
    const Replay three = set_word(device.raw(), 3);
    std::thread([&] { CHECK(three.submit({y.binding()}, {{gate, 1}}, {{done, 1}}).ok()); }).join();
    REQUIRE(gate->signal(1).ok());
    REQUIRE(done->wait(1).ok());
    CHECK(y.read() == W{3});
  });
}

TEST_CASE("device: buffers may be dropped as soon as the timepoint is reached") {
  on_every_device([](TestedDevice& device) {
    const Replay replay = set_word(device.raw(), 1);
    for (int i = 0; i < 100; ++i) {
      const auto done = timeline(device.raw());
      auto buffer = device.allocate(4).value();
      REQUIRE(replay.submit({buffer->binding()}, {}, {{done, 1}}).ok());
      REQUIRE(done->wait(1).ok());
      CHECK(buffer.use_count() == 1);
      buffer.reset();
    }
  });
}

TEST_CASE("device: an empty list passes its waits on to its signals") {
  on_every_device([](TestedDevice& device) {
    const auto gate = timeline(device.raw()), one = timeline(device.raw()), other = timeline(device.raw(), 4);
    REQUIRE(nothing(device.raw()).submit({}, {{gate, 1}}, {{one, 1}, {other, 5}}).ok());
    CHECK(one->query().value() == 0);
    CHECK(other->query().value() == 4);
    REQUIRE(gate->signal(1).ok());
    CHECK(one->wait(1).ok());
    CHECK(other->wait(5).ok());
  });
}

TEST_CASE("device: submissions without signals are run, too") {
  on_every_host_kernel_device([](TestedDevice& device) {
    const auto ran = Semaphore::create();
    const ExecutableImage image =
        host_kernel_image(device.target(), {.name = "tell"},
                          [&](const KernelArgs&, std::uint32_t, std::uint32_t) { return ran->signal(1); });
    ListBuilder b;
    b.dispatch(b.kernel(image.info), 1, {});
    REQUIRE(Replay(device.raw(), b, {image}).submit({}).ok());
    CHECK(ran->wait(1).ok());
  });
}

TEST_CASE("device: submissions that share nothing need no order") {
  on_every_device([](TestedDevice& device) {
    const Replay six = set_word(device.raw(), 6);
    std::vector<Words> words;
    std::vector<Timepoint> ends;
    for (int i = 0; i < 50; ++i) {
      words.push_back(Words(device.raw(), {0}));
      ends.push_back({timeline(device.raw()), 1});
      REQUIRE(six.submit({words.back().binding()}, {}, {ends.back()}).ok());
    }
    for (const Timepoint& end : ends) REQUIRE(end.wait().ok());
    for (const Words& each : words) CHECK(each.read() == W{6});
  });
}

TEST_CASE("device: concurrent submissions have workgroup memory of their own") {
  on_every_host_kernel_device([](TestedDevice& device) {
    const KernelInfo info{
        .name = "keep", .num_buffers = 1, .num_sizes = 1, .buffer_is_written = {true}, .workgroup_bytes = 256};
    const ExecutableImage image =
        host_kernel_image(device.target(), info, [](const KernelArgs& args, std::uint32_t, std::uint32_t) -> Status {
          const auto mine = static_cast<std::uint32_t>(args.sizes[0]);
          auto* memory = static_cast<std::uint32_t*>(args.workgroup_memory);
          std::uint32_t num_lost = 0;
          for (int iteration = 0; iteration < 20; ++iteration) {
            for (int i = 0; i < 64; ++i) memory[i] = mine;
            std::this_thread::yield();
            for (int i = 0; i < 64; ++i) num_lost += memory[i] == mine ? 0 : 1;
          }
          static_cast<std::uint32_t*>(args.buffers[0])[0] += num_lost;
          return {};
        });
    ListBuilder b;
    const BindingIndex y = b.output("y", 4);
    b.dispatch(b.kernel(info), 1, {b.range(y, 0, 4)}, {Dim("mine")});
    const Replay replay(device.raw(), b, {image}, {{"mine", 0}});
    std::vector<Words> lost;
    for (int t = 0; t < 3; ++t) lost.push_back(Words(device.raw(), {0}));
    std::vector<std::thread> threads;
    for (std::size_t t = 0; t < lost.size(); ++t) {
      threads.emplace_back([&, t] {
        Replay own = replay;
        own.sizes = b.evaluate({{"mine", static_cast<std::int64_t>(t)}});
        for (int i = 0; i < 30; ++i) CHECK(wait_for(own, {lost[t].binding()}).ok());
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (const Words& each : lost) CHECK(each.read() == W{0});
  });
}

TEST_CASE("device: concurrent submissions have status words of their own") {
  on_every_host_kernel_device([](TestedDevice& device) {
    const KernelInfo info{.name = "report", .num_sizes = 1};
    const ExecutableImage image =
        host_kernel_image(device.target(), info, [](const KernelArgs& args, std::uint32_t, std::uint32_t) -> Status {
          *args.status |= static_cast<std::uint32_t>(args.sizes[0]);
          std::this_thread::yield();
          return {};
        });
    ListBuilder b;
    b.dispatch(b.kernel(info), 1, {}, {Dim("bits")});
    const Replay replay(device.raw(), b, {image}, {{"bits", 0}});
    std::vector<std::thread> threads;
    std::vector<int> num_right(2);
    for (std::size_t bits = 0; bits < 2; ++bits) {
      threads.emplace_back([&, bits] {
        Replay own = replay;
        own.sizes = b.evaluate({{"bits", static_cast<std::int64_t>(bits)}});
        for (int i = 0; i < 100; ++i) num_right[bits] += wait_for(own, {}).ok() == (bits == 0) ? 1 : 0;
      });
    }
    for (std::thread& thread : threads) thread.join();
    CHECK(num_right == std::vector<int>{100, 100});
  });
}

TEST_CASE("device: threads submit to one device concurrently, each a chain of its own") {
  on_every_device([](TestedDevice& device) {
    const Replay seven = append_digit(device.raw(), 7);
    std::vector<Words> words;
    for (int t = 0; t < 3; ++t) words.push_back(Words(device.raw(), {1}));
    std::vector<std::thread> threads;
    for (const Words& own : words) {
      threads.emplace_back([&] {
        const auto turn = timeline(device.raw());
        for (std::uint64_t i = 0; i < 60; ++i) {
          CHECK(seven.submit({own.binding()}, {{turn, i}}, {{turn, i + 1}}).ok());
        }
        CHECK(turn->wait(60).ok());
      });
    }
    for (std::thread& thread : threads) thread.join();
    std::uint32_t expected = 1;
    for (int i = 0; i < 60; ++i) expected = expected * 10 + 7;
    for (const Words& each : words) CHECK(each.read() == W{expected});
  });
}

TEST_CASE("device: threads load, record and submit concurrently") {
  on_every_device([](TestedDevice& device) {
    std::vector<std::thread> threads;
    std::vector<int> num_right(3);
    for (std::size_t t = 0; t < num_right.size(); ++t) {
      threads.emplace_back([&, t] {
        for (std::uint32_t i = 1; i <= 15; ++i) {
          const Words words(device.raw(), {4});
          const auto digit = static_cast<std::uint32_t>(t);
          num_right[t] +=
              wait_for(append_digit(device.raw(), digit), {words.binding()}).ok() && words.read() == W{40 + digit} ? 1
                                                                                                                   : 0;
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    CHECK(num_right == std::vector<int>{15, 15, 15});
  });
}

}  // namespace millrace
