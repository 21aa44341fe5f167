// SPDX-License-Identifier: Apache-2.0
// The errors that several drivers report in the same words.
#include "hal/device_errors.h"

#include <fmt/format.h>

#include "millrace/base/printable.h"

namespace millrace {

Status about_device(std::string_view spec, const Status& status) {
  return {status.code(), fmt::format("device '{}': {}", printable(spec), status.message())};
}

Status foreign_recording(std::string_view device_name) {
  return invalid_argument(
      fmt::format("submit: the recording was made by another device; record the list on device '{}'", device_name));
}

Status foreign_executable(const Device& device) {
  return invalid_argument(
      fmt::format("record: the executable was loaded by another device; load it on device '{}'", device.name()));
}

Status stopped_on_request(std::string_view where) { return cancelled(fmt::format("{}: {}", where, kStoppedOnRequest)); }

Status check_read_back(const Device& device, const Buffer& buffer, std::size_t offset_bytes, std::size_t size_bytes) {
  if (buffer.device() != device.id()) {
    return invalid_argument(
        fmt::format("read back: the buffer is another device's; ask that device instead of '{}'", device.name()));
  }
  if (offset_bytes <= buffer.size_bytes() && size_bytes <= buffer.size_bytes() - offset_bytes) return {};
  return invalid_argument(
      fmt::format("read back: {} bytes at offset {} of a buffer of {} bytes, expected a range inside it", size_bytes,
                  offset_bytes, buffer.size_bytes()));
}

}  // namespace millrace
