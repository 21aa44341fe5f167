// SPDX-License-Identifier: Apache-2.0
#include <atomic>

#include <doctest/doctest.h>

#include "tests/hal/conformance/devices.h"
#include "tests/hal/test_kernels.h"

namespace millrace {
namespace {

/// Dispatches the first image, then fills `y`, which shows whether the list went on.
struct Fixture {
  Fixture(Device& on, const ExecutableImage& image) : device(on) {
    const std::vector<ExecutableImage> images = {image};
    const BindingIndex y = builder.output("y", 4);
    builder.dispatch(builder.kernel(image.info), 4, {});
    builder.fill(builder.range(y, 0, 4), 1, 4);
    recording = device.record(builder.list, device.load(images).value()).value();
  }
  Status submit() {
    const std::vector<BufferBinding> bindings = {bind(out)};
    return device.submit(*recording, {.bindings = bindings, .sizes = builder.evaluate()});
  }
  Device& device;
  ListBuilder builder;
  std::unique_ptr<Recording> recording;
  std::vector<std::uint32_t> out = std::vector<std::uint32_t>(1);
};

void or_status(const KernelArgs& args, std::uint32_t bits) {
  std::atomic_ref<std::uint32_t>(*args.status).fetch_or(bits);
}

}  // namespace

TEST_CASE("device: an error that a kernel reports names the kernel and what happened, and ends the list") {
  on_every_device([](Device& device) {
    Fixture f(device, fail_index_image(device.target()));
    const Status status = f.submit();
    CHECK(status.code() == StatusCode::kOutOfRange);
    CHECK(status.message() ==
          "kernel 'gather_0': index out of range; give indices within the axis that they select from");
    CHECK(f.out[0] == 0);
  });
}

TEST_CASE("device: which dispatch failed is told as data, and only when a kernel reports an error") {
  on_every_device([](Device& device) {
    const auto reports = [&](std::uint32_t& bits) {
      return host_kernel_image(device.target(), {.name = "reports"},
                               [&bits](const KernelArgs& args, std::uint32_t, std::uint32_t) -> Status {
                                 or_status(args, bits);
                                 return {};
                               });
    };
    std::uint32_t first = 0, second = 0;
    const std::vector<ExecutableImage> images = {reports(first), reports(second)};
    ListBuilder builder;
    const BindingIndex y = builder.output("y", 4);
    const KernelIndex kernels[] = {builder.kernel(images[0].info), builder.kernel(images[1].info)};
    builder.fill(builder.range(y, 0, 4), 1, 4);
    for (const KernelIndex kernel : kernels) builder.dispatch(kernel, 4, {});
    const auto recording = device.record(builder.list, device.load(images).value()).value();
    std::vector<std::uint32_t> out(1);
    const std::vector<BufferBinding> bindings = {bind(out)};
    const std::vector<std::int64_t> sizes = builder.evaluate();
    const auto submit = [&] {
      std::optional<DispatchFailure> failure;
      const Status status = device.submit(*recording, {.bindings = bindings, .sizes = sizes, .failure = &failure});
      CHECK(status.ok() == !failure.has_value());
      return failure;
    };
    CHECK(submit() == std::nullopt);
    second = 1;
    CHECK(submit() == DispatchFailure{.command = 2, .kernel = kernels[1], .errors = 1});
    first = 5;
    CHECK(submit() == DispatchFailure{.command = 1, .kernel = kernels[0], .errors = 5});
    std::optional<DispatchFailure> untouched;
    CHECK_FALSE(device.submit(*recording, {.bindings = bindings, .failure = &untouched}).ok());
    CHECK(untouched == std::nullopt);
  });
}

TEST_CASE("device: an error that any of the groups reports is reported") {
  on_every_device([](Device& device) {
    for (std::uint32_t bad_group = 0; bad_group < 4; ++bad_group) {
      Fixture f(device, host_kernel_image(
                            device.target(), {.name = "gather_3"},
                            [&](const KernelArgs& args, std::uint32_t first_group, std::uint32_t end_group) -> Status {
                              for (std::uint32_t group = first_group; group < end_group; ++group) {
                                if (group == bad_group)
                                  or_status(args, static_cast<std::uint32_t>(KernelError::kIndexOutOfRange));
                              }
                              return {};
                            }));
      CHECK(f.submit().message() ==
            "kernel 'gather_3': index out of range; give indices within the axis that they select from");
    }
  });
}

TEST_CASE("device: a status word is cleared between runs") {
  on_every_device([](Device& device) {
    bool fails = true;
    Fixture f(device, host_kernel_image(device.target(), {.name = "sometimes"},
                                        [&](const KernelArgs& args, std::uint32_t, std::uint32_t) -> Status {
                                          if (fails) or_status(args, 1);
                                          return {};
                                        }));
    CHECK(!f.submit().ok());
    fails = false;
    CHECK(f.submit().ok());
    CHECK(f.out[0] == 1);
  });
}

TEST_CASE("device: bits that no error has are ours to fix") {
  on_every_device([](Device& device) {
    Fixture f(device, host_kernel_image(device.target(), {.name = "wild"},
                                        [](const KernelArgs& args, std::uint32_t, std::uint32_t) -> Status {
                                          or_status(args, 0x8000'0001);
                                          return {};
                                        }));
    const Status status = f.submit();
    CHECK(status.code() == StatusCode::kInternal);
    CHECK(status.message() ==
          "kernel 'wild': status word 0x80000001, expected no bits but KernelError's; please report it");
  });
}

TEST_CASE("device: a host kernel's own failure keeps its code, names the kernel and ends the list") {
  on_every_device([](Device& device) {
    int calls = 0;
    Fixture f(device, host_kernel_image(device.target(), {.name = "sort_0"},
                                        [&](const KernelArgs&, std::uint32_t, std::uint32_t) {
                                          ++calls;
                                          return resource_exhausted("no lanes left");
                                        }));
    const Status status = f.submit();
    CHECK(status.code() == StatusCode::kResourceExhausted);
    CHECK(status.message() == "kernel 'sort_0': no lanes left");
    CHECK(calls == 1);
    CHECK(f.out[0] == 0);
  });
}

TEST_CASE("device: a recording that is submitted while it runs refuses, and the first goes on") {
  on_every_device([](Device& device) {
    Status inner;
    Fixture* fixture = nullptr;
    Fixture f(device, host_kernel_image(device.target(), {.name = "again"},
                                        [&](const KernelArgs&, std::uint32_t, std::uint32_t) {
                                          inner = fixture->submit();
                                          return Status();
                                        }));
    fixture = &f;
    CHECK(f.submit().ok());
    CHECK(inner.code() == StatusCode::kFailedPrecondition);
    CHECK(inner.message() ==
          "submit: the recording is being submitted already, expected one submission at a time; make a recording for "
          "each thread");
    CHECK(f.out[0] == 1);
  });
}

}  // namespace millrace
