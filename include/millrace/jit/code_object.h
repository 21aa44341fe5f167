// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "millrace/base/status.h"
#include "millrace/jit/kernel_compiler.h"

namespace millrace {

/// The name of a kernel in code objects. It follows from what the kernel does alone, so equal kernels share one.
std::string kernel_symbol(const PlannedKernel&);

/// What a code object says of one of its kernels.
struct CodeObjectKernel {
  std::string symbol = {};
  std::uint64_t argument_bytes = 0;
  std::uint64_t workgroup_bytes = 0;
  std::uint64_t private_bytes = 0;
  std::uint32_t workgroup_size = 0;
  std::uint32_t subgroup_size = 0;
  std::uint32_t num_scalar_registers = 0;
  std::uint32_t num_vector_registers = 0;  // of each thread, accumulation registers included
  std::uint32_t num_scalar_spills = 0;
  std::uint32_t num_vector_spills = 0;
  bool has_dynamic_stack = false;
  std::vector<std::string> hidden_arguments = {};  // which the driver would have to fill in
  std::uint64_t code_offset = 0;                   // of its machine code in the object
  std::uint64_t code_bytes = 0;
  /// Instructions that take values from other lanes where a lane may be off:
  /// "v_permlanex16_b32 v2, v1, s2, s3 at byte 132".
  std::vector<std::string> partial_exchanges = {};
};

/// What a code object (a shared ELF object for one GPU target) holds.
struct CodeObjectInfo {
  std::string target = {};  // "amdgcn-amd-amdhsa--gfx1100"
  std::uint32_t version = 0;
  std::vector<std::string> set_features = {};  // "xnack+", "sramecc-": processors that differ do not take it
  std::vector<CodeObjectKernel> kernels = {};
  std::vector<std::string> other_functions = {};
  std::vector<std::string> undefined_symbols = {};
  std::vector<std::string> relocations = {};  // types, but relative ones
};

/// Reads a code object back, through the LLVM module. Fails when it is none, when its metadata is malformed, or when it
/// is for no target of gfx_targets().
Result<CodeObjectInfo> read_code_object(std::span<const std::byte>);

/// Whether the code object holds the kernel as it was planned: every broken promise in one message. Workgroup memory is
/// just the plan's and private memory no more (but for 16 bytes of LLVM's own where there is any); arguments are the
/// status pointer, the buffers' pointers and the sizes; nothing spills to memory (large regions may keep scalars in
/// lanes of vector registers), nothing is called, nothing is left for the loader but relative relocations. Values are
/// exchanged between lanes only where every lane is on. The version is 4, the least that says all there is to say, so
/// that older drivers take the object; it runs whatever a processor's xnack and sramecc are.
Status check_code_object(const CodeObjectInfo&, const PlannedKernel&, const TargetSpec&);

/// Joins images of kernels (ImageFormat::kGpuObject), all for one target, to one code object that a driver loads.
/// Equal kernels are in it once.
Result<std::vector<std::byte>> link_images(std::span<const ExecutableImage>);

}  // namespace millrace
