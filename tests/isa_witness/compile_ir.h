// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "millrace/base/status.h"

namespace millrace::test {

/// A linked code object for a processor, of LLVM IR as text.
Result<std::vector<std::byte>> compile_ir_for_gpu(const std::string& ir, const std::string& gfx,
                                                  std::uint32_t subgroup_size);

/// Functions in this process's memory.
class NativeIr {
 public:
  virtual ~NativeIr() = default;
  using Function = void (*)(const std::uint64_t* in, std::uint64_t* out, std::uint64_t thread);
  virtual Function find(const std::string& name) = 0;
};
Result<std::unique_ptr<NativeIr>> compile_ir_for_host(const std::string& ir);

}  // namespace millrace::test
