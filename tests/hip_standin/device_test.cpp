// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "tests/hip_standin/application.h"

namespace millrace::hip_standin {
namespace {

using hip::Error;

std::string text_at(const std::vector<char>& properties, std::size_t offset) { return &properties[offset]; }

TEST_CASE("devices have the properties that a test sets") {
  Application app({.devices = {{.name = "One", .architecture = "gfx90a:sramecc+:xnack-"},
                               {.name = "Two",
                                .architecture = "gfx1100",
                                .memory_bytes = 123 << 20,
                                .max_grid_x = 77,
                                .has_memory_pools = false}},
                   .version = 60'342'131});
  int number = 0;
  CHECK(app.hip.hipInit(0) == Error::kSuccess);
  CHECK(app.hip.hipGetDeviceCount(&number) == Error::kSuccess);
  CHECK(number == 2);
  CHECK(app.hip.hipRuntimeGetVersion(&number) == Error::kSuccess);
  CHECK(number == 60'342'131);
  CHECK(app.hip.hipDeviceGetAttribute(&number, hip::Attribute::kMaxGridDimX, 1) == Error::kSuccess);
  CHECK(number == 77);
  CHECK(app.hip.hipDeviceGetAttribute(&number, hip::Attribute::kMemoryPoolsSupported, 1) == Error::kSuccess);
  CHECK(number == 0);
  CHECK(app.hip.hipDeviceGetAttribute(&number, hip::Attribute::kMaxGridDimX, 2) == Error::kInvalidDevice);
  std::size_t bytes = 0;
  CHECK(app.hip.hipDeviceTotalMem(&bytes, 1) == Error::kSuccess);
  CHECK(bytes == 123 << 20);
  CHECK(app.hip.hipSetDevice(2) == Error::kInvalidDevice);
  CHECK(app.hip.hipSetDevice(-1) == Error::kInvalidDevice);
}

TEST_CASE("properties have the layout of their function, with garbage in the padding") {
  Application app({.devices = {{.name = "One", .architecture = "gfx90a:sramecc+:xnack-"}}});
  std::vector<char> properties(hip::kPropertiesRoomBytes, '?');
  CHECK(app.hip.hipGetDevicePropertiesR0600(properties.data(), 0) == Error::kSuccess);
  CHECK(text_at(properties, 0) == "One");
  CHECK(text_at(properties, 1160) == "gfx90a:sramecc+:xnack-");
  CHECK(properties[700] == '\xff');
  CHECK(properties[1472] == '?');
  properties.assign(properties.size(), '?');
  CHECK(app.hip.hipGetDeviceProperties(properties.data(), 0) == Error::kSuccess);
  CHECK(text_at(properties, 0) == "One");
  CHECK(text_at(properties, 396) == "gfx90a:sramecc+:xnack-");
  CHECK(properties[792] == '?');
}

TEST_CASE("a machine without a GPU gives the error of each version") {
  int number = -1;
  {
    Application app({.devices = {}, .version = 50'220'730});
    CHECK(app.hip.hipInit(0) == Error::kInvalidDevice);
    CHECK(app.hip.hipGetDeviceCount(&number) == Error::kNoDevice);
  }
  Application app({.devices = {}});
  CHECK(app.hip.hipInit(0) == Error::kNoDevice);
  CHECK(app.hip.hipGetDeviceCount(&number) == Error::kNoDevice);
  void* pointer = nullptr;
  CHECK(app.hip.hipMalloc(&pointer, 4) == Error::kInvalidDevice);
}

TEST_CASE("errors have HIP's names") {
  Application app;
  CHECK(std::string(app.hip.hipGetErrorName(Error::kOutOfMemory)) == "hipErrorOutOfMemory");
  CHECK(std::string(app.hip.hipGetErrorName(static_cast<Error>(12345))) == "hipErrorUnknown");
}

TEST_CASE("variants of the library lack optional entries, and a required one") {
  const hip::Calls all = hip::open_calls(kLibrary), required = hip::open_calls(kRequiredLibrary),
                   lacking = hip::open_calls(kLackingLibrary);
  enum Need { Required, Optional };
  const auto is_required = [](Need need, std::string_view name) {
    return need == Required || name == "hipGetDeviceProperties";  // one of the two for properties
  };
#define MILLRACE_HIP(need, result, name, parameters)             \
  CHECK((all.name != nullptr));                                  \
  CHECK((required.name != nullptr) == is_required(need, #name)); \
  CHECK((lacking.name != nullptr) == (need == Required && std::string_view(#name) != "hipModuleLaunchKernel"));
#include "hal/hip/functions.inc"
#undef MILLRACE_HIP
  // Each has a state of its own.
  CHECK(&open_control(kLibrary) != &open_control(kRequiredLibrary));
  CHECK(std::ranges::count(open_control(kLibrary).entries(), "hipMalloc") == 1);
}

}  // namespace
}  // namespace millrace::hip_standin
