// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "millrace/jit/kernel_compiler.h"

namespace millrace {

/// Sort or TopK along one axis, as data. Order: NaN greatest, -0 equals +0, equal keys keep the lower index first,
/// in both directions. Values are bitwise the input's. `k` results per row, k <= n.
struct SortDescriptor {
  std::string name;
  KernelTensor input;
  std::uint32_t axis = 0;
  SizeExpr k;
  bool largest = false;  // descending
  bool sorted = true;    // false: any order of the k results
  /// What is wanted; an absent result has no storage and no code. Indices are i64.
  std::optional<KernelTensor> values;
  std::optional<KernelTensor> indices;
};

/// A running reduction along one axis, as data. 16-bit floats accumulate in f32.
struct ScanDescriptor {
  std::string name;
  KernelTensor input;
  KernelTensor result;
  std::uint32_t axis = 0;
  ReductionKind kind = ReductionKind::kSum;
  bool exclusive = false;  // an element's result is without itself; the first is the reduction of nothing
  bool reverse = false;
};

/// The input with updates put in along one axis, in the row-major order of the indices, as data. Indices are i32 or
/// i64; they wrap once if negative, and what is out of range is reported and changes nothing.
struct ScatterDescriptor {
  std::string name;
  KernelTensor input;
  KernelTensor indices;
  KernelTensor updates;  // the input's shape, with the indices' in the place of the axis
  KernelTensor result;
  std::uint32_t axis = 0;
  std::optional<ReductionKind> combine;  // absent: the update replaces
};

/// What a region asks the jit for.
using KernelRequest = std::variant<LoopKernel, SortDescriptor, ScanDescriptor, ScatterDescriptor>;

/// What a kernel's buffer argument is bound to.
struct SequenceOperand {
  enum class Kind : std::uint8_t { kOperand, kResult, kScratch } kind = Kind::kOperand;
  std::uint32_t index = 0;
  friend bool operator==(const SequenceOperand&, const SequenceOperand&) = default;
};

struct SequenceKernel {
  PlannedKernel kernel;
  std::vector<SequenceOperand> buffers;  // one per KernelInfo buffer
  std::vector<Refusal> refusals;         // generators asked before
};

struct SequenceScratch {
  std::string name;
  SizeExpr size_bytes;
};

/// What a region becomes on one target: kernels in order, and the scratch between them, a transient of the schedule.
/// Several algorithms may share the sizes that a run binds: those that are not its sizes' have no groups then, and no
/// bytes of scratch.
struct KernelSequence {
  std::string algorithm;  // or several: "gpu_tile_sort, gpu_radix_sort"
  std::vector<SequenceKernel> kernels;
  std::vector<SequenceScratch> scratch;
  std::vector<Refusal> refusals;  // algorithms asked before
};

Status verify(const KernelSequence&);
std::string to_text(const KernelSequence&);

/// Asks the algorithms for the request in order (kAlgorithms in src/jit/algorithms/list.cpp), until every size that a
/// run may bind has one. Operands are numbered as
/// the request's (LoopKernel: operands, results; SortDescriptor: input; values if wanted, then indices if wanted;
/// ScanDescriptor: input; result; ScatterDescriptor: input, indices, updates; result).
/// Fails naming the request and every reason.
Result<KernelSequence> lower_request(const KernelRequest&, const Target&, const LowerOptions&);

}  // namespace millrace
