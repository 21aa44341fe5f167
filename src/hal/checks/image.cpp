// SPDX-License-Identifier: Apache-2.0
#include "hal/checks/image.h"

#include <fmt/format.h>

namespace millrace {

Status check_info(const KernelInfo& info) {
  if (info.buffer_is_written.size() == info.num_buffers) return {};
  return invalid_argument(fmt::format("kernel '{}': buffer_is_written has {} entries, expected {} like num_buffers",
                                      info.name, info.buffer_is_written.size(), info.num_buffers));
}

Status check_interpreted(const ExecutableImage& image) {
  if (image.kernel != nullptr) return {};
  return invalid_argument(
      fmt::format("kernel '{}': an interpreted image without a kernel, expected a HostKernel", image.info.name));
}

Status unknown_format(const ExecutableImage& image) {
  return invalid_argument(fmt::format("kernel '{}': image format {} is not known to this device", image.info.name,
                                      static_cast<int>(image.format)));
}

}  // namespace millrace
