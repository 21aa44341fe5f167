// SPDX-License-Identifier: Apache-2.0
// An application of HIP, as which the tests of the stand-in call it.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "tests/hip_standin/control.h"
#include "tests/hip_standin/hip_calls.h"

namespace millrace::hip_standin {

/// A fresh stand-in. At its end there must be no finding and no live object.
class Application {
 public:
  explicit Application(const Options& options = {}) : control(open_control(kLibrary)) { control.reset(options); }
  Application(const Application&) = delete;
  Application& operator=(const Application&) = delete;
  ~Application() {
    CHECK(control.findings() == std::vector<std::string>{});
    CHECK(control.live_objects() == std::vector<std::string>{});
    control.reset({});
  }

  hip::Stream make_stream() {
    hip::Stream stream = nullptr;
    REQUIRE(hip.hipStreamCreateWithFlags(&stream, hip::kStreamNonBlocking) == hip::Error::kSuccess);
    return stream;
  }
  hip::Event make_event(unsigned flags = hip::kEventDefault) {
    hip::Event event = nullptr;
    REQUIRE(hip.hipEventCreateWithFlags(&event, flags) == hip::Error::kSuccess);
    return event;
  }
  std::byte* allocate(std::size_t bytes) {
    void* pointer = nullptr;
    REQUIRE(hip.hipMalloc(&pointer, bytes) == hip::Error::kSuccess);
    return static_cast<std::byte*>(pointer);
  }
  /// Pinned memory of the host.
  template <class T>
  std::span<T> pin(std::size_t count) {
    void* pointer = nullptr;
    REQUIRE(hip.hipHostMalloc(&pointer, count * sizeof(T), hip::kHostMallocDefault) == hip::Error::kSuccess);
    return {static_cast<T*>(pointer), count};
  }
  template <class T>
  T peek(const void* device_address) {
    T value;
    std::memcpy(&value, control.peek(device_address, sizeof(T)).data(), sizeof(T));
    return value;
  }
  /// Removes and returns the only finding so far; "" if there are no findings.
  std::string take_finding() {
    std::vector<std::string> findings = control.take_findings();
    REQUIRE(findings.size() <= 1);
    return findings.empty() ? std::string() : std::move(findings[0]);
  }

  Control& control;
  hip::Calls hip = hip::open_calls(kLibrary);
};

/// "0x7f0000001000", as findings write addresses.
std::string address_text(const void*);

/// A code object with one kernel: y[g] = value for each of its groups g, the value times 3 plus 1 for each of
/// `num_iterations` iterations of a loop before that. Arguments: a status word, y, value, num_iterations; 8 bytes each.
struct StoreObject {
  std::vector<std::byte> bytes;
  std::string symbol;
  std::uint32_t workgroup_size;
};
/// Before it is linked, it is a relocatable object.
StoreObject make_store_object(const char* target, bool is_linked = true);

/// The object's kernel, loaded on the current device.
struct StoreKernel {
  hip::Module module = nullptr;
  hip::Function function = nullptr;
  std::uint32_t workgroup_size = 0;
};
StoreKernel load_store(Application&, const char* target = "amdgpu:gfx1100");

struct StoreLaunch {
  void* status = nullptr;
  void* y = nullptr;
  std::int64_t value = 0;
  std::int64_t num_iterations = 0;
  std::uint32_t num_groups = 1;
};
hip::Error launch(Application&, const StoreKernel&, StoreLaunch, hip::Stream);

}  // namespace millrace::hip_standin
