// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "millrace/jit/body.h"
#include "millrace/jit/machine_kernel.h"

namespace millrace {

/// A register of a kernel under construction.
struct MachineValue {
  MachineValueId id{};
  DType dtype = DType::kF32;
  std::uint32_t lanes = 1;
};

/// A buffer argument or a slot.
struct MemoryHandle {
  MemoryRef ref;
  DType dtype = DType::kF32;
};

/// Builds a MachineKernel. map_kernel and the workgroup templates (sort, TopK, scan) use it. Lanewise operations come
/// from BodyVocabulary. If some of their operands are vectors, the scalar ones are splat; constants are scalars. Values
/// that depend on nothing inside the kernel (constants, sizes, ids, iotas, and splats of these) are created once, at
/// the head of the body, so that loops contain none of them. Misuse is a bug in Millrace and fails a MILLRACE_CHECK.
class MachineBuilder : public BodyVocabulary<MachineBuilder, MachineValue> {
 public:
  explicit MachineBuilder(std::string name);

  MemoryHandle buffer(std::string name, DType dtype, BufferAccess access);
  /// A constant if the expression is constant; otherwise a size argument, which equal expressions share.
  MachineValue size(const SizeExpr&);
  MemoryHandle workgroup_memory(DType dtype, std::uint64_t num_elements, std::string name);
  /// Row `i` begins at element i * row.pitch(). The last row has no padding after it.
  MemoryHandle workgroup_rows(DType dtype, std::uint64_t num_rows, const PaddedRow& row, std::string name);
  MemoryHandle private_memory(DType dtype, std::uint64_t num_elements, std::string name);

  MachineValue constant_scalar(Scalar);
  MachineValue emit(KernelOp op, DType dtype, std::initializer_list<MachineValue> operands);
  MachineValue i32(std::int32_t value) { return constant_int(DType::kI32, value); }
  MachineValue i64(std::int64_t value) { return constant_int(DType::kI64, value); }
  MachineValue workgroup_id();
  MachineValue thread_id();
  /// This thread's index in its subgroup, and the subgroup's index in the workgroup: i32. Precondition: set_workgroup
  /// was called.
  MachineValue lane_id();
  MachineValue subgroup_id();
  MachineValue lane_iota(DType dtype, std::uint32_t lanes);
  /// Returns the value itself if it already has `lanes` lanes.
  MachineValue splat(MachineValue scalar, std::uint32_t lanes);
  MachineValue extract(MachineValue vector, std::uint32_t lane);
  /// Interleaves the lower or upper halves of the lanes of `a` and `b`.
  MachineValue interleave(MachineValue a, MachineValue b, bool is_upper);
  /// Between f32 and the u16 bits of f16. See KernelOp::kWidenF16 and kNarrowF16.
  MachineValue widen_f16(MachineValue bits);
  MachineValue narrow_f16(MachineValue f32);
  MachineValue reduce(KernelOp reduce_op, MachineValue vector);

  /// Loads and stores. Values have the memory's register_dtype. A mask, `other` or value that is a scalar is splat.
  MachineValue load(MemoryHandle, MachineValue offset, std::uint32_t lanes = 1);
  MachineValue load_masked(MemoryHandle, MachineValue offset, MachineValue mask, MachineValue other);
  MachineValue gather(MemoryHandle, MachineValue offsets, MachineValue mask, MachineValue other);
  void store(MemoryHandle, MachineValue offset, MachineValue value);
  /// Like store(), to a buffer, at an offset that is a multiple of the value's lanes. See KernelOp::kStoreStreaming.
  void store_streaming(MemoryHandle, MachineValue offset, MachineValue value);
  void store_masked(MemoryHandle, MachineValue offset, MachineValue mask, MachineValue value);
  void scatter(MemoryHandle, MachineValue offsets, MachineValue mask, MachineValue value);
  /// `atomic_op` is one of kAtomic*. Returns the old value.
  MachineValue atomic(KernelOp atomic_op, MemoryHandle, MachineValue offset, MachineValue value);
  void report_error(MachineValue any_true, std::uint32_t kernel_error);
  void barrier();

  /// Exchange scalars between the threads of a subgroup, all of which must take part. Precondition: set_workgroup was
  /// called.
  MachineValue shuffle(MachineValue value, MachineValue lane);
  MachineValue shuffle_xor(MachineValue value, std::uint32_t mask);
  MachineValue ballot(MachineValue flag);
  MachineValue broadcast(MachineValue value, std::uint32_t lane);

  using Values = std::vector<MachineValue>;
  Values for_loop(MachineValue lower, MachineValue upper, MachineValue step, const Values& initial,
                  const std::function<Values(MachineValue index, const Values& carried)>& body);
  Values if_else(MachineValue condition, const std::function<Values()>& then_body,
                 const std::function<Values()>& else_body);

  /// CPU kernels have one thread per workgroup. `subgroup_size` is 1, 32 or 64 and divides `num_threads`.
  void set_workgroup(std::uint32_t num_threads, std::uint32_t subgroup_size);
  void set_num_groups(SizeExpr groups) { kernel_.num_groups = std::move(groups); }
  /// Returns the kernel, which plan() verifies. With assertions enabled, ends the process if verify() refuses it. Must
  /// be the last call.
  MachineKernel finish();

 private:
  /// Identifies a value at the head of the body: op, operand, immediate, type.
  using HeadKey = std::tuple<KernelOp, MachineValueId, std::uint64_t, DType, std::uint32_t>;

  MachineValue define(VectorType);
  MachineValue append(VectorType result, KernelOp op, std::vector<MachineValueId> operands,
                      std::uint64_t immediate = 0);
  void append_effect(KernelOp op, std::vector<MachineValueId> operands, std::uint64_t immediate = 0);
  MachineValue head(VectorType, KernelOp op, std::vector<MachineValueId> operands, std::uint64_t immediate);
  bool is_in_head(MachineValue) const;
  MachineValue to_lanes(MachineValue, std::uint32_t lanes);
  MemoryHandle slot(MemoryKind, DType, std::uint64_t num_elements, std::string name);
  std::vector<MachineValueId> build_block(BlockId, const std::function<Values()>& body);

  MachineKernel kernel_;
  std::vector<BlockId> open_;  // innermost block last
  std::vector<MachineInstruction> head_;
  std::map<HeadKey, MachineValueId> head_values_;
  std::vector<bool> value_is_in_head_;
};

}  // namespace millrace
