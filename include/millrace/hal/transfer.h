// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "millrace/hal/device.h"

// Blocking copies between the host and a device's buffer, for setting up data and inspecting results. Runs do not need
// them: a session stages caller memory itself.

namespace millrace {

/// Bytes to copy, and their place in the destination.
struct UploadPart {
  std::size_t offset_bytes = 0;
  std::span<const std::byte> source;
};

/// Copies the parts, which do not overlap, to `destination`. If a part is not inside `destination`, fails and copies
/// none; also fails if the device fails.
/// Precondition: no submission uses these bytes.
Status upload(Device&, const Buffer& destination, std::span<const UploadPart> parts);
Status upload(Device&, const Buffer& destination, std::span<const std::byte> source);

/// Copies the bytes of `source` from `offset_bytes` on. Fails if they are not inside `source`, or if the device fails.
Status download(Device&, const Buffer& source, std::size_t offset_bytes, std::span<std::byte> destination);
/// Copies from the beginning of `source`.
Status download(Device&, const Buffer& source, std::span<std::byte> destination);

}  // namespace millrace
