// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstring>
#include <memory>
#include <mutex>
#include <span>
#include <string>

#include "isa/execute.h"
#include "tests/hip_standin/runtime/code_object.h"
#include "tests/hip_standin/runtime/handles.h"

namespace millrace::hip_standin {

struct KernelFunction {
  std::uint64_t module = 0;  // its number
  int device = 0;
  KernelMetadata info;
  std::shared_ptr<const CodeObject> object;
};

struct ModuleState {
  std::uint64_t number = 0;
  int device = 0;
  std::shared_ptr<const CodeObject> object;
};

using Modules = Handles<ModuleState, HandleKind::kModule>;
using Functions = Handles<const KernelFunction, HandleKind::kFunction>;

/// The argument of 8 bytes at an offset of a kernarg segment.
inline std::uint64_t pointer_at(std::span<const std::byte> arguments, std::uint64_t offset) {
  std::uint64_t pointer = 0;
  std::memcpy(&pointer, &arguments[offset], sizeof(pointer));
  return pointer;
}

/// The object's machine code, decoded with LLVM: when a kernel is first run, so that whoever only loads objects does
/// not open LLVM. Equal objects are decoded once per process.
Result<std::shared_ptr<const isa::Program>> decode_program(const CodeObject&);

}  // namespace millrace::hip_standin
