// SPDX-License-Identifier: Apache-2.0
// Which images the device that executes machine code takes, and how it refuses the others.
#include <algorithm>

#include <doctest/doctest.h>

#include "millrace/isa/driver.h"
#include "millrace/jit/code_object.h"
#include "millrace/jit/kernel_compiler.h"
#include "millrace/jit/machine_builder.h"
#include "tests/hal/conformance/devices.h"
#include "tests/hal/conformance/kernels.h"

namespace millrace {
namespace {

const TargetSpec kTarget = TargetSpec::parse("amdgpu:gfx1100").value();

std::shared_ptr<IsaDevice> open(const char* spec = "isa:gfx1100") {
  return open_isa_device(DeviceSpec::parse(spec).value()).value();
}

std::string load_error(const ExecutableImage& image) {
  const std::vector<ExecutableImage> images = {image};
  return open()->load(images).status().message();
}

/// An image of the suite's scale kernel that is wrong in one way.
std::string error_when(void (*damage)(ExecutableImage&)) {
  ExecutableImage image = scale_on(kTarget);
  damage(image);
  return load_error(image);
}

/// A kernel as it comes before it is linked.
ExecutableImage unlinked() {
  MachineBuilder b("copy");
  b.set_workgroup(32, 32);
  const MemoryHandle x = b.buffer("x", DType::kU32, BufferAccess::kRead),
                     y = b.buffer("y", DType::kU32, BufferAccess::kWrite);
  b.store(y, b.thread_id(), b.load(x, b.thread_id()));
  const auto generator = make_llvm_generator();
  return generator->emit(generator->plan(b.finish(), kTarget).value(), kTarget).value();
}

/// A linked kernel whose threads pass values on through 256 bytes of workgroup memory.
ExecutableImage reversing() {
  MachineBuilder b("reverse");
  b.set_workgroup(64, 32);
  const MemoryHandle y = b.buffer("y", DType::kI32, BufferAccess::kWrite),
                     passed_on = b.workgroup_memory(DType::kI32, 64, "passed_on");
  b.store(passed_on, b.thread_id(), b.thread_id());
  b.barrier();
  b.store(y, b.thread_id(), b.load(passed_on, b.sub(b.i32(63), b.thread_id())));
  const auto generator = make_llvm_generator();
  const std::vector<ExecutableImage> parts = {
      generator->emit(generator->plan(b.finish(), kTarget).value(), kTarget).value()};
  ExecutableImage image = parts[0];
  image.format = ImageFormat::kGpuCode;
  image.bytes = link_images(parts).value();
  return image;
}

int num_decoded = 0;
Result<MachineCode> count_and_decode(std::span<const std::byte> bytes) {
  ++num_decoded;
  return decode_code_object(bytes);
}
Result<MachineCode> refuse(std::span<const std::byte>) { return invalid_argument("not an ELF file"); }

}  // namespace

TEST_CASE("isa device: the conformance suite runs on it") {
  const std::span<const DeviceCase> devices = conformance_devices();
  const auto is_isa = [](const DeviceCase& row) {
    return std::string_view(row.name).find("isa:") != std::string::npos;
  };
  CHECK(std::ranges::count_if(devices, is_isa) == 3);
}

TEST_CASE("isa device: only code for GPUs is executed") {
  const auto error = [](const char* target) {
    return create_isa_device(TargetSpec::parse(target).value(), decode_code_object).status().message();
  };
  CHECK(error("cpu:avx2") == "device 'isa': target is cpu:avx2, expected a GPU's machine code; say amdgpu:gfx90a");
  CHECK(error("sim:gfx1100") ==
        "device 'isa': target is sim:gfx1100, expected a GPU's machine code; say amdgpu:gfx90a");
}

TEST_CASE("isa device: an image that is not linked is refused, and the message says how to link it") {
  CHECK(load_error(unlinked()) ==
        "kernel 'copy': its image is an object that is not linked, expected a code object; link the program's images "
        "with link_images");
}

TEST_CASE("isa device: an image that differs from its code is refused, and the difference is named") {
  CHECK(error_when([](ExecutableImage& image) { image.format = ImageFormat::kHostCode; }) ==
        "kernel 'scale': image format 0 is not known to this device");
  CHECK(
      error_when([](ExecutableImage& image) { image.target = "amdgpu:gfx1151"; }) ==
      "kernel 'scale': its image is for 'amdgpu:gfx1151', expected 'amdgpu:gfx1100'; compile for the device's target");
  CHECK(error_when([](ExecutableImage& image) { image.info.buffer_is_written.clear(); }) ==
        "kernel 'scale': buffer_is_written has 0 entries, expected 2 like num_buffers");
  CHECK(error_when([](ExecutableImage& image) { ++image.info.num_sizes; }) ==
        "kernel 'scale': its code has 32 bytes of arguments, expected 40; give the info that the code was made for");
  CHECK(
      error_when([](ExecutableImage& image) { image.info.workgroup_size = 64; }) ==
      "kernel 'scale': its code has 32 threads in a workgroup, expected 64; give the info that the code was made for");
  CHECK(error_when([](ExecutableImage& image) { image.info.workgroup_bytes = 16; }) == "");  // LLVM may remove it all
  CHECK(error_when([](ExecutableImage& image) { image.info.workgroup_bytes = 1 << 20; }) ==
        "kernel 'scale': 1048576 bytes of workgroup memory, expected at most 65536, the limit of amdgpu:gfx1100; plan "
        "the kernel for the target");
  CHECK(error_when([](ExecutableImage& image) { image.symbol = "scale"; }) ==
        "kernel 'scale': its code object has no kernel 'scale'; give the object that it was linked into");
}

TEST_CASE("isa device: code that keeps workgroup memory has as much as its image says") {
  ExecutableImage image = reversing();
  CHECK(load_error(image) == "");
  image.info.workgroup_bytes = 128;
  CHECK(load_error(image) ==
        "kernel 'reverse': its code has 256 bytes of workgroup memory, expected 128; give the info that the code was "
        "made for");
}

TEST_CASE("isa device: a code object for another processor than its image says is refused") {
  ExecutableImage image = scale_on(TargetSpec::parse("amdgpu:gfx1151").value());
  image.target = kTarget.to_text();
  CHECK(load_error(image) ==
        "code object of kernel 'scale': target is gfx1151, expected gfx1100; compile for the device's target");
}

TEST_CASE("isa device: a message of the decoder names the kernel") {
  const auto device = create_isa_device(kTarget, refuse).value();
  const std::vector<ExecutableImage> images = {scale_on(kTarget)};
  CHECK(device->load(images).status().message() == "code object of kernel 'scale': not an ELF file");
}

TEST_CASE("isa device: kernels that share a code object have it decoded once") {
  const ExecutableImage scale = scale_on(kTarget), store = store_ids_on(kTarget);
  const std::vector<ExecutableImage> images = {scale, store, scale, store};
  const auto device = create_isa_device(kTarget, count_and_decode).value();
  num_decoded = 0;
  CHECK(device->load(images).value()->num_kernels() == 4);
  CHECK(num_decoded == 2);
}

TEST_CASE("isa device: the instructions of the last submission are counted, even of an empty one") {
  const auto device = open();
  TestedDevice tested(device);
  const ExecutableImage image = store_ids_on(kTarget);
  const std::vector<ExecutableImage> images = {image};
  ListBuilder b;
  const BindingIndex y = b.output("y", 20);
  const KernelIndex kernel = b.kernel(image.info);
  b.dispatch(kernel, 5, {b.range(y, 0, 20)});
  b.barrier();
  b.dispatch(kernel, 0, {b.range(y, 0, 20)});
  std::vector<std::uint32_t> out(5);
  REQUIRE(run_once(tested, b, device->load(images).value(), {bind(out)}).ok());
  CHECK(out == std::vector<std::uint32_t>{0, 1, 2, 3, 4});
  const std::vector<IsaDispatch> dispatches = device->dispatches();
  REQUIRE(dispatches.size() == 2);
  CHECK(dispatches[0].kernel == "store_ids");
  CHECK(dispatches[0].counts.num_groups == 5);
  CHECK(dispatches[0].counts.num_waves == 5);
  CHECK(dispatches[0].counts.global_bytes_written == 20);
  CHECK(dispatches[1].counts == IsaCounts{});
}

TEST_CASE("isa device: an access outside of a buffer is found, and the kernel named") {
  const auto device = open();
  TestedDevice tested(device);
  const ExecutableImage image = store_ids_on(kTarget);
  const std::vector<ExecutableImage> images = {image};
  ListBuilder b;
  const BindingIndex y = b.output("y", 20);
  b.dispatch(b.kernel(image.info), 5, {b.range(y, 0, 16)});
  std::vector<std::uint32_t> out(5);
  const Status status = run_once(tested, b, device->load(images).value(), {bind(out)});
  CHECK(status.code() == StatusCode::kInternal);
  CHECK(status.message().starts_with("kernel 'store_ids': "));
  CHECK(device->dispatches().empty());
}

}  // namespace millrace
