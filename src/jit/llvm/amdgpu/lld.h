// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "millrace/base/status.h"

namespace millrace {

/// Links relocatable ELF objects for one GPU target into a shared object, in this process. Fails on undefined symbols,
/// naming them. Links run one at a time, because lld's state is global.
Result<std::vector<std::byte>> link_gpu_objects(std::span<const std::span<const std::byte>> objects);

}  // namespace millrace
