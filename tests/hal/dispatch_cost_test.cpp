// SPDX-License-Identifier: Apache-2.0
#include "hal/cpu/dispatch_cost.h"

#include <doctest/doctest.h>

namespace millrace {
namespace {

std::uint32_t workers_of(const DispatchCost& cost, std::uint32_t groups, std::uint64_t bytes, std::uint32_t concurrency,
                         std::uint32_t num_awake, double wake_ns = 10'000) {
  return DispatchCost::num_workers(cost.ns_per_group(groups, bytes) * groups, groups, concurrency, num_awake, wake_ns);
}

/// How many workers a dispatch gets whose last run took `ns` on one thread.
std::uint32_t workers_for(double ns, std::uint32_t concurrency, std::uint32_t num_awake, std::uint32_t groups = 100,
                          double wake_ns = 10'000) {
  DispatchCost cost;
  cost.begin_run(1000);
  cost.measured(ns, groups);
  return workers_of(cost, groups, 1000, concurrency, num_awake, wake_ns);
}

}  // namespace

TEST_CASE("cost: small work is inline, and a sleeping thread is woken for more than one that is awake") {
  CHECK(workers_for(0, 8, 7) == 1);
  CHECK(workers_for(3'900, 8, 7) == 1);
  CHECK(workers_for(4'100, 8, 7) == 2);
  CHECK(workers_for(4'100, 8, 0) == 1);
  CHECK(workers_for(19'000, 8, 0) == 1);
  CHECK(workers_for(21'000, 8, 0) == 2);
}

TEST_CASE("cost: if the system takes longer to wake a thread, only larger work wakes it") {
  CHECK(workers_for(79'000, 8, 0, 100, 40'000) == 1);
  CHECK(workers_for(81'000, 8, 0, 100, 40'000) == 2);
  CHECK(workers_for(79'000, 8, 1, 100, 40'000) == 2);
  CHECK(workers_for(3'900, 8, 0, 100, 0) == 1);  // never for less than a thread that is awake
}

TEST_CASE("cost: threads that are awake take shares that are too small to wake others for") {
  CHECK(workers_for(41'000, 16, 0) == 4);
  CHECK(workers_for(41'000, 16, 15) == 16);
  CHECK(workers_for(41'000, 16, 5) == 6);
}

TEST_CASE("cost: there are never more workers than groups or threads, and always one") {
  CHECK(workers_for(1e9, 8, 0) == 8);
  CHECK(workers_for(1e9, 8, 7, 3) == 3);
  CHECK(workers_for(1e30, 8, 7) == 8);
  CHECK(workers_for(1e9, 1, 0) == 1);
}

TEST_CASE("cost: a dispatch that was not measured is estimated from its bytes") {
  DispatchCost cost;
  CHECK(cost.begin_run(1 << 20));
  CHECK(workers_of(cost, 100, 1 << 20, 2, 0) == 2);
  CHECK(workers_of(cost, 100, 100'000, 2, 0) == 1);
  cost.measured(100, 100);
  CHECK(workers_of(cost, 100, 1 << 20, 2, 0) == 1);
}

TEST_CASE("cost: one disturbed measurement does not make small work large, but many that agree do") {
  DispatchCost cost;
  cost.begin_run(8);
  cost.measured(1000, 100);
  cost.measured(1e6, 100);
  CHECK(workers_of(cost, 100, 8, 2, 1) == 1);
  cost.measured(1000, 100);
  CHECK(workers_of(cost, 100, 8, 2, 1) == 1);
  for (int i = 0; i < 4; ++i) cost.measured(1e6, 100);
  CHECK(workers_of(cost, 100, 8, 2, 1) == 2);
  cost.measured(1000, 100);
  CHECK(workers_of(cost, 100, 8, 2, 1) == 1);
  cost.measured(0, 100);
  for (int i = 0; i < 30; ++i) cost.measured(1e6, 100);
  CHECK(workers_of(cost, 100, 8, 2, 1) == 2);
}

TEST_CASE("cost: a run is known to be small if it was measured at these sizes, and is not due to be measured again") {
  DispatchCost cost;
  CHECK_FALSE(cost.is_known_small(10, 8));
  int small = 0, measured = 0;
  for (int run = 0; run < 630; ++run) {
    if (cost.is_known_small(10, 8)) {
      ++small;
    } else {
      CHECK(cost.begin_run(8));
      ++measured;
      cost.measured(3000, 10);
    }
  }
  CHECK(measured == 13);  // the first four, and every 64th
  CHECK(small == 617);
  CHECK_FALSE(cost.is_known_small(14, 8));  // 4.2 us
  CHECK(cost.is_known_small(13, 8));
  CHECK_FALSE(cost.is_known_small(10, 16));
}

TEST_CASE("cost: it is measured at the first runs, now and then, and when sizes have changed") {
  DispatchCost cost;
  int measured = 0;
  for (int run = 0; run < 4; ++run) CHECK(cost.begin_run(8));
  for (int run = 4; run < 640; ++run) measured += cost.begin_run(8) ? 1 : 0;
  CHECK(measured == 9);
  cost.measured(1e9, 1);
  CHECK(cost.begin_run(16));
  CHECK(workers_of(cost, 2, 16, 2, 0) == 1);  // the measurements are forgotten
}

}  // namespace millrace
