// SPDX-License-Identifier: Apache-2.0
#include "tests/support/gpu/gpu_kernels.h"

#include <bit>

#include "tests/support/gpu/subgroup_ops.h"

namespace millrace::test {
namespace {

using Values = MachineBuilder::Values;

constexpr std::uint32_t kThreads = 256;

/// This thread's number among all threads of the dispatch: i64.
MachineValue global_thread_id(MachineBuilder& b) {
  return b.mul_add(b.workgroup_id(), b.i64(kThreads), b.convert(DType::kI64, b.thread_id()));
}

void when(MachineBuilder& b, MachineValue condition, const std::function<void()>& body) {
  b.if_else(
      condition,
      [&] {
        body();
        return Values{};
      },
      [] { return Values{}; });
}

/// What `op` makes of one value a subgroup, given by its lane 0: all threads of the workgroup get it.
MachineValue combine_subgroups(MachineBuilder& b, KernelOp op, MachineValue value, std::uint32_t subgroup_size) {
  const MemoryHandle totals = b.workgroup_memory(value.dtype, kThreads / subgroup_size, "totals");
  when(b, b.eq(b.lane_id(), b.i32(0)), [&] { b.store(totals, b.subgroup_id(), value); });
  b.barrier();
  MachineValue result = b.load(totals, b.i32(0));
  for (std::uint32_t i = 1; i < kThreads / subgroup_size; ++i) {
    result = b.emit(op, value.dtype, {result, b.load(totals, b.i32(static_cast<std::int32_t>(i)))});
  }
  return result;
}

/// Swaps pairs `left` and `right` of the network when they are out of order.
struct PairSorter {
  MachineBuilder& b;
  MemoryHandle keys, indices;

