// SPDX-License-Identifier: Apache-2.0
// Calls of the driver when the host has no memory left.
#include <chrono>
#include <stop_token>

#include <doctest/doctest.h>

#include "tests/hal/conformance/kernels.h"
#include "tests/hal/conformance/replay.h"
#include "tests/hip_standin/standin.h"
#include "tests/support/allocation_count.h"

namespace millrace {
namespace {

using namespace std::chrono_literals;
using W = std::vector<std::uint32_t>;

/// Opens a device, loads code and allocates.
struct Use {
  Status run(const HipDeviceOptions& options, const ExecutableImage& image) {
    MILLRACE_TRY_ASSIGN(device, create_hip_device(options));
    MILLRACE_TRY_ASSIGN(executable, device->load({&image, 1}));
    MILLRACE_TRY_ASSIGN(buffer, device->allocate(1000));
    return {};
  }

  std::shared_ptr<HipDevice> device;
  std::shared_ptr<Executable> executable;
  std::shared_ptr<Buffer> buffer;
};

}  // namespace

TEST_CASE("hip: no stream, event, module or memory leaks when the host's memory runs out anywhere") {
  const ExecutableImage image = scale_on(TargetSpec::parse("amdgpu:gfx1100").value());
  for (const bool has_pools : {true, false}) {
    Status status = Status::out_of_memory();
    for (std::uint64_t num_before = 0; !status.ok(); ++num_before) {
      CAPTURE(num_before);
      const HipStandin standin({.devices = {{.has_memory_pools = has_pools}}});
      const HipDeviceOptions options{.library = HipStandin::library(), .num_streams = 2};
      Use use;
      {
        const FailingAllocation failing(num_before);
        status = use.run(options, image);
      }
      CHECK((status.ok() || status.code() == StatusCode::kResourceExhausted));
    }
  }
}

TEST_CASE("hip: a signal or a stop request without memory left reports no error, and the work goes on") {
  const HipStandin standin;
  const auto device = standin.open().value();
  const Words words(*device, {1});
  const Replay two = append_digit(*device, 2), five = set_word(*device, 5);
  const auto gate = timeline(*device), never = timeline(*device);
  const auto done = timeline(*device), stopped = timeline(*device);
  std::stop_source stop;
  REQUIRE(two.submit({words.binding()}, {{gate, 1}}, {{done, 1}}).ok());
  const BufferBinding binding = words.binding();
  const Timepoint wait{never, 1}, signal{stopped, 1};
  REQUIRE(device
              ->submit(*five.recording, {.bindings = {&binding, 1},
                                         .sizes = five.sizes,
                                         .wait = {&wait, 1},
                                         .signal = {&signal, 1},
                                         .stop = stop.get_token()})
              .ok());
  {
    const FailingAllocation failing(0, Failing::kAllFromThere);
    stop.request_stop();
  }
  CHECK(stopped->wait(1, 10s).message() == "submit: stopped on request; what it should have written is unspecified");
  Status signalled;
  {
    const FailingAllocation failing(1, Failing::kAllFromThere);  // signal() needs one itself
    signalled = gate->signal(1);
  }
  CHECK(signalled.message() == "");
  CHECK(done->wait(1, 10s).ok());
  CHECK(words.read() == W{12});
}

}  // namespace millrace
