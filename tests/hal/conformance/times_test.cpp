// SPDX-License-Identifier: Apache-2.0
// When the commands of a submission ran, on every device.
#include <doctest/doctest.h>

#include "tests/hal/conformance/devices.h"
#include "tests/hal/conformance/kernels.h"
#include "tests/hal/conformance/replay.h"

namespace millrace {

TEST_CASE("device: the times of a submission are one per command without barriers, in order, when it has ended") {
  on_every_device([](TestedDevice& device) {
    const ExecutableImage image = scale_on(device.target());
    ListBuilder b;
    const BindingIndex x = b.input("x", 8), y = b.output("y", 16);
    b.fill(b.range(y, 8, 8), 1, 4);
    b.barrier();
    b.dispatch(b.kernel(image.info), 2, {b.range(x, 0, 8), b.range(y, 0, 8)}, {3});
    b.barrier();
    b.copy(b.range(x, 0, 8), b.range(y, 8, 8));
    const Replay replay(device.raw(), b, {image});
    const Words in(device.raw(), {1, 2}), out(device.raw(), {0, 0, 0, 0});
    const auto gate = timeline(device.raw()), done = timeline(device.raw());
    SubmissionTimes times;
    for (std::uint64_t run = 1; run <= 2; ++run) {
      const BufferBinding bindings[] = {in.binding(), out.binding()};
      const Timepoint wait[] = {{gate, run}}, signal[] = {{done, run}};
      REQUIRE(
          device.raw()
              .submit(*replay.recording,
                      {.bindings = bindings, .sizes = replay.sizes, .wait = wait, .signal = signal, .times = &times})
              .ok());
      REQUIRE(gate->signal(run).ok());
      REQUIRE(done->wait(run).ok());
      REQUIRE(times.commands.size() == 3);
      std::uint64_t last_ns = 0;
      for (std::size_t i = 0; i < 3; ++i) {
        CHECK(index_of(times.commands[i].command) == 2 * i);
        CHECK(times.commands[i].begin_ns >= last_ns);
        CHECK(times.commands[i].end_ns >= times.commands[i].begin_ns);
        last_ns = times.commands[i].end_ns;
      }
    }
    CHECK(out.read() == std::vector<std::uint32_t>{3, 6, 1, 2});
  });
}

}  // namespace millrace
