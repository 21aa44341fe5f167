// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>

#include "tests/hip_standin/runtime/call.h"
#include "tests/hip_standin/runtime/error_names.h"

namespace millrace::hip {
namespace {

using namespace hip_standin;  // whose place this is in

/// The error of a runtime without a GPU.
Error no_device_at_start(const State& state) {
  if (!state.devices.empty()) return Error::kSuccess;
  return state.is_hip6() ? Error::kNoDevice : Error::kInvalidDevice;
}

const DeviceState* find_device(State& state, Call& call, int ordinal) {
  call.device = ordinal;
  return static_cast<std::size_t>(ordinal) < state.devices.size() ? &state.devices[static_cast<std::size_t>(ordinal)]
                                                                  : nullptr;
}

void write_text(std::byte* to, const std::string& text) {
  std::memset(to, 0, kPropertiesTextBytes);
  std::memcpy(to, text.data(), std::min(text.size(), kPropertiesTextBytes - 1));
}

/// Fills the properties that a driver reads; the rest is garbage.
Error write_properties(Entry entry, void* properties, int ordinal, const PropertiesLayout& layout) {
  return call(entry, [&](State& state, Call& call) {
    const DeviceState* const device = find_device(state, call, ordinal);
    if (device == nullptr) return Error::kInvalidDevice;
    auto* const bytes = static_cast<std::byte*>(properties);
    std::memset(bytes, hip_standin::Memory::kRubbish, layout.size_bytes);
    write_text(bytes + kPropertiesNameOffset, device->options.name);
    write_text(bytes + layout.architecture_offset, device->options.architecture);
    return Error::kSuccess;
  });
}

}  // namespace

Error hipInit(unsigned flags) {
  return call(Entry::hipInit,
              [&](State& state, Call&) { return flags != 0 ? Error::kInvalidValue : no_device_at_start(state); });
}

const char* hipGetErrorName(Error error) {
  call(Entry::hipGetErrorName, [](State&, Call&) { return Error::kSuccess; });
  return hip_standin::name_of(error);
}

Error hipRuntimeGetVersion(int* version) {
  return call(Entry::hipRuntimeGetVersion, [&](State& state, Call&) {
    *version = state.options.version;
    return Error::kSuccess;
  });
}

Error hipGetDeviceCount(int* count) {
  return call(Entry::hipGetDeviceCount, [&](State& state, Call&) {
    *count = static_cast<int>(state.devices.size());
    return state.devices.empty() ? Error::kNoDevice : Error::kSuccess;
  });
}

Error hipDeviceGetAttribute(int* value, Attribute attribute, int ordinal) {
  return call(Entry::hipDeviceGetAttribute, [&](State& state, Call& call) {
    const DeviceState* const device = find_device(state, call, ordinal);
    if (device == nullptr) return Error::kInvalidDevice;
    switch (attribute) {
      case Attribute::kMaxGridDimX:
        *value = static_cast<int>(device->options.max_grid_x);
        return Error::kSuccess;
      case Attribute::kMemoryPoolsSupported:
        *value = device->options.has_memory_pools;
        return Error::kSuccess;
    }
    return Error::kInvalidValue;
  });
}

Error hipDeviceTotalMem(std::size_t* bytes, int ordinal) {
  return call(Entry::hipDeviceTotalMem, [&](State& state, Call& call) {
    const DeviceState* const device = find_device(state, call, ordinal);
    if (device == nullptr) return Error::kInvalidDevice;
    *bytes = device->options.memory_bytes;
    return Error::kSuccess;
  });
}

Error hipGetDevice(int* ordinal) {
  return call(Entry::hipGetDevice, [&](State& state, Call&) {
    *ordinal = state.current_device();
    return Error::kSuccess;
  });
}

Error hipSetDevice(int ordinal) {
  return call(Entry::hipSetDevice, [&](State& state, Call& call) {
    if (find_device(state, call, ordinal) == nullptr) return Error::kInvalidDevice;
    state.current_device() = ordinal;
    return Error::kSuccess;
  });
}

Error hipGetDevicePropertiesR0600(void* properties, int ordinal) {
  return write_properties(Entry::hipGetDevicePropertiesR0600, properties, ordinal, kProperties6);
}

Error hipGetDeviceProperties(void* properties, int ordinal) {
  return write_properties(Entry::hipGetDeviceProperties, properties, ordinal, kProperties5);
}

}  // namespace millrace::hip
