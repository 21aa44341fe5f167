// SPDX-License-Identifier: Apache-2.0
// Estimates the bytes that a kernel reads and writes in each buffer, for profiles and cost reports.
#include "jit/algorithms/traffic.h"

#include "hal/host/routines/sort/long_sort.h"
#include "jit/algorithms/algorithm.h"
#include "jit/algorithms/rows.h"
#include "jit/algorithms/sort/long_sort_steps.h"
#include "jit/ir/affine.h"
#include "jit/ir/touched_bytes.h"
#include "jit/lanes/sort_memory.h"

namespace millrace {
namespace {

const BufferTraffic kReadsAll = {std::nullopt, 0}, kWritesAll = {0, std::nullopt};

/// The bytes that an access touches: only its elements if the range has gaps between rows, otherwise the whole range.
SizeExpr num_bytes(const ByteRange& touched, const Access& access, const KernelTensor& tensor,
                   std::span<const LoopDim> domain) {
  if (!touched.has_rows()) return touched.length_bytes;
  const AffineIndex element = element_offset(access, tensor.layout, domain.size());
  SizeExpr points = static_cast<std::int64_t>(size_bytes(tensor.type.dtype));
  for (std::size_t d = 0; d < domain.size(); ++d) {
    if (!element.coefficients[d].is(0)) points = points * domain[d].extent;
  }
  return points;
}

/// The bytes of an operand that the loads read. A gather reads one element per point of the domain, but at most the
/// whole operand.
std::optional<SizeExpr> read_bytes(const LoopKernel& nest, std::uint32_t operand,
                                   const std::optional<ByteRange>& touched) {
  const auto element_bytes = static_cast<std::int64_t>(size_bytes(nest.operands[operand].type.dtype));
  SizeExpr picked = 0;
  for (const Access& load : nest.loads) {
    if (load.tensor != operand) continue;
    if (!load.dynamic_dim) {
      return touched ? std::optional(num_bytes(*touched, load, nest.operands[operand], nest.domain)) : std::nullopt;
    }
    SizeExpr points = element_bytes;
    for (const LoopDim& dim : nest.domain) points = points * dim.extent;
    picked = picked + points;
  }
  return min(picked, size_bytes(nest.operands[operand].type));
}

std::vector<BufferTraffic> traffic_of_nest(const LoopKernel& nest) {
  const std::vector<std::optional<ByteRange>> touched = touched_bytes(nest);
  std::vector<BufferTraffic> traffic;
  for (std::uint32_t i = 0; i < nest.operands.size(); ++i) traffic.push_back({read_bytes(nest, i, touched[i]), 0});
  for (std::uint32_t i = 0; i < nest.results.size(); ++i) {
    const std::optional<ByteRange>& bytes = touched[nest.operands.size() + i];
    traffic.push_back(
        {0, bytes ? std::optional(num_bytes(*bytes, nest.stores[i], nest.results[i], nest.domain)) : std::nullopt});
  }
  if (nest.in_place) {
    traffic.back().read_bytes = traffic[*nest.in_place].read_bytes;
    traffic.erase(traffic.begin() + *nest.in_place);
  }
  return traffic;
}

std::vector<BufferTraffic> traffic_of_access(const std::vector<BufferArgument>& buffers) {
  std::vector<BufferTraffic> traffic(buffers.size());
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    if (buffers[i].is_read()) traffic[i].read_bytes.reset();
    if (buffers[i].is_written()) traffic[i].written_bytes.reset();
  }
  return traffic;
}

/// A key packed with an index can lose bits of its element, so the input is read again. Buckets larger than workgroup
/// memory are rare, so their scratch is not counted.
std::vector<BufferTraffic> traffic_of_long_sort(const LongSortKernel& kernel, const KernelInfo& info) {
  const SortDescriptor& sort = kernel.sort;
  std::vector<BufferTraffic> traffic(info.num_buffers);
  const std::size_t first_scratch = 1 + (buffers_of(kernel.step).has_results ? num_results(sort) : 0);
  const auto scratch = [&](LongSortScratch which) -> BufferTraffic& {
    return traffic[first_scratch + static_cast<std::size_t>(which)];
  };
  switch (kernel.step) {
    case LongSortStep::kChooseCuts: {
      const SizeExpr samples =
          num_rows(sort.input.type.shape, sort.axis) * kernel.num_buckets *
          (LongSort::kSamplesPerBucket * static_cast<std::int64_t>(size_bytes(sort.input.type.dtype)));
      traffic[0].read_bytes = min(samples, size_bytes(sort.input.type));
      scratch(LongSortScratch::kCuts) = kWritesAll;
      return traffic;
    }
    case LongSortStep::kSplitChunks:
      traffic[0] = scratch(LongSortScratch::kCuts) = kReadsAll;
      scratch(LongSortScratch::kStarts) = scratch(LongSortScratch::kChunkKeys) = kWritesAll;
      return traffic;
    case LongSortStep::kSortBuckets:
      if (lane_keys_of(sort).are_truncated()) traffic[0] = kReadsAll;
      for (std::size_t i = 1; i < first_scratch; ++i) traffic[i] = kWritesAll;
      scratch(LongSortScratch::kCuts) = scratch(LongSortScratch::kStarts) = scratch(LongSortScratch::kChunkKeys) =
          kReadsAll;
      return traffic;
    case LongSortStep::kRestoreRuns:  // reads the flags after the starts, and more only if a key lost bits
      scratch(LongSortScratch::kStarts) = kReadsAll;
      return traffic;
  }
  return traffic;
}

}  // namespace

std::vector<BufferTraffic> traffic_of(const Kernel& kernel, const KernelInfo& info) {
  if (const auto* nest = std::get_if<LoopKernel>(&kernel)) return traffic_of_nest(*nest);
  if (const auto* machine = std::get_if<MachineKernel>(&kernel)) return traffic_of_access(machine->buffers);
  const RowOperation& operation = *std::get<RowKernel>(kernel).operation;
  if (const auto* sort = std::get_if<LongSortKernel>(&operation)) return traffic_of_long_sort(*sort, info);
  std::vector<BufferTraffic> traffic;
  for (const bool is_written : info.buffer_is_written) traffic.push_back(is_written ? kWritesAll : kReadsAll);
  return traffic;
}

}  // namespace millrace
