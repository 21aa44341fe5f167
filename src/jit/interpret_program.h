// SPDX-License-Identifier: Apache-2.0
// A MachineKernel decoded for running: a flat list of steps, each a function over registers at fixed byte offsets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "millrace/hal/host_kernel.h"
#include "millrace/jit/machine_kernel.h"

namespace millrace::interpreter {

/// Memory as steps see it. A buffer's extent is not known here: only slots are bounded.
struct MemoryView {
  std::byte* data = nullptr;
  std::uint64_t num_elements = UINT64_MAX;
};

/// The state of one run.
struct Frame {
  std::byte* registers = nullptr;
  std::vector<MemoryView> memory;  // buffers, then slots
  const KernelArgs* args = nullptr;
  std::int64_t group = 0;

  template <class T>
  T* at(std::uint32_t offset) {
    return reinterpret_cast<T*>(registers + offset);
  }
};

struct Step;
/// Does the step and gives the next one.
using Handler = const Step* (*)(const Step*, Frame&);

struct Step {
  Handler handler = nullptr;
  std::uint32_t lanes = 1;
  std::uint32_t out = 0;  // byte offsets of registers
  std::uint32_t in[3] = {};
  std::uint32_t memory = 0;     // index into Frame::memory
  std::int32_t jump = 0;        // steps from this one, where it may jump
  std::uint64_t immediate = 0;  // a constant, a lane, bytes to copy
};

struct Program {
  std::vector<Step> once;   // constants and sizes: the same for every group of a run
  std::vector<Step> group;  // ends with a step without handler
  std::uint32_t register_bytes = 0;
};

Program decode(const MachineKernel&);
// Handlers, by instruction. `operand` is the dtype of the last operand, `result` of the result.
Handler lanewise_handler(KernelOp, DType operand, DType result);
Handler convert_handler(DType operand, DType result);
Handler reduce_handler(KernelOp, DType);  // in[1]: scratch of the operand's size
Handler lane_iota_handler(DType);
Handler splat_handler(DType);
Handler memory_handler(KernelOp, DType, DType offset);
Handler atomic_handler(KernelOp, DType, DType offset);

}  // namespace millrace::interpreter
