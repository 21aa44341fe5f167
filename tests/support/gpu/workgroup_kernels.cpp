// SPDX-License-Identifier: Apache-2.0
#include "tests/support/gpu/workgroup_kernels.h"

#include <bit>

#include "tests/support/gpu/subgroup_ops.h"

namespace millrace::test {
namespace {

using Values = MachineBuilder::Values;

template <class F>
void when(MachineBuilder& b, MachineValue condition, F&& f) {
  const auto then = [&] {
    f();
    return Values{};
  };
  b.if_else(condition, then, [] { return Values{}; });
}

/// Calls f(i) for i in [0, count).
template <class F>
void repeat(MachineBuilder& b, std::uint32_t count, F&& f) {
  b.for_loop(b.i32(0), b.i32(static_cast<std::int32_t>(count)), b.i32(1), {}, [&](MachineValue i, const Values&) {
    f(i);
    return Values{};
  });
}

std::uint32_t log2(std::uint32_t power_of_two) { return static_cast<std::uint32_t>(std::countr_zero(power_of_two)); }

/// The element of this thread: group * threads + thread, i64.
MachineValue global_id(MachineBuilder& b, std::uint32_t num_threads) {
  const MachineValue first = b.mul(b.workgroup_id(), b.i64(num_threads));
  return b.add(first, b.convert(DType::kI64, b.thread_id()));
}

MachineValue load_or_zero(MachineBuilder& b, MemoryHandle x, MachineValue i, MachineValue is_there) {
  const MachineValue zero = b.constant_int(x.dtype, 0);
  return b.if_else(is_there, [&] { return Values{b.load(x, i)}; }, [&] { return Values{zero}; })[0];
}

}  // namespace

MachineKernel reduction_kernel(const WorkgroupShape& shape) {
  MachineBuilder b("reduction");
  b.set_workgroup(shape.num_threads, shape.subgroup_size);
  const MemoryHandle x = b.buffer("x", DType::kI32, BufferAccess::kRead);
  const MemoryHandle sums = b.buffer("sums", DType::kI32, BufferAccess::kWrite);
  const MemoryHandle parts = b.workgroup_memory(DType::kI32, shape.num_threads, "parts");
  const MachineValue i = global_id(b, shape.num_threads);
  const MachineValue thread = b.thread_id();
  b.store(parts, thread, load_or_zero(b, x, i, b.lt(i, b.size(Dim("n")))));
  const MachineValue half = b.i32(static_cast<std::int32_t>(shape.num_threads / 2));
  repeat(b, log2(shape.num_threads), [&](MachineValue level) {
    const MachineValue distance = b.shr(half, level);
    b.barrier();
    when(b, b.lt(thread, distance), [&] {
      const MachineValue other = b.load(parts, b.add(thread, distance));
      b.store(parts, thread, b.add(b.load(parts, thread), other));
    });
  });
  when(b, b.eq(thread, b.i32(0)), [&] { b.store(sums, b.workgroup_id(), b.load(parts, thread)); });
  return b.finish();
}

MachineKernel prefix_sum_kernel(const WorkgroupShape& shape) {
  const std::uint32_t num_subgroups = shape.num_threads / shape.subgroup_size;
  MachineBuilder b("prefix_sum");
  b.set_workgroup(shape.num_threads, shape.subgroup_size);
  const MemoryHandle x = b.buffer("x", DType::kU32, BufferAccess::kRead);
  const MemoryHandle sums = b.buffer("sums", DType::kU32, BufferAccess::kWrite);
  const MemoryHandle totals = b.workgroup_memory(DType::kU32, num_subgroups, "totals");
  const MemoryHandle ends = b.workgroup_memory(DType::kU32, num_subgroups, "ends");
  const MachineValue i = global_id(b, shape.num_threads);
  const MachineValue is_there = b.lt(i, b.size(Dim("n")));
  const MachineValue lane = b.lane_id(), subgroup = b.subgroup_id();
  const MachineValue sum =
      subgroup_inclusive_scan(b, KernelOp::kAdd, load_or_zero(b, x, i, is_there), shape.subgroup_size);
  const MachineValue last = b.i32(static_cast<std::int32_t>(shape.subgroup_size - 1));
  when(b, b.eq(lane, last), [&] { b.store(totals, subgroup, sum); });
  b.barrier();
  when(b, b.eq(subgroup, b.i32(0)), [&] {
    const MachineValue has_total = b.lt(lane, b.i32(static_cast<std::int32_t>(num_subgroups)));
    const MachineValue total = load_or_zero(b, totals, lane, has_total);
    const MachineValue end = subgroup_inclusive_scan(b, KernelOp::kAdd, total, shape.subgroup_size);
    when(b, has_total, [&] { b.store(ends, lane, end); });
  });
  b.barrier();
  const MachineValue start = b.sub(b.load(ends, subgroup), b.load(totals, subgroup));
  when(b, is_there, [&] { b.store(sums, i, b.add(start, sum)); });
  return b.finish();
}

MachineKernel bitonic_sort_kernel(const WorkgroupShape& shape, std::uint32_t num_keys) {
  MachineBuilder b("bitonic_sort");
  b.set_workgroup(shape.num_threads, shape.subgroup_size);
  const MemoryHandle input = b.buffer("keys", DType::kU32, BufferAccess::kRead);
  const MemoryHandle sorted = b.buffer("sorted", DType::kU32, BufferAccess::kWrite);
  const MemoryHandle order = b.buffer("indices", DType::kI32, BufferAccess::kWrite);
  const MemoryHandle keys = b.workgroup_memory(DType::kU32, num_keys, "keys");
  const MemoryHandle indices = b.workgroup_memory(DType::kI32, num_keys, "indices");
  const MachineValue thread = b.thread_id(), one = b.i32(1);
  const MachineValue threads = b.i32(static_cast<std::int32_t>(shape.num_threads));
  const MachineValue base = b.mul(b.workgroup_id(), b.i64(num_keys));
  const auto place = [&](MachineValue i) { return b.add(base, b.convert(DType::kI64, i)); };
  const auto for_my = [&](std::uint32_t count, auto&& f) {
    repeat(b, count / shape.num_threads, [&](MachineValue iteration) { f(b.mul_add(iteration, threads, thread)); });
  };
  for_my(num_keys, [&](MachineValue i) {
    b.store(keys, i, b.load(input, place(i)));
    b.store(indices, i, i);
  });
  const auto exchange = [&](MachineValue pair, MachineValue stage, MachineValue bit) {
    // The pair's places differ in one bit; runs of 2^(stage + 1) ascend and descend in turn.
    const MachineValue distance = b.shl(one, bit);
    const MachineValue below = b.bit_and(pair, b.sub(distance, one));
    const MachineValue low = b.add(b.shl(b.sub(pair, below), one), below), high = b.add(low, distance);
    const MachineValue descends = b.ne(b.bit_and(low, b.shl(b.i32(2), stage)), b.i32(0));
    const MachineValue low_key = b.load(keys, low), high_key = b.load(keys, high);
    const MachineValue low_index = b.load(indices, low), high_index = b.load(indices, high);
    const MachineValue is_after =
        b.bit_or(b.lt(high_key, low_key), b.bit_and(b.eq(high_key, low_key), b.lt(high_index, low_index)));
    when(b, b.ne(is_after, descends), [&] {
      b.store(keys, low, high_key);
      b.store(keys, high, low_key);
      b.store(indices, low, high_index);
      b.store(indices, high, low_index);
    });
  };
  repeat(b, log2(num_keys), [&](MachineValue stage) {
    b.for_loop(b.i32(0), b.add(stage, one), one, {}, [&](MachineValue iteration, const Values&) {
      b.barrier();
      for_my(num_keys / 2, [&](MachineValue pair) { exchange(pair, stage, b.sub(stage, iteration)); });
      return Values{};
    });
  });
  b.barrier();
  for_my(num_keys, [&](MachineValue i) {
    b.store(sorted, place(i), b.load(keys, i));
    b.store(order, place(i), b.load(indices, i));
  });
  return b.finish();
}

}  // namespace millrace::test
