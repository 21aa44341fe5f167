// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/base/dtype.h"
#include "millrace/base/ids.h"
#include "millrace/base/size_expr.h"
#include "millrace/base/status.h"
#include "millrace/hal/memory_observer.h"
#include "millrace/jit/kernel_op.h"
#include "millrace/jit/scalar.h"

namespace millrace {

enum class MachineValueId : std::uint32_t {};
enum class BlockId : std::uint32_t {};

/// The type of a register. A scalar has one lane.
struct VectorType {
  DType dtype = DType::kF32;
  std::uint32_t lanes = 1;
  std::string to_text() const;  // "f32", "f32x16"
  friend bool operator==(const VectorType&, const VectorType&) = default;
};

/// How a kernel accesses a buffer.
enum class BufferAccess : std::uint8_t { kRead, kWrite, kReadWrite };

struct BufferArgument {
  std::string name;
  DType dtype = DType::kF32;  // as stored; f16 and bf16 are loaded as u16, bool as bool
  BufferAccess access = BufferAccess::kRead;
  bool is_read() const { return access != BufferAccess::kWrite; }
  bool is_written() const { return access != BufferAccess::kRead; }
  friend bool operator==(const BufferArgument&, const BufferArgument&) = default;
};

/// An i64 argument. `value` is a size expression that is evaluated for a launch. It is empty if several kernels share
/// the code (share_kernels) and each launch passes its own number.
struct SizeArgument {
  std::string name;
  std::optional<SizeExpr> value;
  friend bool operator==(const SizeArgument&, const SizeArgument&) = default;
};

/// A row of a slot, followed by unused padding that places the elements of a column in different banks.
struct PaddedRow {
  std::uint64_t num_elements = 0;
  std::uint64_t padding_elements = 0;
  std::uint64_t pitch() const { return num_elements + padding_elements; }
  friend bool operator==(const PaddedRow&, const PaddedRow&) = default;
};

/// Workgroup or private memory that a kernel declares; plan_memory chooses its place. Its initial contents are
/// undefined.
struct MemorySlot {
  std::string name;
  MemoryKind kind = MemoryKind::kWorkgroup;
  DType dtype = DType::kF32;
  std::uint64_t num_elements = 0;
  PaddedRow row = {};  // has no effect without padding
  friend bool operator==(const MemorySlot&, const MemorySlot&) = default;
};

/// The memory that a load or store accesses, encoded as the instruction's immediate.
struct MemoryRef {
  bool is_slot = false;
  std::uint32_t index = 0;
  std::uint64_t encode() const { return (static_cast<std::uint64_t>(is_slot) << 32) | index; }
  static MemoryRef decode(std::uint64_t bits) { return {(bits >> 32) != 0, static_cast<std::uint32_t>(bits)}; }
  std::string to_text() const;  // "@0", "#0"
  friend bool operator==(const MemoryRef&, const MemoryRef&) = default;
};

struct MachineInstruction {
  KernelOp op = KernelOp::kConstant;
  std::vector<MachineValueId> operands;
  std::vector<MachineValueId> results;
  std::uint64_t immediate = 0;
  std::vector<BlockId> blocks;  // kFor: body; kIf: then, else
  friend bool operator==(const MachineInstruction&, const MachineInstruction&) = default;
};

struct Block {
  std::vector<MachineValueId> parameters;  // kFor: index, carried values
  std::vector<MachineInstruction> instructions;
  std::vector<MachineValueId> yields;
  friend bool operator==(const Block&, const Block&) = default;
};

/// Structured code for one thread of a workgroup: SSA values with lanes, `for` and `if`, and memory only as buffers and
/// slots. Threads may take different branches and trip counts. The form has no calls, allocations or unstructured
/// jumps.
struct MachineKernel {
  std::string name;
  std::vector<BufferArgument> buffers;
  std::vector<SizeArgument> sizes;
  std::vector<MemorySlot> slots;
  SizeExpr num_groups = 1;
  std::uint32_t workgroup_size = 1;  // threads
  std::uint32_t subgroup_size = 1;   // threads in lockstep: 1, 32 or 64; divides workgroup_size
  IdVector<MachineValueId, VectorType> types;
  IdVector<BlockId, Block> blocks;  // block 0 is the body
  friend bool operator==(const MachineKernel&, const MachineKernel&) = default;
};

/// Checks these invariants. Fails with kInvalidArgument and one line per failure.
/// * Registers have a register dtype (not f16 or bf16) and at least 1 lane.
/// * Slots are workgroup or private memory, with at least 1 element.
/// * A workgroup has at least 1 thread; subgroups have 1, 32 or 64 threads and divide it.
/// * The symbols of num_groups and the sizes do not contradict themselves or each other.
/// * Block 0 is the body, without parameters or yields. Every other block belongs to exactly one instruction.
/// * Every value is defined once, before its uses, which are all inside the block that defines it.
/// * No op is a kBody op. The numbers of operands, results and blocks, and of the blocks' parameters and yields, are
///   those of the op; types, lanes and immediates follow its rule (kernel_ops.inc).
/// * Loads, stores and atomics name an existing buffer or slot, and access buffers only as declared (is_read,
///   is_written). Atomics do not access private memory.
/// * If subgroup_size > 1 and all other invariants hold: shuffles and ballots occur only in blocks that either all
///   threads of a subgroup enter together or none of them enters (jit/ir/subgroup_flow.h).
Status verify(const MachineKernel&);

/// The kernel as text that parse_machine_kernel reads. It has everything that determines the code: kernels with equal
/// text, apart from names, have equal code. Buffers are @0, slots #0, size arguments s0. If a workgroup has more than
/// one thread, the line after `groups` says so: "workgroup 256 threads, subgroups of 32".
///
///     kernel relu
///     symbol n in 1..
///     groups floor_div(n + 15, 16)
///     buffer @0 x: f32 read
///     buffer @1 y: f32 write
///     size s0: n
///     body {
///       %0 = workgroup_id : i64
///       ...
///       %7 = load_masked @0[%2], %5, %6 : f32x16
///     }
std::string to_text(const MachineKernel&);
/// Reads to_text, and text written by hand. Numbers blocks in the order of the text, as MachineBuilder does. Does not
/// verify the kernel. A failure gives the line and column, the text found and the text expected; `name` stands for the
/// text in the message.
Result<MachineKernel> parse_machine_kernel(std::string_view text, std::string_view name = "kernel");

}  // namespace millrace
