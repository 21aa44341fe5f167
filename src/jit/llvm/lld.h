// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "millrace/base/status.h"

namespace millrace {

/// Links relocatable ELF objects of one GPU target to a shared one, in this process. Undefined symbols are refused by
/// name. One link at a time, whatever thread asks: lld's state is global.
Result<std::vector<std::byte>> link_gpu_objects(std::span<const std::span<const std::byte>> objects);

}  // namespace millrace
