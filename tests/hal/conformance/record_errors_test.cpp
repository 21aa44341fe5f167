// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "tests/hal/conformance/devices.h"
#include "tests/hal/conformance/kernels.h"
#include "tests/hal/test_kernels.h"

namespace millrace {
namespace {

void expect_refusal(TestedDevice& device, const CommandList& list, std::shared_ptr<Executable> executable,
                    const std::string& message) {
  const auto recording = device.record(list, std::move(executable));
  REQUIRE(!recording.ok());
  CHECK(recording.status().message() == message);
}

class ForeignExecutable final : public Executable {
 public:
  ForeignExecutable() : Executable(new_device_id()) {}
  std::size_t num_kernels() const override { return 0; }
  const KernelInfo& info(KernelIndex) const override { return info_; }

 private:
  KernelInfo info_;
};

struct ForeignRecording final : Recording {
  ForeignRecording() : Recording(new_device_id()) {}
};

}  // namespace

TEST_CASE("device: a list that breaks rules is not recorded, and every broken rule is reported") {
  on_every_device([](TestedDevice& device) {
    ListBuilder b;
    const BindingIndex x = b.input("x", 8);
    b.fill(b.range(x, 0, 9), 0, 3);
    expect_refusal(device, b.list, nullptr,
                   "command 0 (fill): a pattern of 3 bytes, expected 1, 2, 4 or 8\n"
                   "command 0 (fill) destination: writes input 'x', expected an output or a transient\n"
                   "command 0 (fill) destination: bytes [0, 9) of input 'x', which has 8 bytes");
  });
}

TEST_CASE("device: a dispatch of a kernel that is in no table is not recorded") {
  on_every_device([](TestedDevice& device) {
    ListBuilder b;
    b.dispatch(KernelIndex{3}, 1, {});
    expect_refusal(device, b.list, nullptr, "command 0 (dispatch '?3'): kernel 3, expected less than 0");
  });
}

TEST_CASE("device: a list is recorded with the executable that has its kernels") {
  on_every_device([](TestedDevice& device) {
    const std::vector<ExecutableImage> images = {store_ids_on(device.target()), scale_on(device.target())};
    const auto executable = device.load(images).value();
    ListBuilder b;
    b.kernel(images[0].info);
    expect_refusal(device, b.list, nullptr,
                   "record: the command list has 1 kernels, expected 0 like the executable; record it with the "
                   "executable that it was made for");
    expect_refusal(device, b.list, executable,
                   "record: the command list has 1 kernels, expected 2 like the executable; record it with the "
                   "executable that it was made for");
    const KernelIndex scale = b.kernel(images[1].info);
    CHECK(device.record(b.list, executable).ok());
    b.list.kernels[scale].workgroup_bytes = 64;
    expect_refusal(device, b.list, executable,
                   "record: kernel 1 is 'scale' in the command list and 'scale' in the executable, expected equal "
                   "KernelInfos; record it with the executable that it was made for");
  });
}

TEST_CASE("device: an executable of another device is refused") {
  on_every_device([](TestedDevice& device) {
    const auto recording = device.record(CommandList(), std::make_shared<ForeignExecutable>());
    // A wrapper's executables are those of the device that it wraps, which refuses.
    CHECK(recording.status().message().starts_with(
        "record: the executable was loaded by another device; load it on device '"));
  });
}

TEST_CASE("device: a recording of another device is refused, and its signals fail") {
  on_every_device([](TestedDevice& device) {
    ForeignRecording foreign;
    const auto semaphore = Semaphore::create();
    const Timepoint signal[] = {{semaphore, 1}};
    const Status status = device.submit(foreign, {.signal = signal});
    CHECK(status.code() == StatusCode::kInvalidArgument);
    CHECK(status.message() ==
          "submit: the recording was made by another device; record the list on device '" + device.name() + "'");
    CHECK(semaphore->query().status().message() == status.message());
  });
}

TEST_CASE("device: too much workgroup memory is refused when recording, and the kernel is named") {
  on_every_host_kernel_device([](TestedDevice& device) {
    if (device.target().is_gpu()) return;  // refuses to load an image that does not fit
    const std::vector<ExecutableImage> images = {workgroup_address_image(1, device.target()),
                                                 workgroup_address_image(1ull << 63, device.target())};
    ListBuilder b;
    const BindingIndex y = b.output("y", 8);
    b.kernel(images[0].info);
    b.dispatch(b.kernel(images[1].info), 1, {b.range(y, 0, 8)}, {1});
    expect_refusal(device, b.list, device.load(images).value(),
                   "kernel 'workgroup_address': workgroup memory: buffer: 9223372036854775808 bytes of host memory "
                   "cannot be allocated; free memory, or ask for less");
  });
}

}  // namespace millrace
