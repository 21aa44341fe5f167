// SPDX-License-Identifier: Apache-2.0
// A code object in memory, with its kernels as arrays of decoded instructions.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "isa/execute.h"
#include "isa/instruction.h"
#include "isa/machine.h"

namespace millrace::isa {

/// The initial registers of a wave, as a kernel's descriptor requests them.
/// Source: LLVM's "User Guide for AMDGPU Backend", "Kernel Descriptor" and "Initial Kernel Execution State".
struct InitialState {
  bool has_private_segment_buffer = false, has_dispatch_pointer = false, has_queue_pointer = false;
  bool has_argument_pointer = false, has_dispatch_id = false, has_flat_scratch = false;
  bool has_private_segment_size = false;
  bool has_group_id[3] = {};  // x, y, z
  bool has_group_info = false;
  std::uint32_t num_thread_ids = 1;  // how many of x, y and z are given
  std::uint32_t num_user_scalars = 0;
  std::uint32_t mode = 0;  // MODE's bits 0 to 7: FP_ROUND and FP_DENORM
  bool clamps_nan_to_zero = false, is_ieee = false;
};

struct Kernel {
  std::string symbol = {};
  Machine machine = {};
  std::vector<Instruction> instructions = {};
  InitialState initial = {};
  std::uint64_t entry_address = 0;  // the first instruction, in this process
  std::uint64_t argument_bytes = 0, workgroup_bytes = 0, private_bytes = 0;
  std::uint32_t workgroup_size = 0;
  std::uint32_t num_vector_registers = 0;            // in a wave's register file
  std::uint64_t image_address = 0, image_bytes = 0;  // the loaded object: readable memory
};

}  // namespace millrace::isa