  void exchange(MachineValue left, MachineValue right, MachineValue is_ascending) const {
    const MachineValue k0 = b.load(keys, left), k1 = b.load(keys, right);
    const MachineValue i0 = b.load(indices, left), i1 = b.load(indices, right);
    const MachineValue is_less = b.bit_or(b.lt(k1, k0), b.bit_and(b.eq(k0, k1), b.lt(i1, i0)));
    when(b, b.eq(is_less, is_ascending), [&] {
      b.store(keys, left, k1);
      b.store(keys, right, k0);
      b.store(indices, left, i1);
      b.store(indices, right, i0);
    });
  }
};

}  // namespace

MachineKernel axpy_kernel(DType dtype, std::uint32_t subgroup_size) {
  MachineBuilder b("axpy");
  b.set_workgroup(kThreads, subgroup_size);
  const SizeExpr n = Dim("n");
  b.set_num_groups(floor_div(n + (kThreads - 1), kThreads));
  const MemoryHandle a = b.buffer("a", dtype, BufferAccess::kRead), x = b.buffer("x", dtype, BufferAccess::kRead),
                     y = b.buffer("y", dtype, BufferAccess::kReadWrite);
  const MachineValue i = global_thread_id(b);
  when(b, b.lt(i, b.size(n)), [&] { b.store(y, i, b.mul_add(b.load(a, b.i32(0)), b.load(x, i), b.load(y, i))); });
  return b.finish();
}

MachineKernel row_sum_kernel(DType dtype, std::uint32_t subgroup_size) {
  MachineBuilder b("row_sum");
  b.set_workgroup(kThreads, subgroup_size);
  b.set_num_groups(Dim("rows"));
  const MemoryHandle x = b.buffer("x", dtype, BufferAccess::kRead), y = b.buffer("y", dtype, BufferAccess::kWrite);
  const MachineValue n = b.size(Dim("n")), row = b.mul(b.workgroup_id(), n);
  const Values sum = b.for_loop(
      b.convert(DType::kI64, b.thread_id()), n, b.i64(kThreads), {b.constant_int(dtype, 0)},
      [&](MachineValue i, const Values& carried) { return Values{b.add(carried[0], b.load(x, b.add(row, i)))}; });
  const MachineValue total =
      combine_subgroups(b, KernelOp::kAdd, subgroup_reduce(b, KernelOp::kAdd, sum[0], subgroup_size), subgroup_size);
  when(b, b.eq(b.thread_id(), b.i32(0)), [&] { b.store(y, b.workgroup_id(), total); });
  return b.finish();
}

MachineKernel bitonic_sort_kernel(DType dtype, std::uint32_t subgroup_size) {
  constexpr std::int32_t kPairs = 1024;
  MachineBuilder b("bitonic_sort");
  b.set_workgroup(kPairs / 2, subgroup_size);
  b.set_num_groups(Dim("rows"));
  const MemoryHandle keys = b.buffer("keys", dtype, BufferAccess::kReadWrite),
                     indices = b.buffer("indices", DType::kI32, BufferAccess::kReadWrite);
  const PairSorter sorter{b, b.workgroup_memory(dtype, kPairs, "keys"),
                          b.workgroup_memory(DType::kI32, kPairs, "indices")};
  const MachineValue thread = b.thread_id(), one = b.i32(1);
  const MachineValue row = b.mul(b.workgroup_id(), b.i64(kPairs));
  const MachineValue halves[] = {thread, b.add(thread, b.i32(kPairs / 2))};
  for (const MachineValue half : halves) {
    const MachineValue from = b.add(row, b.convert(DType::kI64, half));
    b.store(sorter.keys, half, b.load(keys, from));
    b.store(sorter.indices, half, b.load(indices, from));
  }
  b.for_loop(one, b.i32(std::countr_zero(static_cast<unsigned>(kPairs)) + 1), one, {},
             [&](MachineValue stage, const Values&) {
               b.for_loop(one, b.add(stage, one), one, {}, [&](MachineValue step, const Values&) {
                 b.barrier();
                 const MachineValue distance = b.shl(one, b.sub(stage, step)), low = b.sub(distance, one);
                 const MachineValue left =
                     b.sub(b.shl(thread, one), b.bit_and(thread, low));  // `distance` is skipped in every pair of runs
                 const MachineValue is_ascending = b.eq(b.bit_and(b.shr(left, stage), one), b.i32(0));
                 sorter.exchange(left, b.add(left, distance), is_ascending);
                 return Values{};
               });
               return Values{};
             });
  b.barrier();
  for (const MachineValue half : halves) {
    const MachineValue to = b.add(row, b.convert(DType::kI64, half));
    b.store(keys, to, b.load(sorter.keys, half));
    b.store(indices, to, b.load(sorter.indices, half));
  }
  return b.finish();
}

MachineKernel block_scan_kernel(DType dtype, std::uint32_t subgroup_size) {
  MachineBuilder b("block_scan");
  b.set_workgroup(kThreads, subgroup_size);
  b.set_num_groups(Dim("groups"));
  const MemoryHandle x = b.buffer("x", dtype, BufferAccess::kRead), y = b.buffer("y", dtype, BufferAccess::kWrite);
  const auto num_subgroups = static_cast<std::int32_t>(kThreads / subgroup_size);
  const MemoryHandle totals = b.workgroup_memory(dtype, static_cast<std::uint64_t>(num_subgroups), "totals");
  const MachineValue i = global_thread_id(b), zero = b.constant_int(dtype, 0);
  const MachineValue inclusive = subgroup_inclusive_scan(b, KernelOp::kAdd, b.load(x, i), subgroup_size);
  const auto last = static_cast<std::int32_t>(subgroup_size - 1);
  when(b, b.eq(b.lane_id(), b.i32(last)), [&] { b.store(totals, b.subgroup_id(), inclusive); });
  b.barrier();
  // Every subgroup sums the totals of those before it, a lane a total.
  const MachineValue is_before = b.lt(b.lane_id(), b.subgroup_id());
  const MachineValue total = b.load_masked(totals, b.lane_id(), is_before, zero);
  const MachineValue before = subgroup_reduce(b, KernelOp::kAdd, total, subgroup_size);
  b.store(y, i, b.add(before, inclusive));
  return b.finish();
}

MachineKernel histogram_kernel(DType dtype, std::uint32_t subgroup_size) {
  MachineBuilder b("histogram");
  b.set_workgroup(kThreads, subgroup_size);
  const SizeExpr n = Dim("n");
  b.set_num_groups(floor_div(n + (kThreads - 1), kThreads));
  const MemoryHandle x = b.buffer("x", dtype, BufferAccess::kRead),
                     counts = b.buffer("counts", dtype, BufferAccess::kReadWrite),
                     active = b.buffer("active", DType::kU64, BufferAccess::kReadWrite);
  const MemoryHandle bins = b.workgroup_memory(dtype, kThreads, "bins");
  const MachineValue i = global_thread_id(b), is_inside = b.lt(i, b.size(n));
  const MachineValue zero = b.constant_int(dtype, 0), one = b.constant_int(dtype, 1);
  b.store(bins, b.thread_id(), zero);
  b.barrier();
  when(b, is_inside, [&] {
    const MachineValue bin = b.bit_and(b.load(x, i), b.constant_int(dtype, kThreads - 1));
    b.atomic(KernelOp::kAtomicAdd, bins, b.convert(DType::kI32, bin), one);
  });
  const MachineValue lanes = b.ballot(is_inside);
  when(b, b.eq(b.lane_id(), b.i32(0)), [&] { b.atomic(KernelOp::kAtomicOr, active, b.i32(0), lanes); });
  b.barrier();
  b.atomic(KernelOp::kAtomicAdd, counts, b.thread_id(), b.load(bins, b.thread_id()));
  return b.finish();
}

std::span<const GpuTestKernel> gpu_test_kernels() {
  static constexpr DType kNumbers[] = {DType::kF32, DType::kF64, DType::kI8,  DType::kI32,
                                       DType::kU32, DType::kI64, DType::kU16, DType::kU64};
  static constexpr DType kWords[] = {DType::kI32, DType::kU32, DType::kI64, DType::kU64};
  static constexpr GpuTestKernel kKernels[] = {{"axpy", axpy_kernel, kNumbers},
                                               {"row_sum", row_sum_kernel, kNumbers},
                                               {"bitonic_sort", bitonic_sort_kernel, kNumbers},
                                               {"block_scan", block_scan_kernel, kNumbers},
                                               {"histogram", histogram_kernel, kWords}};
  return kKernels;
}

}  // namespace millrace::test
