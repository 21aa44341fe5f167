// SPDX-License-Identifier: Apache-2.0
// Lays out the argument segment of GPU kernels as a driver would.
#include "isa/device/kernarg.h"

#include <cstring>

namespace millrace {

std::vector<std::byte> make_kernarg(const KernelInfo& info, const KernelArgs& args) {
  std::vector<std::byte> bytes(kernarg_bytes(info));
  std::byte* next = bytes.data();
  const auto add = [&](std::uint64_t word) {
    std::memcpy(next, &word, sizeof(word));
    next += sizeof(word);
  };
  add(reinterpret_cast<std::uintptr_t>(args.status));
  for (std::uint32_t i = 0; i < info.num_buffers; ++i) add(reinterpret_cast<std::uintptr_t>(args.buffers[i]));
  for (std::uint32_t i = 0; i < info.num_sizes; ++i) add(static_cast<std::uint64_t>(args.sizes[i]));
  return bytes;
}

}  // namespace millrace
