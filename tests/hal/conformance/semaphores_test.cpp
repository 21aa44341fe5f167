// SPDX-License-Identifier: Apache-2.0
#include <thread>

#include <doctest/doctest.h>

#include "millrace/hal/transfer.h"
#include "tests/hal/conformance/devices.h"
#include "tests/hal/conformance/kernels.h"
#include "tests/hal/test_kernels.h"

namespace millrace {
namespace {

/// A list that fills four bytes, and all that a submission of it needs.
struct OneFill {
  explicit OneFill(TestedDevice& device) {
    const BindingIndex y = builder.output("y", 4);
    builder.fill(builder.range(y, 0, 4), 0x2a, 4);
    recording = device.record(builder.list, nullptr).value();
    sizes = builder.evaluate();
    bindings = {bind(memory)};
  }
  Submission with(std::span<const Timepoint> wait, std::span<const Timepoint> signal) const {
    return {.bindings = bindings, .sizes = sizes, .wait = wait, .signal = signal};
  }
  ListBuilder builder;
  std::shared_ptr<Recording> recording;
  std::vector<std::int64_t> sizes;
  std::vector<std::uint32_t> memory = std::vector<std::uint32_t>(1);
  std::vector<BufferBinding> bindings;
};

}  // namespace

TEST_CASE("device: a submission signals every semaphore when its work is done") {
  on_every_device([](TestedDevice& device) {
    OneFill fill(device);
    const auto first = Semaphore::create();
    const auto second = Semaphore::create(10);
    const Timepoint signal[] = {{first, 1}, {second, 20}};
    REQUIRE(device.submit(*fill.recording, fill.with({}, signal)).ok());
    CHECK(first->wait(1).ok());
    CHECK(second->query().value() == 20);
    CHECK(fill.memory[0] == 0x2a);
  });
}

TEST_CASE("device: a submission waits until every value is reached") {
  on_every_device([](TestedDevice& device) {
    OneFill fill(device);
    const auto first = Semaphore::create();
    const auto second = Semaphore::create();
    const auto done = Semaphore::create();
    bool may_run = false;  // written before the last signal, read by the work after its waits
    std::thread other([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
      CHECK(first->signal(3).ok());
      may_run = true;
      CHECK(second->signal(1).ok());
    });
    const Timepoint wait[] = {{first, 2}, {second, 1}};
    const Timepoint signal[] = {{done, 1}};
    CHECK(device.submit(*fill.recording, fill.with(wait, signal)).ok());
    CHECK(done->wait(1).ok());
    CHECK(may_run);
    CHECK(fill.memory[0] == 0x2a);
    other.join();
  });
}

TEST_CASE("device: two threads take turns on one recording through a timeline") {
  on_every_host_kernel_device([](TestedDevice& device) {
    constexpr std::uint64_t kTurns = 200;
    const std::vector<ExecutableImage> images = {
        host_kernel_image(device.target(), {.name = "increment", .num_buffers = 1, .buffer_is_written = {true}},
                          [](const KernelArgs& args, std::uint32_t, std::uint32_t) -> Status {
                            ++*static_cast<std::uint64_t*>(args.buffers[0]);
                            return {};
                          })};
    ListBuilder b;
    const BindingIndex y = b.output("y", 8);
    b.dispatch(b.kernel(images[0].info), 1, {b.range(y, 0, 8)});
    const auto recording = device.record(b.list, device.load(images).value()).value();
    const std::vector<std::int64_t> sizes = b.evaluate();
    std::vector<std::uint64_t> counter(1);
    const auto memory = device.allocate(8).value();
    REQUIRE(upload(device.raw(), *memory, std::as_bytes(std::span(counter))).ok());
    const std::vector<BufferBinding> bindings = {memory->binding()};
    const auto turn = Semaphore::create();
    const auto take_turns = [&](std::uint64_t first) {
      for (std::uint64_t i = first; i < kTurns; i += 2) {
        const Timepoint wait[] = {{turn, i}};
        const Timepoint signal[] = {{turn, i + 1}};
        CHECK(device.submit(*recording, {.bindings = bindings, .sizes = sizes, .wait = wait, .signal = signal}).ok());
      }
    };
    std::thread other([&] { take_turns(1); });
    take_turns(0);
    other.join();
    CHECK(turn->query().value() == kTurns);
    REQUIRE(download(device.raw(), *memory, std::as_writable_bytes(std::span(counter))).ok());
    CHECK(counter[0] == kTurns);
  });
}

TEST_CASE("device: a failed wait runs nothing, and its status goes on to the signals") {
  on_every_device([](TestedDevice& device) {
    OneFill fill(device);
    const auto before = Semaphore::create();
    const auto after = Semaphore::create();
    const auto last = Semaphore::create();
    before->fail(data_loss("the disk is gone"));
    const Timepoint wait[] = {{before, 1}};
    const Timepoint signal[] = {{after, 1}};
    const Status status = device.submit(*fill.recording, fill.with(wait, signal));
    CHECK(status.code() == StatusCode::kDataLoss);
    CHECK(status.message() == "the disk is gone");
    CHECK(fill.memory[0] == 0);
    // And through the next submission in the chain.
    const Timepoint next_wait[] = {{after, 1}};
    const Timepoint next_signal[] = {{last, 1}};
    CHECK(device.submit(*fill.recording, fill.with(next_wait, next_signal)).message() == "the disk is gone");
    CHECK(last->wait(1).message() == "the disk is gone");
  });
}

TEST_CASE("device: a submission that waits when the failure occurs passes it on") {
  on_every_device([](TestedDevice& device) {
    OneFill fill(device);
    const auto before = Semaphore::create();
    const auto after = Semaphore::create();
    std::thread other([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      before->fail(unavailable("device lost"));
    });
    const Timepoint wait[] = {{before, 1}};
    const Timepoint signal[] = {{after, 1}};
    CHECK(device.submit(*fill.recording, fill.with(wait, signal)).message() == "device lost");
    CHECK(after->query().status().message() == "device lost");
    CHECK(fill.memory[0] == 0);
    other.join();
  });
}

TEST_CASE("device: refused and failed submissions give their status to every signal") {
  on_every_device([](TestedDevice& device) {
    const std::vector<ExecutableImage> images = {fail_index_on(device.target())};
    ListBuilder b;
    b.dispatch(b.kernel(images[0].info), 1, {});
    const auto recording = device.record(b.list, device.load(images).value()).value();
    const auto first = Semaphore::create();
    const auto second = Semaphore::create();
    const Timepoint signal[] = {{first, 1}, {second, 1}};
    const Status status = device.submit(*recording, {.sizes = b.evaluate(), .signal = signal});
    CHECK(!status.ok());
    CHECK(first->wait(1).message() == status.message());
    CHECK(second->wait(1).message() == status.message());

    const auto third = Semaphore::create();
    const Timepoint third_signal[] = {{third, 1}};
    const Status refused = device.submit(*recording, {.signal = third_signal});
    CHECK(refused.message() == "submit: 0 sizes, expected 1 like the command list");
    CHECK(third->query().status().message() == refused.message());
  });
}

TEST_CASE("device: timepoints that cannot be met are refused before anything runs") {
  on_every_device([](TestedDevice& device) {
    const auto at_five = Semaphore::create(5);  // each fails with the case that signals it
    const auto also_at_five = Semaphore::create(5);
    const auto at_zero = Semaphore::create(), also_at_zero = Semaphore::create();
    const auto failed = Semaphore::create();
    failed->fail(data_loss("gone"));
    struct Case {
      std::vector<Timepoint> wait;
      std::vector<Timepoint> signal;
      std::string message;
    };
    const Case cases[] = {
        {{{nullptr, 1}}, {}, "submit: wait 0 has no semaphore; give one or leave the timepoint out"},
        {{}, {{nullptr, 1}}, "submit: signal 0 has no semaphore; give one or leave the timepoint out"},
        {{}, {{failed, 1}}, "gone"},
        {{{at_five, 6}},
         {{at_five, 6}},
         "submit: signal 0 is value 6, but the submission waits for the same semaphore at 6; signal a greater value"},
        {{},
         {{also_at_five, 5}},
         "submit: signal 0 is value 5, expected more than its semaphore's 5; signal a greater value"},
        {{},
         {{at_zero, 3}, {at_zero, 3}},
         "submit: signal 1 is value 3, but signal 0 sets the same semaphore to 3; signal a greater value"},
        {{},
         {{also_at_zero, Semaphore::kMaxValue + 1}},
         "submit: signal 0 is value 18446744073709551615, expected at most 18446744073709551614; signal a smaller "
         "one"}};
    for (const Case& c : cases) {
      CAPTURE(c.message);
      OneFill fill(device);
      CHECK(device.submit(*fill.recording, fill.with(c.wait, c.signal)).message() == c.message);
      CHECK(fill.memory[0] == 0);
    }
  });
}

}  // namespace millrace
