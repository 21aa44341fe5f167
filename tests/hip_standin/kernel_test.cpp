// SPDX-License-Identifier: Apache-2.0
#include <elf.h>

#include "tests/hip_standin/application.h"

namespace millrace::hip_standin {
namespace {

using hip::Error;

/// A status word, 4 words for a kernel to store to, and the kernel.
struct Launches : Application {
  explicit Launches(const Options& options = {}) : Application(options) {}
  ~Launches() {
    CHECK(hip.hipModuleUnload(kernel.module) == Error::kSuccess);
    CHECK(hip.hipStreamDestroy(stream) == Error::kSuccess);
    CHECK(hip.hipFree(status) == Error::kSuccess);
    CHECK(hip.hipFree(y) == Error::kSuccess);
  }
  Error store(std::int64_t value, std::uint32_t num_groups = 4, std::int64_t num_iterations = 0) {
    return launch(*this, kernel, {status, y, value, num_iterations, num_groups}, stream);
  }
  std::uint32_t word(int i) { return peek<std::uint32_t>(y + 4 * i); }

  hip::Stream stream = make_stream();
  std::byte *status = allocate(4), *y = allocate(16);
  StoreKernel kernel = load_store(*this);
};

/// Copies of an object with one mistake each.
Error load(Application& app, const std::vector<std::byte>& bytes) {
  hip::Module module = nullptr;
  const Error error = app.hip.hipModuleLoadData(&module, bytes.data());
  if (error == Error::kSuccess) CHECK(app.hip.hipModuleUnload(module) == Error::kSuccess);
  return error;
}

std::vector<std::byte> with_header(std::vector<std::byte> bytes, void (*change)(Elf64_Ehdr&)) {
  Elf64_Ehdr header;
  std::memcpy(&header, bytes.data(), sizeof(header));
  change(header);
  std::memcpy(bytes.data(), &header, sizeof(header));
  return bytes;
}

TEST_CASE("a launch executes the machine code, with the arguments of the call") {
  for (const char* gfx : {"gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1151", "gfx1201"}) {
    CAPTURE(gfx);
    Application app({.devices = {{.architecture = std::string(gfx)}}, .seed = 3});
    const hip::Stream stream = app.make_stream();
    const StoreKernel kernel = load_store(app, ("amdgpu:" + std::string(gfx)).c_str());
    std::byte* const memory = app.allocate(12);
    const StoreLaunch arguments{.status = memory, .y = memory + 4, .value = 5, .num_iterations = 2, .num_groups = 2};
    CHECK(launch(app, kernel, arguments, stream) == Error::kSuccess);
    CHECK(app.peek<std::uint64_t>(memory + 4) == UINT64_MAX);
    app.control.run_all();
    CHECK(app.peek<std::uint64_t>(memory + 4) == 49 * 0x1'0000'0001);  // (5 * 3 + 1) * 3 + 1
    CHECK(app.peek<std::uint32_t>(memory) == UINT32_MAX);
    CHECK(app.hip.hipModuleUnload(kernel.module) == Error::kSuccess);
    CHECK(app.hip.hipStreamDestroy(stream) == Error::kSuccess);
    CHECK(app.hip.hipFree(memory) == Error::kSuccess);
  }
}

TEST_CASE("objects are refused as HIP refuses them") {
  Application app;
  const StoreObject object = make_store_object("amdgpu:gfx1100");
  CHECK(load(app, object.bytes) == Error::kSuccess);
  CHECK(load(app, make_store_object("amdgpu:gfx90a").bytes) == Error::kNoBinaryForGpu);
  CHECK(load(app, make_store_object("amdgpu:gfx1100", false).bytes) == Error::kInvalidImage);
  CHECK(load(app, std::vector<std::byte>(64)) == Error::kInvalidImage);
  CHECK(load(app, with_header(object.bytes, [](Elf64_Ehdr& h) { h.e_machine = EM_X86_64; })) == Error::kInvalidImage);
  CHECK(load(app, with_header(object.bytes, [](Elf64_Ehdr& h) { h.e_phnum = 0; })) == Error::kInvalidKernelFile);
  // Needs xnack off, on a device that does not say so.
  CHECK(load(app, with_header(object.bytes, [](Elf64_Ehdr& h) { h.e_flags |= 0x200; })) == Error::kNoBinaryForGpu);
}

TEST_CASE("an object's settings must be the device's") {
  const auto with_flags = [](Elf64_Ehdr& h) { h.e_flags = (h.e_flags & 0xff) | 0x200 | 0xc00; };  // xnack-, sramecc+
  const std::vector<std::byte> bytes = with_header(make_store_object("amdgpu:gfx90a").bytes, with_flags);
  const std::pair<const char*, Error> cases[] = {{"gfx90a:sramecc+:xnack-", Error::kSuccess},
                                                 {"gfx90a:sramecc-:xnack-", Error::kNoBinaryForGpu},
                                                 {"gfx90a:sramecc+:xnack+", Error::kNoBinaryForGpu},
                                                 {"gfx90a", Error::kNoBinaryForGpu}};
  for (const auto& [architecture, expected] : cases) {
    CAPTURE(std::string(architecture));
    Application app({.devices = {{.architecture = architecture}}});
    CHECK(load(app, bytes) == expected);
  }
}

TEST_CASE("a function is found by its name") {
  Launches app;
  hip::Function function = nullptr;
  CHECK(app.hip.hipModuleGetFunction(&function, app.kernel.module, "nothing") == Error::kNotFound);
  CHECK(app.hip.hipModuleGetFunction(&function, nullptr, "nothing") == Error::kInvalidHandle);
  CHECK(app.take_finding() == "hipModuleGetFunction: a module that is not there");
}

TEST_CASE("a launch must fit its kernel") {
  Launches app({.devices = {{.max_grid_x = 1000}}});
  void* parameters[] = {&app.status, &app.y, &app.y, &app.y};
  const auto launch_as = [&](unsigned grid_x, unsigned grid_y, unsigned block, unsigned shared, void** given,
                             void** extra) {
    return app.hip.hipModuleLaunchKernel(app.kernel.function, grid_x, grid_y, 1, block, 1, 1, shared, app.stream, given,
                                         extra);
  };
  const std::string entry = "hipModuleLaunchKernel: ";
  CHECK(launch_as(0, 1, 32, 0, parameters, nullptr) == Error::kInvalidConfiguration);
  CHECK(app.take_finding() == entry + "a grid of 0 x 1 x 1 workgroups, expected n x 1 x 1");
  CHECK(launch_as(1, 2, 32, 0, parameters, nullptr) == Error::kInvalidConfiguration);
  CHECK(app.take_finding() == entry + "a grid of 1 x 2 x 1 workgroups, expected n x 1 x 1");
  CHECK(launch_as(1, 1, 64, 0, parameters, nullptr) == Error::kInvalidConfiguration);
  CHECK(app.take_finding().find("a block of 64 x 1 x 1 threads; kernel 'millrace_") != std::string::npos);
  CHECK(launch_as(1001, 1, 32, 0, parameters, nullptr) == Error::kInvalidConfiguration);
  CHECK(app.take_finding() == entry + "1001 workgroups of 32 threads, at most 1000 and 2^32 - 1 threads are possible");
  CHECK(launch_as(1, 1, 32, 8, parameters, nullptr) == Error::kInvalidConfiguration);
  CHECK(app.take_finding() == entry + "8 bytes of dynamic workgroup memory, expected none");
  CHECK(launch_as(1, 1, 32, 0, nullptr, nullptr) == Error::kInvalidValue);
  CHECK(app.take_finding() == entry + "the arguments go by 'kernelParams'; 'extra' is to be null");
  CHECK(launch_as(1, 1, 32, 0, parameters, parameters) == Error::kInvalidValue);
  CHECK(app.take_finding() == entry + "the arguments go by 'kernelParams'; 'extra' is to be null");
  CHECK(app.control.num_queued_commands() == 0);
}

TEST_CASE("a launch has at most 2^32 - 1 threads") {
  Launches app;
  CHECK(app.store(1, 1u << 27) == Error::kInvalidConfiguration);
  CHECK(app.take_finding() ==
        "hipModuleLaunchKernel: 134217728 workgroups of 32 threads, at most 2147483647 and 2^32 - 1 threads are "
        "possible");
}

TEST_CASE("a launch is for the current device, and for the device of its function and stream") {
  Launches app({.devices = {{}, {}}});
  CHECK(app.hip.hipSetDevice(1) == Error::kSuccess);
  CHECK(app.store(1) == Error::kInvalidHandle);
  CHECK(app.take_finding() == "hipModuleLaunchKernel: the stream is of device 0, the function of 0, and 1 is current");
  const hip::Stream other = app.make_stream();
  CHECK(launch(app, app.kernel, {app.status, app.y}, other) == Error::kInvalidHandle);
  CHECK(app.take_finding() == "hipModuleLaunchKernel: the stream is of device 1, the function of 0, and 1 is current");
  CHECK(app.hip.hipStreamDestroy(other) == Error::kSuccess);
}

TEST_CASE("a kernel is not given memory of the host, nor memory that was released") {
  Launches app;
  const auto pinned = app.pin<int>(4);
  CHECK(launch(app, app.kernel, {app.status, pinned.data()}, app.stream) == Error::kInvalidValue);
  CHECK(app.take_finding().find(", argument at byte 8: 0 bytes at " + address_text(pinned.data()) +
                                ": memory of the host, expected a device's") != std::string::npos);
  std::byte* const gone = app.allocate(16);
  CHECK(app.hip.hipFree(gone) == Error::kSuccess);
  CHECK(launch(app, app.kernel, {gone, app.y}, app.stream) == Error::kInvalidValue);
  CHECK(app.take_finding().find(", argument at byte 0: 0 bytes at " + address_text(gone) + ": they were released") !=
        std::string::npos);
  CHECK(app.hip.hipHostFree(pinned.data()) == Error::kSuccess);
}

TEST_CASE("a kernel that stores past its memory is a finding, and its device is lost") {
  Launches app;
  CHECK(app.store(1, 5) == Error::kSuccess);
  CHECK(app.store(2, 1) == Error::kSuccess);
  app.control.run_all();
  const std::string finding = app.take_finding();
  CHECK(finding.find("the memory at " + address_text(app.y) + " + 16, which has 16 bytes") != std::string::npos);
  CHECK(app.store(1) == Error::kLaunchFailure);
  CHECK(app.control.num_queued_commands() == 0);
}

TEST_CASE("releasing memory and modules that queued launches use is a finding") {
  Launches app;
  std::byte* const other = app.allocate(16);
  CHECK(launch(app, app.kernel, {app.status, other}, app.stream) == Error::kSuccess);
  CHECK(app.hip.hipFree(other) == Error::kSuccess);
  CHECK(app.take_finding() == "hipFree: 16 bytes at " + address_text(other) + ": stream 1 uses them");
  const StoreKernel second = load_store(app);
  CHECK(launch(app, second, {app.status, app.y}, app.stream) == Error::kSuccess);
  CHECK(app.hip.hipModuleUnload(second.module) == Error::kSuccess);
  CHECK(app.take_finding() == "hipModuleUnload: stream 1 has launches of its kernels");
  CHECK(launch(app, second, {app.status, app.y}, app.stream) == Error::kInvalidHandle);
  CHECK(app.take_finding() == "hipModuleLaunchKernel: a function that is not there, or whose module is not");
  app.control.run_all();
}

TEST_CASE("a kernel that never ends hangs its stream, and no other") {
  Launches app({.max_wave_instructions = 10'000});
  const hip::Stream other = app.make_stream();
  const hip::Event event = app.make_event(), of_other = app.make_event();
  CHECK(app.store(1, 1, 1 << 30) == Error::kSuccess);
  CHECK(app.hip.hipEventRecord(event, app.stream) == Error::kSuccess);
  CHECK(launch(app, app.kernel, {app.status, app.y, 7}, other) == Error::kSuccess);
  CHECK(app.hip.hipEventRecord(of_other, other) == Error::kSuccess);
  CHECK(app.hip.hipEventQuery(event) == Error::kNotReady);
  CHECK(app.hip.hipEventQuery(of_other) == Error::kSuccess);
  CHECK(app.word(0) == 7);
  CHECK(app.hip.hipEventQuery(event) == Error::kNotReady);
  CHECK(app.control.num_queued_commands() == 2);
  app.control.lose_device(0);
  CHECK(app.hip.hipStreamDestroy(other) == Error::kSuccess);
  for (const hip::Event each : {event, of_other}) CHECK(app.hip.hipEventDestroy(each) == Error::kSuccess);
}

}  // namespace
}  // namespace millrace::hip_standin
