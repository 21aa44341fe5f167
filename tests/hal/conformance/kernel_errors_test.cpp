// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <optional>
#include <stdexcept>
#include <string>

#include <doctest/doctest.h>

#include "tests/hal/conformance/devices.h"
#include "tests/hal/conformance/kernels.h"
#include "tests/hal/test_kernels.h"

namespace millrace {
namespace {

/// Dispatches the first image, then fills `y`, which shows whether the list went on.
struct Fixture {
  Fixture(TestedDevice& on, const ExecutableImage& image) : device(on) {
    const std::vector<ExecutableImage> images = {image};
    const BindingIndex y = builder.output("y", 4);
    builder.dispatch(builder.kernel(image.info), 4, {});
    builder.barrier();
    builder.fill(builder.range(y, 0, 4), 1, 4);
    recording = device.record(builder.list, device.load(images).value()).value();
  }
  Status submit() { return submit(out); }
  Status submit(std::vector<std::uint32_t>& y) {
    const std::vector<BufferBinding> bindings = {bind(y)};
    return device.submit(*recording, {.bindings = bindings, .sizes = builder.evaluate()});
  }
  TestedDevice& device;
  ListBuilder builder;
  std::shared_ptr<Recording> recording;
  std::vector<std::uint32_t> out = std::vector<std::uint32_t>(1);
};

/// Keeps the failures that it gets.
struct Explainer final : FailureExplainer {
  Status explain(const DispatchFailure& what, Status status) override {
    CHECK(status.message().starts_with("kernel 'reports': "));
    failure = what;
    return out_of_range("explained");
  }
  std::optional<DispatchFailure> failure;
};

void or_status(const KernelArgs& args, std::uint32_t bits) {
  std::atomic_ref<std::uint32_t>(*args.status).fetch_or(bits);
}

}  // namespace

TEST_CASE("device: an error that a kernel reports names the kernel and what happened, and ends the list") {
  on_every_device([](TestedDevice& device) {
    Fixture f(device, fail_index_on(device.target()));
    const Status status = f.submit();
    CHECK(status.code() == StatusCode::kOutOfRange);
    CHECK(status.message() ==
          "kernel 'gather_0': index out of range; give indices within the axis that they select from");
    if (device.raw().info().skips_work_after_failure) CHECK(f.out[0] == 0);
  });
}

TEST_CASE("device: the failing dispatch is named in the failure's data, only when a kernel reports an error") {
  on_every_host_kernel_device([](TestedDevice& device) {
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
      Explainer explainer;
      const Status status = device.submit(*recording, {.bindings = bindings, .sizes = sizes, .explainer = &explainer});
      CHECK(status.message() == (explainer.failure ? "explained" : ""));
      return explainer.failure;
    };
    CHECK(submit() == std::nullopt);
    second = 1;
    CHECK(submit() == DispatchFailure{.command = CommandId{2}, .kernel = kernels[1], .errors = 1});
    first = 5;
    CHECK(submit() == DispatchFailure{.command = CommandId{1}, .kernel = kernels[0], .errors = 5});
    Explainer untouched;
    CHECK_FALSE(device.submit(*recording, {.bindings = bindings, .explainer = &untouched}).ok());
    CHECK(untouched.failure == std::nullopt);
  });
}

TEST_CASE("device: an error that any of the groups reports is reported") {
  on_every_host_kernel_device([](TestedDevice& device) {
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
  on_every_host_kernel_device([](TestedDevice& device) {
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

TEST_CASE("device: status bits that stand for no error are an internal error") {
  on_every_host_kernel_device([](TestedDevice& device) {
    Fixture f(device, host_kernel_image(device.target(), {.name = "wild"},
                                        [](const KernelArgs& args, std::uint32_t, std::uint32_t) -> Status {
                                          or_status(args, 0x8000'0001);
                                          return {};
                                        }));
    const Status status = f.submit();
    CHECK(status.code() == StatusCode::kInternal);
    CHECK(status.message() ==
          "kernel 'wild': status word 0x80000001, expected only bits of KernelError; please report it");
  });
}

TEST_CASE("device: a host kernel's own failure keeps its code, names the kernel and ends the list") {
  on_every_host_kernel_device([](TestedDevice& device) {
    std::atomic<int> calls = 0;
    Fixture f(device, host_kernel_image(device.target(), {.name = "sort_0"},
                                        [&](const KernelArgs&, std::uint32_t, std::uint32_t) {
                                          ++calls;
                                          return resource_exhausted("no lanes left");
                                        }));
    const Status status = f.submit();
    CHECK(status.code() == StatusCode::kResourceExhausted);
    CHECK(status.message() == "kernel 'sort_0': no lanes left");
    // Where groups are shared, those before one that fails still run, because the first failure is reported.
    const bool has_threads = device.raw().info().description.find("threads") != std::string::npos;
    CHECK(calls >= 1);
    CHECK(calls <= (has_threads ? 4 : 1));
    CHECK(f.out[0] == 0);
  });
}

TEST_CASE("device: a recording may be submitted while it runs; each submission has its own state") {
  on_every_host_memory_device([](TestedDevice& device) {
    if (!runs_host_kernels(device.target())) return;
    std::atomic<int> depth = 0;
    std::atomic<std::uint32_t> statuses = 0;
    Fixture* fixture = nullptr;
    Fixture f(device, host_kernel_image(device.target(), {.name = "again"},
                                        [&](const KernelArgs& args, std::uint32_t, std::uint32_t) {
                                          statuses |= *args.status;
                                          std::vector<std::uint32_t> own(1);
                                          if (++depth < 5) CHECK(fixture->submit(own).ok());
                                          return Status();
                                        }));
    fixture = &f;
    CHECK(f.submit().ok());
    CHECK(depth >= 5);
    CHECK(statuses == 0);
    CHECK(f.out[0] == 1);
  });
}

TEST_CASE("device: a kernel that throws ends its submission with an error, and the device goes on") {
  on_every_host_kernel_device([](TestedDevice& device) {
    int what = 0;
    Fixture f(device, host_kernel_image(device.target(), {.name = "throws"},
                                        [&](const KernelArgs&, std::uint32_t, std::uint32_t) -> Status {
                                          if (what == 1) throw std::runtime_error("out of tune");
                                          if (what == 2) throw 7;
                                          if (what == 3) throw std::bad_alloc();
                                          return {};
                                        }));
    what = 1;
    CHECK(f.submit().message() ==
          "submit: command 0 (dispatch 'throws'): its kernel threw an exception: out of tune; catch it "
          "in the kernel");
    what = 2;
    CHECK(f.submit().message() ==
          "submit: command 0 (dispatch 'throws'): its kernel threw an exception: not a std::exception; "
          "catch it in the kernel");
    what = 3;
    const Status no_memory = f.submit();
    CHECK(no_memory.code() == StatusCode::kResourceExhausted);
    CHECK(no_memory.message() == "out of memory");
    CHECK(f.out[0] == 0);
    what = 0;
    CHECK(f.submit().ok());
    CHECK(f.out[0] == 1);
  });
}

}  // namespace millrace
