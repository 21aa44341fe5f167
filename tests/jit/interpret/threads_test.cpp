// SPDX-License-Identifier: Apache-2.0
// Workgroups of many threads on the interpreter.
#include <algorithm>
#include <numeric>
#include <set>

#include <doctest/doctest.h>

#include "tests/support/gpu/subgroup_ops.h"
#include "tests/support/kernels/machine_kernels.h"
#include "tests/support/random/random_machine_kernel.h"

namespace millrace {
namespace {

using Values = MachineBuilder::Values;

TEST_CASE("threads of a workgroup give the results of groups of one thread, however they diverge") {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const test::RandomMachineKernel groups = test::make_random_kernel(
        seed, {.has_thread_ops = false, .num_groups = 1 + static_cast<std::uint32_t>(seed % 9)});
    const test::RandomMachineKernel threads = test::as_threads(groups);
    REQUIRE(verify(threads.kernel).message() == "");
    test::KernelData expected = test::make_random_data(groups, seed), found = expected;
    CHECK(test::run_interpreted(threads, found) == test::run_interpreted(groups, expected));
    CAPTURE(seed);
    CHECK(found == expected);
  }
}

/// A kernel of `threads` threads that stores an i32 or u64 of each.
template <class Body>
MachineKernel each_thread_stores(std::uint32_t threads, std::uint32_t subgroup, DType dtype, Body&& body) {
  MachineBuilder b("each");
  b.set_workgroup(threads, subgroup);
  const MemoryHandle x = b.buffer("x", DType::kI32, BufferAccess::kRead);
  const MemoryHandle y = b.buffer("y", dtype, BufferAccess::kWrite);
  b.store(y, b.thread_id(), body(b, b.load(x, b.thread_id())));
  return b.finish();
}

std::vector<std::int32_t> some_numbers(std::uint32_t count) {
  std::vector<std::int32_t> numbers(count);
  for (std::uint32_t i = 0; i < count; ++i) numbers[i] = static_cast<std::int32_t>(i * 7919 % 97) - 40;
  return numbers;
}

template <class T = std::int32_t>
std::vector<T> results_of(const MachineKernel& kernel) {
  std::vector<std::int32_t> x = some_numbers(kernel.workgroup_size);
  std::vector<T> y(kernel.workgroup_size);
  test::run_interpreted(kernel, {x.data(), y.data()});
  return y;
}

constexpr struct {
  std::uint32_t threads, subgroup;
} kShapes[] = {{1, 1}, {5, 1}, {32, 32}, {96, 32}, {64, 64}, {256, 64}};

TEST_CASE("a thread knows its number in the workgroup, its lane, and its subgroup's number") {
  for (const auto [threads, subgroup] : kShapes) {
    const auto kernel = each_thread_stores(threads, subgroup, DType::kI32, [](MachineBuilder& b, MachineValue) {
      const MachineValue lane = b.lane_id(), group = b.subgroup_id();
      return b.add(b.thread_id(), b.mul(b.i32(1000), b.add(lane, b.mul(b.i32(1000), group))));
    });
    const auto found = results_of(kernel);
    for (std::uint32_t t = 0; t < threads; ++t) {
      CHECK(found[t] == static_cast<std::int32_t>(t + 1000 * (t % subgroup + 1000 * (t / subgroup))));
    }
  }
}

TEST_CASE("shuffles read lanes of the thread's own subgroup, modulo its size") {
  for (const auto [threads, subgroup] : kShapes) {
    const auto x = some_numbers(threads);
    const auto rotated =
        results_of(each_thread_stores(threads, subgroup, DType::kI32, [](MachineBuilder& b, MachineValue x) {
          return b.shuffle(x, b.sub(b.lane_id(), b.i32(3)));
        }));
    const std::uint32_t mask = subgroup > 1 ? 5 : 0;
    const auto crossed = results_of(each_thread_stores(
        threads, subgroup, DType::kI32, [mask](MachineBuilder& b, MachineValue x) { return b.shuffle_xor(x, mask); }));
    const auto first =
        results_of(each_thread_stores(threads, subgroup, DType::kI32, [](MachineBuilder& b, MachineValue x) {
          const MachineValue is_negative = b.broadcast(b.lt(x, b.i32(0)), 0);  // a bool, too
          return b.convert(DType::kI32, is_negative);
        }));
    for (std::uint32_t t = 0; t < threads; ++t) {
      const std::uint32_t begin = t / subgroup * subgroup, lane = t - begin;
      CHECK(rotated[t] == x[begin + (lane + 61 * subgroup - 3) % subgroup]);
      CHECK(crossed[t] == x[begin + (lane ^ mask)]);
      CHECK(first[t] == (x[begin] < 0 ? 1 : 0));
    }
  }
}

TEST_CASE("a ballot has one bit per lane of the thread's own subgroup") {
  for (const auto [threads, subgroup] : kShapes) {
    const auto found = results_of<std::uint64_t>(each_thread_stores(
        threads, subgroup, DType::kU64, [](MachineBuilder& b, MachineValue x) { return b.ballot(b.lt(x, b.i32(0))); }));
    const auto x = some_numbers(threads);
    for (std::uint32_t t = 0; t < threads; ++t) {
      std::uint64_t expected = 0;
      for (std::uint32_t lane = 0; lane < subgroup; ++lane) {
        expected |= std::uint64_t{x[t / subgroup * subgroup + lane] < 0} << lane;
      }
      CHECK(found[t] == expected);
    }
  }
}

TEST_CASE("subgroups reduce and scan") {
  for (const auto [threads, subgroup] : kShapes) {
    const auto greatest =
        results_of(each_thread_stores(threads, subgroup, DType::kI32, [&](MachineBuilder& b, MachineValue x) {
          return test::subgroup_reduce(b, KernelOp::kMax, x, subgroup);
        }));
    const auto sums =
        results_of(each_thread_stores(threads, subgroup, DType::kI32, [&](MachineBuilder& b, MachineValue x) {
          return test::subgroup_inclusive_scan(b, KernelOp::kAdd, x, subgroup);
        }));
    const auto x = some_numbers(threads);
    for (std::uint32_t begin = 0; begin < threads; begin += subgroup) {
      std::int32_t sum = 0;
      const std::int32_t maximum = *std::max_element(x.begin() + begin, x.begin() + begin + subgroup);
      for (std::uint32_t t = begin; t < begin + subgroup; ++t) {
        CHECK(greatest[t] == maximum);
        CHECK(sums[t] == (sum += x[t]));
      }
    }
  }
}

TEST_CASE("each thread has its own number of iterations, and its own branch in each") {
  const auto kernel = each_thread_stores(70, 1, DType::kI32, [](MachineBuilder& b, MachineValue x) {
    const MachineValue one = b.i32(1), zero = b.i32(0);
    return b.for_loop(zero, x, b.i32(2), {x, zero}, [&](MachineValue i, const Values& carried) {
      const MachineValue is_odd = b.ne(b.bit_and(carried[0], one), zero);
      const Values next = b.if_else(
          is_odd, [&] { return Values{b.add(carried[0], i), b.add(carried[1], one)}; },
          [&] { return Values{b.sub(carried[1], i), carried[0]}; });
      return Values{next[1], next[0]};
    })[0];
  });
  const auto found = results_of(kernel), x = some_numbers(70);
  for (std::size_t t = 0; t < found.size(); ++t) {
    std::int32_t a = x[t], c = 0;
    for (std::int32_t i = 0; i < x[t]; i += 2) {
      const bool is_odd = (a & 1) != 0;
      const std::int32_t next0 = is_odd ? a + i : c - i, next1 = is_odd ? c + 1 : a;
      a = next1;
      c = next0;
    }
    CHECK(found[t] == a);
  }
}

/// Each thread takes a ticket of a counter; group g stores its threads' tickets at g * threads.
MachineKernel ticket_kernel(std::uint32_t threads) {
  MachineBuilder b("tickets");
  b.set_workgroup(threads, 1);
  const MemoryHandle counter = b.buffer("counter", DType::kU32, BufferAccess::kReadWrite);
  const MemoryHandle tickets = b.buffer("tickets", DType::kU32, BufferAccess::kWrite);
  const MachineValue ticket = b.atomic(KernelOp::kAtomicAdd, counter, b.i32(0), b.constant_int(DType::kU32, 1));
  const MachineValue first = b.mul(b.workgroup_id(), b.i64(threads));
  b.store(tickets, b.add(first, b.convert(DType::kI64, b.thread_id())), ticket);
  return b.finish();
}

std::vector<std::uint32_t> tickets(std::uint64_t order_seed) {
  const MachineKernel kernel = ticket_kernel(40);
  std::uint32_t counter = 0;
  std::vector<std::uint32_t> found(3 * 40);
  CHECK(test::run_observed(kernel, MemoryPlan{}, {&counter, found.data()}, {}, 3, {.order_seed = order_seed}).ok());
  return found;
}

TEST_CASE("atomics happen in the order of threads and groups, or in one that a seed shuffles") {
  std::vector<std::uint32_t> in_order(3 * 40);
  std::iota(in_order.begin(), in_order.end(), 0u);
  CHECK(tickets(0) == in_order);
  std::set<std::vector<std::uint32_t>> orders;
  std::set<std::uint32_t> first_groups;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    std::vector<std::uint32_t> found = tickets(seed);
    CHECK(found == tickets(seed));
    orders.insert(found);
    first_groups.insert(static_cast<std::uint32_t>(std::ranges::find(found, 0u) - found.begin()) / 40);
    std::ranges::sort(found);
    CHECK(found == in_order);
  }
  CHECK(orders.size() == 20);
  CHECK(first_groups.size() == 3);
}

