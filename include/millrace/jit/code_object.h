// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "millrace/base/status.h"
#include "millrace/hal/machine_code.h"
#include "millrace/jit/kernel_compiler.h"

namespace millrace {

/// The name of a kernel in code objects. It depends only on what the kernel does, so equal kernels share a name.
std::string kernel_symbol(const PlannedKernel&);

/// A code object's description of one of its kernels.
struct CodeObjectKernel {
  std::string symbol = {};
  std::uint64_t argument_bytes = 0;
  std::uint64_t workgroup_bytes = 0;
  std::uint64_t private_bytes = 0;
  std::uint32_t workgroup_size = 0;
  std::uint32_t subgroup_size = 0;
  std::uint32_t num_scalar_registers = 0;
  std::uint32_t num_vector_registers = 0;  // per thread, including accumulation registers
  std::uint32_t num_scalar_spills = 0;
  std::uint32_t num_vector_spills = 0;
  bool has_dynamic_stack = false;
  std::vector<std::string> hidden_arguments = {};  // arguments that the driver would have to fill in
  std::uint64_t code_offset = 0;                   // where its machine code begins in the object
  std::uint64_t code_bytes = 0;
  std::uint64_t code_address = 0;        // in the object's own addresses
  std::uint64_t descriptor_address = 0;  // of "<symbol>.kd", 64 bytes; 0 if absent
  /// Instructions that read other lanes at a point where some lanes may be inactive: "v_permlanex16_b32 v2, v1, s2, s3
  /// at byte 132".
  std::vector<std::string> inactive_lane_reads = {};
};

/// The contents of a code object, a shared ELF object for one GPU target.
struct CodeObjectInfo {
  std::string target = {};  // "amdgcn-amd-amdhsa--gfx1100"
  std::uint32_t version = 0;
  std::vector<std::string> set_features = {};  // "xnack+", "sramecc-": settings that the processor must have
  std::vector<CodeObjectKernel> kernels = {};
  std::vector<std::string> other_functions = {};
  std::vector<std::string> undefined_symbols = {};
  std::vector<std::string> relocations = {};  // their types; relative ones are left out
};

/// Reads a code object through the LLVM module. Fails if the bytes are not a code object, if its metadata is malformed,
/// or if its target is not in gfx_targets().
Result<CodeObjectInfo> read_code_object(std::span<const std::byte>);

/// Disassembles a code object through the LLVM module. Fails with kDataLoss if read_code_object would, or if a kernel's
/// code, a descriptor or a relocation lies outside the loaded segments. Bytes that are not an instruction are not an
/// error: see MachineCodeInstruction.
Result<MachineCode> decode_code_object(std::span<const std::byte>);

/// Checks that the code object holds the kernel as planned. Fails with kInternal and every failure in one message.
/// * The target is `spec`'s, without required xnack or sramecc settings. The version is 4, the lowest with everything
///   that kernels need, so that older drivers accept it.
/// * The object has the kernel's symbol, no other functions, no undefined symbols and only relative relocations.
/// * Arguments are the status pointer, the buffers' pointers and the sizes; none are hidden.
/// * Workgroup memory equals the plan. Private memory is 0 if the plan's is 0; otherwise at most the plan, rounded up
///   to 16 bytes, plus 16 bytes for LLVM.
/// * Workgroup size and subgroup size are the kernel's.
/// * Vector registers do not spill (scalar registers may spill to lanes of vector registers), and the stack is static.
/// * Values are exchanged between lanes only where every lane is active.
Status check_code_object(const CodeObjectInfo&, const PlannedKernel&, const TargetSpec&);

/// Links images of kernels (ImageFormat::kGpuObject) for one target into one code object that a driver loads. Equal
/// kernels are included once. Fails with kInvalidArgument if there is no image, or if an image has another format or
/// target.
Result<std::vector<std::byte>> link_images(std::span<const ExecutableImage>);

}  // namespace millrace
