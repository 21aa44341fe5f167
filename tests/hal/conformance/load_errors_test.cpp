// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "tests/hal/conformance/devices.h"
#include "tests/hal/conformance/kernels.h"
#include "tests/hal/test_kernels.h"

namespace millrace {
namespace {

void expect_refusal(TestedDevice& device, const ExecutableImage& image, StatusCode code, const std::string& message) {
  const std::vector<ExecutableImage> images = {store_ids_on(device.target()), image};
  const auto executable = device.load(images);
  REQUIRE(!executable.ok());
  CHECK(executable.status().code() == code);
  CHECK(executable.status().message() == message);
}

}  // namespace

TEST_CASE(
    "device: an image for a target that the device does not execute is refused; the message names kernel, image and "
    "device") {
  on_every_device([](TestedDevice& device) {
    const std::string end = device.target().is_cpu() ? "' or one that it covers; compile for the device's target"
                                                     : "'; compile for the device's target";
    for (const std::string target : {"amdgpu:gfx1030", "cpu:avx9", "cpu", "", "cuda"}) {
      ExecutableImage image = store_ids_on(device.target());
      image.info.name = "gelu_0";
      image.target = target;
      expect_refusal(
          device, image, StatusCode::kFailedPrecondition,
          "kernel 'gelu_0': its image is for '" + target + "', expected '" + device.target().to_text() + end);
      ExecutableImage interpreted = host_kernel_image(device.target(), {.name = "gelu_1"}, nullptr);
      interpreted.target = target;
      expect_refusal(
          device, interpreted, StatusCode::kFailedPrecondition,
          "kernel 'gelu_1': its image is for '" + target + "', expected '" + device.target().to_text() + end);
    }
  });
}

TEST_CASE("device: host code above the device's level is refused, an interpreted kernel of that level is not") {
  on_every_host_code_device([](TestedDevice& device) {
    if (device.target().isa == IsaLevel::kAvx512) return;
    ExecutableImage code = store_ids_on(device.target());
    code.target = "cpu:avx512";
    expect_refusal(device, code, StatusCode::kFailedPrecondition,
                   "kernel 'store_ids': its image is for 'cpu:avx512', expected '" + device.target().to_text() +
                       "' or one that it covers; compile for the device's target");
    ExecutableImage interpreted = host_kernel_image(
        device.target(), {.name = "nothing"}, [](const KernelArgs&, std::uint32_t, std::uint32_t) { return Status(); });
    interpreted.target = "cpu:avx512";
    const std::vector<ExecutableImage> images = {interpreted};
    CHECK(device.load(images).ok());
  });
}

TEST_CASE("device: a damaged image is refused, and its kernel is named") {
  on_every_host_code_device([](TestedDevice& device) {
    struct Case {
      void (*damage)(ExecutableImage&);
      const char* message;
    };
    const Case cases[] = {
        {[](ExecutableImage& image) { image.bytes = {}; },
         "kernel 'load_constant': 4096 bytes of code in an image of 0 bytes, expected 1 to the image's size"},
        {[](ExecutableImage& image) { image.code_bytes = 0; },
         "kernel 'load_constant': 0 bytes of code in an image of 4100 bytes, expected 1 to the image's size"},
        {[](ExecutableImage& image) { image.code_bytes = 4101; },
         "kernel 'load_constant': 4101 bytes of code in an image of 4100 bytes, expected 1 to the image's size"},
        {[](ExecutableImage& image) { image.code_bytes = 100; },
         "kernel 'load_constant': 100 bytes of code in an image of 4100 bytes, expected a multiple of 4096 or the "
         "image's size"},
        {[](ExecutableImage& image) { image.entry_offset = 4096; },
         "kernel 'load_constant': entry at offset 4096, expected it inside the 4096 bytes of code"},
        {[](ExecutableImage& image) { image.entry_offset = ~0ull; },
         "kernel 'load_constant': entry at offset 18446744073709551615, expected it inside the 4096 bytes of code"},
        {[](ExecutableImage& image) { image.info.buffer_is_written.clear(); },
         "kernel 'load_constant': buffer_is_written has 0 entries, expected 1 like num_buffers"},
        {[](ExecutableImage& image) { image.format = static_cast<ImageFormat>(77); },
         "kernel 'load_constant': image format 77 is not known to this device"}};
    for (const Case& c : cases) {
      ExecutableImage image = load_constant_image();
      c.damage(image);
      expect_refusal(device, image, StatusCode::kInvalidArgument, c.message);
    }
  });
}

TEST_CASE("device: a microkernel is refused, not entered, without its routine or with another version of it") {
  on_every_host_code_device([](TestedDevice& device) {
    ExecutableImage image = routine_image(1, 1);
    image.routine.abi_version += 1;
    expect_refusal(device, image, StatusCode::kNotFound,
                   "kernel 'routine': host routine 'gemm_f32' has ABI version 3 in the image and 2 in this build; "
                   "compile the kernel again");
    image.routine.name = "gemm_f8";
    expect_refusal(device, image, StatusCode::kNotFound,
                   "kernel 'routine': this build has no host routine 'gemm_f8'; compile the kernel again");
  });
}

TEST_CASE("device: an interpreted image without a kernel is refused") {
  on_every_host_kernel_device([](TestedDevice& device) {
    ExecutableImage image = host_kernel_image(device.target(), {.name = "nothing"}, nullptr);
    image.kernel = nullptr;
    expect_refusal(device, image, StatusCode::kInvalidArgument,
                   "kernel 'nothing': an interpreted image without a kernel, expected a HostKernel");
  });
}

}  // namespace millrace
