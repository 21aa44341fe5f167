// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace millrace::isa {

/// a * b + c for the floats with these bits, rounded once, in the host's current mode. NaN is handled as in fused().
void fuse_floats(std::uint32_t count, const std::uint32_t* a, const std::uint32_t* b, const std::uint32_t* c,
                 std::uint32_t* results);
void fuse_doubles(std::uint32_t count, const std::uint64_t* a, const std::uint64_t* b, const std::uint64_t* c,
                  std::uint64_t* results);

}  // namespace millrace::isa
