// SPDX-License-Identifier: Apache-2.0
// How many calls of the HIP runtime a submission makes.
#include <chrono>
#include <map>
#include <set>

#include <doctest/doctest.h>

#include "tests/hal/conformance/kernels.h"
#include "tests/hal/conformance/replay.h"
#include "tests/hip_standin/standin.h"

namespace millrace {
namespace {

using W = std::vector<std::uint32_t>;

/// How often each entry was called, without the questions that depend on time.
std::map<std::string, int> count_calls(const hip_standin::Control& control) {
  std::map<std::string, int> counts;
  for (const hip_standin::Call& call : control.calls()) ++counts[std::string(call.entry)];
  for (const char* asked : {"hipEventQuery", "hipGetDevice", "hipSetDevice"}) counts.erase(asked);
  return counts;
}

/// y = digits, one dispatch per digit, each behind the one before it.
Replay append_digits(Device& device, const std::vector<std::uint32_t>& digits) {
  const ExecutableImage image = append_on(device.targets().front());
  ListBuilder b;
  const BindingIndex y = b.output("y", 4);
  const KernelIndex kernel = b.kernel(image.info);
  for (const std::uint32_t digit : digits) {
    b.dispatch(kernel, 1, {b.range(y, 0, 4)}, {digit});
    b.barrier();
  }
  return {device, b, {image}};
}

/// `width` words of y are set by a dispatch each, at the same time; then x = y.
Replay store_in_branches(Device& device, int width) {
  const ExecutableImage image = store_ids_on(device.targets().front());
  ListBuilder b;
  const BindingIndex y = b.output("y", 8 * width), x = b.output("x", 8 * width);
  const KernelIndex kernel = b.kernel(image.info);
  for (int i = 0; i < width; ++i) b.dispatch(kernel, 2, {b.range(y, 8 * i, 8)});
  b.barrier();
  b.copy(b.range(y, 0, 8 * width), b.range(x, 0, 8 * width));
  return {device, b, {image}};
}

}  // namespace

TEST_CASE("hip: a list of dispatches is as many launches, one event and one read-back, and allocates nothing") {
  const HipStandin standin;
  const auto device = standin.open({.num_streams = 1}).value();
  const Words words(*device, {0});
  const Replay replay = append_digits(*device, {1, 2, 3, 4, 5});
  REQUIRE(wait_for(replay, {words.binding()}).ok());  // the stream waits for the earlier allocations
  for (int run = 0; run < 2; ++run) {
    standin.control.clear_calls();
    REQUIRE(wait_for(replay, {words.binding()}).ok());
    const std::map<std::string, int> expected = {
        {"hipModuleLaunchKernel", 5}, {"hipMemsetD32Async", 1}, {"hipMemcpyAsync", 1}, {"hipEventRecord", 1}};
    CHECK(count_calls(standin.control) == expected);
  }
  CHECK(words.read() == W{static_cast<std::uint32_t>(123'451'234'512'345)});
}

TEST_CASE("hip: submissions that wait for each other go to one stream, without an event between them") {
  const HipStandin standin;
  const auto device = standin.open().value();
  const Replay one = append_digit(*device, 1), two = append_digit(*device, 2);
  const auto run = [&] {
    const Words words(*device, {0});
    const auto turn = timeline(*device);
    standin.control.clear_calls();
    REQUIRE(one.submit({words.binding()}, {}, {{turn, 1}}).ok());
    REQUIRE(two.submit({words.binding()}, {{turn, 1}}, {{turn, 2}}).ok());
    REQUIRE(one.submit({words.binding()}, {{turn, 2}}, {{turn, 3}}).ok());
    REQUIRE(turn->wait(3).ok());
    CHECK(words.read() == W{121});
    std::set<std::uint64_t> streams;
    for (const hip_standin::Call& call : standin.control.calls()) {
      if (call.entry == "hipModuleLaunchKernel") streams.insert(call.stream);
    }
    return streams.size();
  };
  // What has ended before the next one is submitted holds no stream any more: where the machine is busy, try again.
  std::size_t num_streams = run();
  for (int i = 0; i < 100 && num_streams > 1; ++i) num_streams = run();
  CHECK(num_streams == 1);
}

TEST_CASE("hip: a submission that waits for two others waits for one of them by an event") {
  const HipStandin standin;
  const auto device = standin.open().value();
  const Words x(*device, {0}), y(*device, {0});
  const auto first = timeline(*device), second = timeline(*device), both = timeline(*device);
  const Replay one = set_word(*device, 1), rest = nothing(*device);
  REQUIRE(wait_for(rest, {}).ok());
  standin.control.clear_calls();
  REQUIRE(one.submit({x.binding()}, {}, {{first, 1}}).ok());
  REQUIRE(one.submit({y.binding()}, {}, {{second, 1}}).ok());
  const std::uint64_t before = standin.control.num_calls("hipStreamWaitEvent");
  REQUIRE(rest.submit({}, {{first, 1}, {second, 1}}, {{both, 1}}).ok());
  REQUIRE(both->wait(1).ok());
  CHECK(standin.control.num_calls("hipStreamWaitEvent") - before <= 1);
}

TEST_CASE("hip: a submission queues nothing while no other submission has promised the value that it waits for") {
  const HipStandin standin;
  const auto device = standin.open().value();
  const Words words(*device, {0});
  const Replay one = append_digit(*device, 1), two = append_digit(*device, 2), three = append_digit(*device, 3);
  const auto turn = timeline(*device);
  REQUIRE(wait_for(three, {words.binding()}).ok());
  standin.control.clear_calls();
  // HIP would take an event that nobody has recorded for one that has come about.
  REQUIRE(three.submit({words.binding()}, {{turn, 2}}, {{turn, 3}}).ok());
  REQUIRE(two.submit({words.binding()}, {{turn, 1}}, {{turn, 2}}).ok());
  CHECK(count_calls(standin.control) == std::map<std::string, int>{});
  CHECK(turn->query().value() == 0);
  REQUIRE(one.submit({words.binding()}, {}, {{turn, 1}}).ok());
  CHECK(count_calls(standin.control).at("hipModuleLaunchKernel") == 3);
  REQUIRE(turn->wait(3, std::chrono::seconds(10)).ok());
  CHECK(words.read() == W{3123});
}

TEST_CASE("hip: small dispatches without a barrier between them go to several streams, and are joined by events") {
  const HipStandin standin;
  const auto device = standin.open({.num_streams = 3}).value();
  const Words y(*device, W(8, 9)), x(*device, W(8, 9));
  const Replay replay = store_in_branches(*device, 4);
  REQUIRE(wait_for(replay, {y.binding(), x.binding()}).ok());
  CHECK(x.read() == W{0, 1, 0, 1, 0, 1, 0, 1});
  standin.control.clear_calls();
  REQUIRE(wait_for(replay, {y.binding(), x.binding()}).ok());
  const std::map<std::string, int> counts = count_calls(standin.control);
  CHECK(counts.at("hipModuleLaunchKernel") == 4);
  // One event begins the two branches, and each branch and the submission end with one.
  CHECK(counts.at("hipEventRecord") == 4);
  CHECK(counts.count("hipEventCreateWithFlags") == 0);
  std::map<std::uint64_t, int> streams;
  for (const hip_standin::Call& call : standin.control.calls()) {
    if (call.entry == "hipModuleLaunchKernel") ++streams[call.stream];
  }
  CHECK(streams.size() == 3);
}

TEST_CASE("hip: images of one code object are one module") {
  const HipStandin standin;
  const auto device = standin.open().value();
  const ExecutableImage image = store_ids_on(device->targets().front());
  const std::vector<ExecutableImage> images = {image, image, image};
  standin.control.clear_calls();
  const auto executable = device->load(images).value();
  CHECK(executable->num_kernels() == 3);
  CHECK(standin.control.num_calls("hipModuleLoadData") == 1);
  CHECK(standin.control.num_calls("hipModuleGetFunction") == 3);
}

TEST_CASE("hip: freed memory is used again, with pools and without") {
  for (const bool has_pools : {true, false}) {
    const HipStandin standin({.devices = {{.has_memory_pools = has_pools}}});
    const auto device = standin.open().value();
    for (int i = 0; i < 5; ++i) CHECK(device->allocate(1000).value()->size_bytes() == 1000);
    CHECK(standin.control.num_calls("hipMallocFromPoolAsync") == (has_pools ? 5 : 0));
    CHECK(standin.control.num_calls("hipMalloc") == (has_pools ? 0 : 1));
    CHECK(standin.control.num_hidden_waits() == 0);
  }
}

}  // namespace millrace
