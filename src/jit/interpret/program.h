// SPDX-License-Identifier: Apache-2.0
// A MachineKernel decoded for execution: a flat list of steps, each a function over registers at fixed byte offsets.
//
// Most steps run over all lanes of all threads of a workgroup: a register holds the lanes of thread 0, then those of
// thread 1, and so on. Values computed for inactive threads are never read. So only steps that touch memory, branch, or
// copy to values that outlive a block check which threads are active.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "millrace/hal/host_kernel.h"
#include "millrace/jit/machine_kernel.h"

namespace millrace::interpreter {

/// A buffer or slot, as steps access it. Only accesses to slots are checked, because the extent of a buffer is unknown
/// here.
struct MemoryView {
  std::byte* data = nullptr;
  std::uint64_t num_elements = UINT64_MAX;
  std::uint64_t thread_bytes = 0;  // in private memory, the bytes from one thread's copy to the next
};

/// The threads that are active at one place of the kernel.
struct ThreadMask {
  std::uint32_t num_active = 0;
  std::vector<std::uint8_t> is_active;
};

struct Step;

/// The state of one run.
struct Frame {
  std::byte* registers = nullptr;
  std::vector<MemoryView> memory;  // buffers, then slots
  const KernelArgs* args = nullptr;
  std::int64_t group = 0;
  std::uint32_t num_threads = 1;
  std::uint32_t subgroup_size = 1;
  std::vector<ThreadMask> masks;            // for thread programs; masks[0] has all threads
  std::vector<std::uint32_t> thread_order;  // the order in which threads execute an atomic
  KernelObservation observation;
  std::uint64_t random = 0;                 // state of the random sequence seeded by order_seed
  const std::uint32_t* lines = nullptr;     // the line of each instruction, for the observer
  std::vector<ThreadAccess> accesses = {};  // scratch of observe steps
  std::uint64_t lane_instructions = 0;      // executed so far, in observed programs
  Status error = {};                        // why the run stopped early, at `error_instruction`
  std::uint32_t error_instruction = 0;

  template <class T>
  T* at(std::uint32_t offset) {
    return reinterpret_cast<T*>(registers + offset);
  }
  /// Records the error and returns the step that ends the run.
  const Step* stop(const Step* at, Status why);
  /// Shuffles `order` by order_seed, if the seed is set.
  void shuffle(std::vector<std::uint32_t>& order);
};

/// Executes the step and returns the next one.
using Handler = const Step* (*)(const Step*, Frame&);

struct Step {
  Handler handler = nullptr;
  std::uint32_t lanes = 1;  // per thread; in lanewise steps, of all threads
  std::uint32_t out = 0;    // byte offsets of registers
  std::uint32_t in[3] = {};
  std::uint32_t memory = 0;       // index into Frame::memory
  std::int32_t jump = 0;          // relative position of the step to jump to, if any
  std::uint32_t mask = 0;         // the threads that execute the step: index into Frame::masks
  std::uint64_t immediate = 0;    // a constant, a lane, bytes to copy, or the first mask that the step sets
  std::uint32_t instruction = 0;  // index of the instruction in the kernel's text
};

struct Program {
  std::vector<Step> once;   // constants and sizes, which all groups of a run share
  std::vector<Step> group;  // ends with a step without a handler
  std::uint32_t register_bytes = 0;
  std::uint32_t num_masks = 1;
};

/// A kThreads program runs any number of threads. A kOneThread program is shorter and faster; it runs a workgroup of
/// one thread without an observer. A kObservedThreads program also informs an observer and counts instructions.
enum class ProgramKind : std::uint8_t { kOneThread, kThreads, kObservedThreads };
Program decode(const MachineKernel&, ProgramKind);

// Handlers by instruction. `operand` and `result` are the dtypes of the last operand and of the result. `is_threads`
// selects handlers for thread programs instead of one-thread programs.
Handler lanewise_handler(KernelOp, DType operand, DType result);
Handler convert_handler(DType operand, DType result);
Handler reduce_handler(KernelOp, DType);  // in[1]: a scratch register as large as one thread's operand
Handler lane_iota_handler(DType);
Handler splat_handler(DType);
Handler memory_handler(KernelOp, DType, DType offset, bool is_threads);
Handler atomic_handler(KernelOp, DType, DType offset);
/// Tells the observer what the next memory step will access. immediate: an AccessKind.
Handler observe_handler(KernelOp, DType offset);
/// Counts what the active threads execute until the next count step. immediate: lane instructions per thread.
Handler count_handler();
/// Handles constants, ids, shuffles, reports and barriers; null for other ops.
Handler move_handler(KernelOp, DType result);
Handler copy_handler();                            // immediate: bytes
Handler masked_copy_handler(std::uint64_t bytes);  // copies for active threads. immediate: bytes per thread

/// The handlers of the steps that decode() inserts at the start and end of loops and branches.
struct ControlHandlers {
  Handler for_begin, for_end;  // in: lower, upper, step; out: index
  Handler if_begin, if_else;   // in: condition
};
ControlHandlers control_handlers(DType index, bool is_threads);

}  // namespace millrace::interpreter