TEST_CASE("atomics combine like their ops, and return the previous value") {
  const auto run = [](KernelOp op, std::int64_t initial) {
    MachineBuilder b("atomic");
    b.set_workgroup(4, 1);
    const MemoryHandle x = b.buffer("x", DType::kI64, BufferAccess::kRead);
    const MemoryHandle y = b.buffer("y", DType::kI64, BufferAccess::kWrite);
    const MemoryHandle place = b.workgroup_memory(DType::kI64, 1, "place");
    const MachineValue zero = b.i32(0);
    b.if_else(
        b.eq(b.thread_id(), zero),
        [&] {
          b.store(place, zero, b.i64(initial));
          return Values{};
        },
        [] { return Values{}; });
    b.barrier();
    b.store(y, b.thread_id(), b.atomic(op, place, zero, b.load(x, b.thread_id())));
    b.barrier();
    b.store(y, b.add(b.thread_id(), b.i32(4)), b.load(place, zero));
    std::int64_t values[] = {5, -3, 12, 4}, found[8];
    test::run_interpreted(b.finish(), {values, found});
    return std::vector<std::int64_t>(found, found + 5);
  };
  using Expected = std::vector<std::int64_t>;
  CHECK(run(KernelOp::kAtomicAdd, 100) == Expected{100, 105, 102, 114, 118});
  CHECK(run(KernelOp::kAtomicMin, 4) == Expected{4, 4, -3, -3, -3});
  CHECK(run(KernelOp::kAtomicMax, 4) == Expected{4, 5, 5, 12, 12});
  CHECK(run(KernelOp::kAtomicOr, 16) == Expected{16, 21, -3, -3, -3});
  CHECK(run(KernelOp::kAtomicExchange, 1) == Expected{1, 5, -3, 12, 4});
}

}  // namespace
}  // namespace millrace
