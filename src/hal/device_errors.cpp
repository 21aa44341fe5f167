// SPDX-License-Identifier: Apache-2.0
#include "hal/device_errors.h"

#include <fmt/format.h>

namespace millrace {

Status foreign_recording(std::string_view device_name) {
  return invalid_argument(
      fmt::format("submit: the recording was made by another device; record the list on device '{}'", device_name));
}

Status foreign_executable(std::string_view device_name, std::string_view target) {
  return invalid_argument(fmt::format(
      "record: the executable was loaded by another device; load it on device '{}' ({})", device_name, target));
}

}  // namespace millrace
