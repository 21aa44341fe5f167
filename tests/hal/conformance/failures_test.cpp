// SPDX-License-Identifier: Apache-2.0
// Work that fails after submit() has returned, who explains the failure, and which work continues.
#include <atomic>
#include <stdexcept>
#include <thread>

#include <doctest/doctest.h>

#include "tests/hal/conformance/devices.h"
#include "tests/hal/conformance/kernels.h"
#include "tests/hal/conformance/replay.h"
#include "tests/hal/test_kernels.h"

namespace millrace {
namespace {

using W = std::vector<std::uint32_t>;

constexpr const char* kOutOfRange =
    "kernel 'gather_0': index out of range; give indices within the axis that they select from";

Replay throwing(Device& device) {
  const ExecutableImage image = host_kernel_image(
      device.targets().front(), {.name = "throws"},
      [](const KernelArgs&, std::uint32_t, std::uint32_t) -> Status { throw std::runtime_error("out of tune"); });
  ListBuilder b;
  b.dispatch(b.kernel(image.info), 1, {});
  return {device, b, {image}};
}

Status submit_with(const Replay& replay, FailureExplainer* explainer, const std::vector<Timepoint>& wait,
                   const std::vector<Timepoint>& signal) {
  return replay.device.submit(
      *replay.recording,
      {.bindings = {}, .sizes = replay.sizes, .wait = wait, .signal = signal, .explainer = explainer});
}

/// Counts its calls, and calls `body`.
struct Explainer final : FailureExplainer {
  explicit Explainer(std::function<void()> what = {}) : body(std::move(what)) {}
  Status explain(const DispatchFailure&, Status) override {
    ++num_calls;
    if (body) body();
    return out_of_range("explained");
  }
  std::function<void()> body;
  std::atomic<int> num_calls = 0;
};

}  // namespace

TEST_CASE("device: a kernel that throws after submit() has returned fails the signals, and the device goes on") {
  on_every_host_kernel_device([](TestedDevice& device) {
    const auto gate = timeline(device.raw()), bad = timeline(device.raw()), good = timeline(device.raw());
    const Words words(device.raw(), {0});
    REQUIRE(throwing(device.raw()).submit({}, {{gate, 1}}, {{bad, 1}}).ok());
    REQUIRE(set_word(device.raw(), 1).submit({words.binding()}, {{gate, 1}}, {{good, 1}}).ok());
    REQUIRE(gate->signal(1).ok());
    CHECK(bad->wait(1).message() ==
          "submit: command 0 (dispatch 'throws'): its kernel threw an exception: out of tune; catch it "
          "in the kernel");
    CHECK(good->wait(1).ok());
    CHECK(words.read() == W{1});
  });
}

TEST_CASE("device: the explainer gives the status of work that fails later, once for all signals") {
  on_every_device([](TestedDevice& device) {
    const auto gate = timeline(device.raw()), one = timeline(device.raw()), other = timeline(device.raw());
    Explainer explainer;
    REQUIRE(submit_with(failing(device.raw()), &explainer, {{gate, 1}}, {{one, 1}, {other, 1}}).ok());
    CHECK(explainer.num_calls == 0);
    REQUIRE(gate->signal(1).ok());
    CHECK(one->wait(1).message() == "explained");
    CHECK(other->wait(1).message() == "explained");
    CHECK(explainer.num_calls == 1);
  });
}

TEST_CASE("device: the explainer is asked before any semaphore fails") {
  on_every_device([](TestedDevice& device) {
    const auto one = timeline(device.raw()), other = timeline(device.raw());
    bool had_failed = false;
    Explainer explainer([&] { had_failed = !one->query().ok() || !other->query().ok(); });
    (void)submit_with(failing(device.raw()), &explainer, {}, {{one, 1}, {other, 1}});
    CHECK(one->wait(1).message() == "explained");
    CHECK(!had_failed);
  });
}

TEST_CASE("device: the explainer may read the device's memory") {
  on_every_device([](TestedDevice& device) {
    const Words words(device.raw(), {0});
    const auto ready = timeline(device.raw()), done = timeline(device.raw());
    std::uint32_t seen = 0;
    Status status;
    Explainer explainer(
        [&] { status = device.raw().read_back(*words.buffer, 0, std::as_writable_bytes(std::span(&seen, 1))); });
    const Replay thirteen = set_word(device.raw(), 13);
    REQUIRE(thirteen.submit({words.binding()}, {}, {{ready, 1}}).ok());
    (void)submit_with(failing(device.raw()), &explainer, {{ready, 1}}, {{done, 1}});
    CHECK(done->wait(1).message() == "explained");
    CHECK(status.ok());
    CHECK(seen == 13);
  });
}

TEST_CASE("device: work that does not run needs no explainer") {
  on_every_device([](TestedDevice& device) {
    const auto broken = timeline(device.raw()), one = timeline(device.raw()), other = timeline(device.raw());
    broken->fail(data_loss("gone"));
    Explainer explainer;
    (void)submit_with(failing(device.raw()), &explainer, {{broken, 1}}, {{one, 1}});
    CHECK(one->wait(1).message() == "gone");
    CHECK(wait_for(nothing(device.raw()), {}).ok());
    (void)submit_with(nothing(device.raw()), &explainer, {}, {{other, 1}});
    CHECK(other->wait(1).ok());
    CHECK(explainer.num_calls == 0);
  });
}

TEST_CASE("device: an explainer that throws fails the submission, too") {
  on_every_device([](TestedDevice& device) {
    const auto done = timeline(device.raw());
    Explainer explainer([] { throw std::runtime_error("no words"); });
    (void)submit_with(failing(device.raw()), &explainer, {}, {{done, 1}});
    const Status status = done->wait(1);
    CHECK(status.code() == StatusCode::kInternal);
    CHECK(status.message().find("no words") != std::string::npos);
    CHECK(wait_for(nothing(device.raw()), {}).ok());
  });
}

TEST_CASE("device: a recording whose work failed is submitted again while others fail") {
  on_every_host_kernel_device([](TestedDevice& device) {
    std::atomic<bool> fails = true;
    const ExecutableImage image = host_kernel_image(
        device.target(), {.name = "gather_0"}, [&](const KernelArgs& args, std::uint32_t, std::uint32_t) -> Status {
          if (fails) *args.status |= 1;
          return {};
        });
    ListBuilder b;
    b.dispatch(b.kernel(image.info), 1, {});
    const Replay replay(device.raw(), b, {image});
    for (int i = 0; i < 10; ++i) {
      fails = i % 2 == 0;
      const Status status = wait_for(replay, {});
      CHECK(status.message() == (fails ? kOutOfRange : ""));
    }
  });
}

TEST_CASE("device: a refused submission fails its signals at once, whatever it waits for") {
  on_every_device([](TestedDevice& device) {
    const auto never = timeline(device.raw()), done = timeline(device.raw());
    const Replay one = set_word(device.raw(), 1);
    const Status status = one.submit({}, {{never, 1}}, {{done, 1}});
    CHECK(status.message() == "submit: 0 bindings, expected 1 like the command list");
    CHECK(done->query().status().message() == status.message());
  });
}

TEST_CASE("device: work that waits for a refused submission gets its status") {
  on_every_device([](TestedDevice& device) {
    const auto link = timeline(device.raw()), done = timeline(device.raw());
    REQUIRE(nothing(device.raw()).submit({}, {{link, 1}}, {{done, 1}}).ok());
    CHECK(!set_word(device.raw(), 1).submit({}, {}, {{link, 1}}).ok());
    CHECK(done->wait(1).message() == "submit: 0 bindings, expected 1 like the command list");
  });
}

TEST_CASE("device: commands before a failing dispatch run, and those after it do not if the device promises so") {
  on_every_device([](TestedDevice& device) {
    const ExecutableImage image = fail_index_on(device.target());
    ListBuilder b;
    const BindingIndex y = b.output("y", 8);
    b.fill(b.range(y, 0, 4), 1, 4);
    b.barrier();
    b.dispatch(b.kernel(image.info), 1, {});
    b.barrier();
    b.fill(b.range(y, 4, 4), 1, 4);
    const Words words(device.raw(), {0, 0});
    CHECK(wait_for(Replay(device.raw(), b, {image}), {words.binding()}).message() == kOutOfRange);
    CHECK(words.read() == (device.raw().info().skips_work_after_failure ? W{1, 0} : W{1, 1}));
  });
}

}  // namespace millrace
