// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "millrace/base/byte_range.h"
#include "millrace/jit/kernel_compiler.h"
#include "millrace/jit/scan_descriptor.h"
#include "millrace/jit/sort_descriptor.h"

namespace millrace {

/// Describes a scatter of updates into the input along one axis, in the row-major order of the indices. Indices are i32
/// or i64. A negative index wraps once. An index out of range is reported, and its update is skipped.
struct ScatterDescriptor {
  std::string name;
  KernelTensor input;
  KernelTensor indices;
  KernelTensor updates;  // the input's shape with the axis replaced by the indices' dims
  KernelTensor result;
  std::uint32_t axis = 0;
  std::optional<ReductionKind> combine;  // absent: the update replaces
  bool in_place = false;                 // the result is in the input's memory; kernels get only the result
};

/// A region's request for kernels.
using KernelRequest = std::variant<LoopKernel, SortDescriptor, ScanDescriptor, ScatterDescriptor>;

/// The binding of a kernel's buffer argument.
struct SequenceOperand {
  enum class Kind : std::uint8_t { kOperand, kResult, kScratch } kind = Kind::kOperand;
  std::uint32_t index = 0;
  friend bool operator==(const SequenceOperand&, const SequenceOperand&) = default;
};

/// The bytes of a buffer that a kernel reads and writes. Each byte counts once, however often the kernel accesses it.
/// If the number depends on the data, this is an upper bound. Absent: all bytes of the buffer.
struct BufferTraffic {
  std::optional<SizeExpr> read_bytes = 0, written_bytes = 0;
  friend bool operator==(const BufferTraffic&, const BufferTraffic&) = default;
};

struct SequenceKernel {
  PlannedKernel kernel;
  std::vector<SequenceOperand> buffers;  // one per KernelInfo buffer
  /// The bytes of each buffer that the kernel touches. An absent range, or an empty vector, means that it may touch all
  /// of them.
  std::vector<std::optional<ByteRange>> touched;
  std::vector<Refusal> refusals;            // generators that refused before one accepted
  std::vector<BufferTraffic> traffic = {};  // one per buffer; only for reports, nothing depends on it
};

struct SequenceScratch {
  std::string name;
  SizeExpr size_bytes;
};

/// The kernels that compute a region on one target, in order, and the scratch between them, which is a transient buffer
/// of the schedule. If the sizes bound at run time decide among several algorithms, the kernels of the algorithms that
/// do not apply have 0 groups, and their scratch has 0 bytes.
struct KernelSequence {
  std::string algorithm;  // one name, or several: "gpu_tile_sort, gpu_radix_sort"
  std::vector<SequenceKernel> kernels;
  std::vector<SequenceScratch> scratch;
  std::vector<Refusal> refusals;  // algorithms that refused before one accepted
};

/// Checks these invariants. Fails with kInternal and one line per failure.
/// * There is at least one kernel.
/// * Scratch names are unique, so that readers can follow scratch between kernels.
/// * Each kernel binds as many buffers and sizes as its KernelInfo has.
/// * Scratch indices exist.
/// * Kernels write only results and scratch, never operands.
Status verify(const KernelSequence&);
std::string to_text(const KernelSequence&);

/// Verifies a LoopKernel or a load, and tries the algorithms in order (kAlgorithms in src/jit/algorithms/list.cpp)
/// until those that accepted cover every size that may be bound at run time. A failure names the request and every
/// algorithm's reason. If an algorithm does not accept loads, a kernel before it stores the load's result in scratch.
///
/// The sequence's operands and results are in the order of the request. An operand that is changed in place is bound
/// only as the result. If the request has a load, the load's operands take the place of the input.
/// * LoopKernel: the operands; the results.
/// * SortDescriptor: the input, then the indices of its elements if it has them; the values, then the indices, each if
///   requested.
/// * ScanDescriptor: the input; the result.
/// * ScatterDescriptor: the input, the indices, the updates; the result.
Result<KernelSequence> lower_request(const KernelRequest&, const Target&, const LowerOptions&);

}  // namespace millrace
