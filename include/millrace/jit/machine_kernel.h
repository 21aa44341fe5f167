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

/// A register's type. A scalar has one lane.
struct VectorType {
  DType dtype = DType::kF32;
  std::uint32_t lanes = 1;
  std::string to_text() const;  // "f32", "f32x16"
  friend bool operator==(const VectorType&, const VectorType&) = default;
};

/// What a kernel does with a buffer.
enum class BufferAccess : std::uint8_t { kRead, kWrite, kReadWrite };

struct BufferArgument {
  std::string name;
  DType dtype = DType::kF32;  // as stored; loads of f16 and bf16 give u16 registers, of bool give bool
  BufferAccess access = BufferAccess::kRead;
  bool is_read() const { return access != BufferAccess::kWrite; }
  bool is_written() const { return access != BufferAccess::kRead; }
  friend bool operator==(const BufferArgument&, const BufferArgument&) = default;
};

/// An i64 argument: a size expression that the launch evaluates; nothing where kernels share their code (share_kernels)
/// and each launch gives a number of its own.
struct SizeArgument {
  std::string name;
  std::optional<SizeExpr> value;
  friend bool operator==(const SizeArgument&, const SizeArgument&) = default;
};

/// A row of a slot, and what stands before the next one and holds nothing, so that the elements of a column are in
/// different banks.
struct PaddedRow {
  std::uint64_t num_elements = 0;
  std::uint64_t padding_elements = 0;
  std::uint64_t pitch() const { return num_elements + padding_elements; }
  friend bool operator==(const PaddedRow&, const PaddedRow&) = default;
};

/// Declared memory of a workgroup or a thread: a slot that plan_memory places. Undefined at the start.
struct MemorySlot {
  std::string name;
  MemoryKind kind = MemoryKind::kWorkgroup;
  DType dtype = DType::kF32;
  std::uint64_t num_elements = 0;
  PaddedRow row = {};  // without padding, it says nothing
  friend bool operator==(const MemorySlot&, const MemorySlot&) = default;
};

/// What a load or store touches, as an instruction's immediate.
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

/// Structured code for one thread of a workgroup: SSA values with lanes, `for` and `if`, memory only as buffers and
/// slots. Threads may take different branches and turns. No call, no allocation, no unstructured jump can be written.
struct MachineKernel {
  std::string name;
  std::vector<BufferArgument> buffers;
  std::vector<SizeArgument> sizes;
  std::vector<MemorySlot> slots;
  SizeExpr num_groups = 1;
  std::uint32_t workgroup_size = 1;  // threads
  std::uint32_t subgroup_size = 1;   // threads that run in step: 1, 32 or 64; divides workgroup_size
  IdVector<MachineValueId, VectorType> types;
  IdVector<BlockId, Block> blocks;  // block 0 is the body
  friend bool operator==(const MachineKernel&, const MachineKernel&) = default;
};

/// Every broken rule, one a line: types as each op's rule, definitions before uses, in scope, immediates in range, no
/// access that a buffer does not grant, shuffles and ballots only where a subgroup comes whole
/// (jit/ir/subgroup_flow.h).
Status verify(const MachineKernel&);

/// All of the kernel, and nothing that does not decide its code but names: equal kernels have equal text. Buffers are
/// @0, slots #0, size arguments s0. A workgroup of more than one thread is a line of its own after the groups:
/// "workgroup 256 threads, subgroups of 32".
///
///     kernel relu
///     groups floor_div(n + 15, 16)
///     symbol n: at_least(1)
///     buffer @0 x: f32 read
///     buffer @1 y: f32 write
///     size s0: n
///     body {
///       %0 = workgroup_id : i64
///       ...
///       %7 = load_masked @0[%2], %5, %6 : f32x16
///     }
std::string to_text(const MachineKernel&);

}  // namespace millrace
