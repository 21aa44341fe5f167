// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "millrace/hal/executable.h"

namespace millrace {

/// A function in a section of code.
struct ObjectFunction {
  std::string name;
  std::uint64_t offset_bytes = 0, size_bytes = 0;
};

/// An ELF object for x86-64 with one code section, and a symbol for each function in it.
struct HostObject {
  std::span<const std::byte> code = {};  // empty: the section has no content, as for a debugger
  std::uint64_t size_bytes = 0;          // the section's size
  std::uint64_t address = 0;             // where it is loaded; 0: not loaded
  std::span<const ObjectFunction> functions = {};
};
std::vector<std::byte> make_elf_object(const HostObject&);

/// One object with the code and constants of host images, and a symbol for each image. The symbol's function is a
/// HostKernelEntry or, if a routine of the library calls it (ExecutableImage::routine), a microkernel. Fails for images
/// of another format.
Result<std::vector<std::byte>> link_host_images(std::span<const ExecutableImage>);

}  // namespace millrace
