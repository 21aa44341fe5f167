// SPDX-License-Identifier: Apache-2.0
// Modules for AMD GPUs as LLVM IR text, because the emitter generates none like these.
#pragma once

#include <string>
#include <vector>

#include "jit/llvm/amdgpu/code_object.h"

namespace millrace::test {

/// The relocatable object of a module.
std::string compile_gpu_module(const std::string& ir, const char* gfx = "gfx1100");

Result<std::vector<std::byte>> link_gpu_modules(const std::vector<std::string>& objects);

/// What a module's linked object says.
CodeObjectInfo info_of_gpu_module(const std::string& ir, const char* gfx = "gfx1100");

}  // namespace millrace::test
