// SPDX-License-Identifier: Apache-2.0
// A MachineKernel decoded for running: a flat list of steps, each a function over registers at fixed byte offsets.
//
// Most steps run over all lanes of all threads of a workgroup: a register holds the lanes of thread 0, then those of
// thread 1, and so on. What an instruction computes for threads that are elsewhere is never read, so only steps that
// touch memory, copy to values that outlive a block or choose the way ahead ask which threads are there.
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
  std::uint64_t thread_bytes = 0;  // of private memory: from one thread's to the next one's
};

/// The threads that are at one place of the kernel.
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
  std::vector<ThreadMask> masks;            // of programs for threads. 0: all
  std::vector<std::uint32_t> thread_order;  // in which atomics happen
  KernelObservation observation;
  std::uint64_t random = 0;                 // state of the sequence that order_seed begins
  const std::uint32_t* lines = nullptr;     // by instruction; for the observer
  std::vector<ThreadAccess> accesses = {};  // scratch
  std::uint64_t lane_instructions = 0;      // executed so far, in observed programs
  Status error = {};                        // what ended the run, at instruction number `error_instruction`
  std::uint32_t error_instruction = 0;

  template <class T>
  T* at(std::uint32_t offset) {
    return reinterpret_cast<T*>(registers + offset);
  }
  /// Ends the run: gives the last step.
  const Step* stop(const Step* at, Status why);
  /// By the order_seed, if there is one.
  void shuffle(std::vector<std::uint32_t>& order);
};

/// Does the step and gives the next one.
using Handler = const Step* (*)(const Step*, Frame&);

struct Step {
  Handler handler = nullptr;
  std::uint32_t lanes = 1;  // of a thread; of all threads in lanewise steps
  std::uint32_t out = 0;    // byte offsets of registers
  std::uint32_t in[3] = {};
  std::uint32_t memory = 0;       // index into Frame::memory
  std::int32_t jump = 0;          // steps from this one, where it may jump
  std::uint32_t mask = 0;         // the threads that do it, as index into Frame::masks
  std::uint64_t immediate = 0;    // a constant, a lane, bytes to copy, the first of the masks that a step makes
  std::uint32_t instruction = 0;  // number in the kernel's text
};

struct Program {
  std::vector<Step> once;   // constants and sizes: the same for every group of a run
  std::vector<Step> group;  // ends with a step without handler
  std::uint32_t register_bytes = 0;
  std::uint32_t num_masks = 1;
};

/// For any number of threads, or shorter and faster for the one thread of an unobserved workgroup.
enum class ProgramKind : std::uint8_t { kOneThread, kThreads, kObservedThreads };
Program decode(const MachineKernel&, ProgramKind);

// Handlers, by instruction. `operand` is the dtype of the last operand, `result` of the result. With `is_threads` they
// are for programs of that kind, else for one thread.
Handler lanewise_handler(KernelOp, DType operand, DType result);
Handler convert_handler(DType operand, DType result);
Handler reduce_handler(KernelOp, DType);  // in[1]: scratch of a thread's operand's size
Handler lane_iota_handler(DType);
Handler splat_handler(DType);
Handler memory_handler(KernelOp, DType, DType offset, bool is_threads);
Handler atomic_handler(KernelOp, DType, DType offset);
/// Tells the observer what the memory step after it will touch. immediate: an AccessKind.
Handler observe_handler(KernelOp, DType offset);
/// Counts what the threads that are there execute until the next one. immediate: lane instructions of a thread.
Handler count_handler();
/// Constants, ids, shuffles, reports, barriers; null for others.
Handler move_handler(KernelOp, DType result);
Handler copy_handler();                            // immediate: bytes
Handler masked_copy_handler(std::uint64_t bytes);  // of the threads that are there. immediate: a thread's bytes

/// The seams of loops and branches; decode lays them out.
struct ControlHandlers {
  Handler for_begin, for_end;  // in: lower, upper, step; out: index
  Handler if_begin, if_else;   // in: condition
};
ControlHandlers control_handlers(DType index, bool is_threads);

}  // namespace millrace::interpreter
