// SPDX-License-Identifier: Apache-2.0
// Code objects as AMD's loader sees them. Read without LLVM and without the code of the library that is tested.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "hal/hip/api.h"

namespace millrace::hip_standin {

struct KernelArgument {
  std::uint64_t offset = 0, size_bytes = 0;
};

/// What the object's metadata says of a kernel.
struct KernelMetadata {
  std::string name = {};
  std::uint64_t argument_bytes = 0;  // of the kernarg segment
  std::uint32_t workgroup_size = 0;  // maximum number of threads that it was compiled for
  std::vector<KernelArgument> arguments = {};
  std::vector<std::uint64_t> pointer_offsets = {};  // of the arguments that are addresses of global memory
  bool has_hidden_arguments = false;
};

struct CodeObject {
  std::vector<std::byte> bytes = {};
  std::vector<KernelMetadata> kernels = {};
};

/// Reads the object that begins at `image`, whose headers tell its size. kSuccess, or how HIP refuses it: kInvalidImage
/// if it is not a linked code object, kNoBinaryForGpu if it is for another device than `architecture`
/// ("gfx90a:sramecc+:xnack-"), kSharedObjectInitFailed if symbols are undefined, kInvalidKernelFile if its metadata
/// cannot be read.
hip::Error read_code_object(const void* image, std::string_view architecture, CodeObject&);

/// Reads the metadata note's contents, MessagePack. False if they are malformed.
bool read_metadata(std::string_view note, std::vector<KernelMetadata>&);

}  // namespace millrace::hip_standin
