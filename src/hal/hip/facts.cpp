// SPDX-License-Identifier: Apache-2.0
// Queries the HIP runtime about a device. The layout of the properties depends on HIP's version.
#include "hal/hip/facts.h"

#include <cstring>
#include <vector>

#include <fmt/format.h>

namespace millrace::hip {
namespace {

/// The text up to the first zero, or all of the field.
std::string text_at(const std::vector<char>& bytes, std::size_t offset) {
  const char* text = bytes.data() + offset;
  return {text, strnlen(text, kPropertiesTextBytes)};
}

Status find_names(const Runtime& hip, DeviceFacts& facts) {
  std::vector<char> properties(kPropertiesRoomBytes);
  // Prefer HIP 6's function: its runtime also has the old one, for programs built with HIP 5.
  const bool is_6 = hip.hipGetDevicePropertiesR0600 != nullptr;
  const Error error = is_6 ? hip.hipGetDevicePropertiesR0600(properties.data(), facts.ordinal)
                           : hip.hipGetDeviceProperties(properties.data(), facts.ordinal);
  MILLRACE_TRY(to_status(hip, fmt::format("device 'hip:{}'", facts.ordinal),
                         is_6 ? "hipGetDevicePropertiesR0600" : "hipGetDeviceProperties", error));
  facts.name = text_at(properties, kPropertiesNameOffset);
  facts.architecture = text_at(properties, (is_6 ? kProperties6 : kProperties5).architecture_offset);
  return {};
}

bool has_pool_functions(const Runtime& hip) {
  return hip.hipMemPoolCreate != nullptr && hip.hipMemPoolDestroy != nullptr && hip.hipMemPoolSetAttribute != nullptr &&
         hip.hipMemPoolTrimTo != nullptr && hip.hipMallocFromPoolAsync != nullptr && hip.hipFreeAsync != nullptr;
}

}  // namespace

Result<DeviceFacts> find_facts(const Runtime& hip, int ordinal) {
  DeviceFacts facts{.ordinal = ordinal};
  const std::string where = fmt::format("device 'hip:{}'", ordinal);
  MILLRACE_TRY(find_names(hip, facts));
  std::size_t memory_bytes = 0;
  MILLRACE_TRY(to_status(hip, where, "hipDeviceTotalMem", hip.hipDeviceTotalMem(&memory_bytes, ordinal)));
  facts.memory_bytes = memory_bytes;
  const auto ask = [&](Attribute attribute, int& value) {
    return to_status(hip, where, "hipDeviceGetAttribute", hip.hipDeviceGetAttribute(&value, attribute, ordinal));
  };
  int max_groups = 0, has_pools = 0;
  MILLRACE_TRY(ask(Attribute::kMaxGridDimX, max_groups));
  facts.max_groups = static_cast<std::uint32_t>(max_groups);
  if (has_pool_functions(hip)) MILLRACE_TRY(ask(Attribute::kMemoryPoolsSupported, has_pools));
  facts.has_memory_pools = has_pools != 0;
  return facts;
}

DeviceInfo DeviceFacts::info(const Runtime& hip) const {
  return {.name = device_name(ordinal),
          .description = fmt::format("{}, {}, HIP {}", name, architecture, hip.version()),
          .memory_bytes = memory_bytes,
          .targets = {{.family = "amdgpu", .gfx = gfx()}},
          .addresses_host_memory = false,
          .is_synchronous = false,
          .skips_work_after_failure = false};
}

}  // namespace millrace::hip
