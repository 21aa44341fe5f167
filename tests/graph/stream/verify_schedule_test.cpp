// SPDX-License-Identifier: Apache-2.0
// A damaged schedule is refused, whatever the damage: the verifier trusts no pass.
#include <algorithm>
#include <functional>

#include <doctest/doctest.h>

#include "millrace/graph/lowered_graph.h"
#include "millrace/jit/kernel_compiler.h"
#include "millrace/millrace.h"
#include "tests/support/graphs/run_graph.h"

namespace millrace {
namespace {

/// Branches that meet, values that live long, a sort with scratch.
Graph branches(const SizeExpr& n) {
  GraphBuilder builder("branches");
  const Tensor x = builder.input("x", DType::kF32, {n, 64});
  const Tensor early = softmax(x), other = cumulative_sum(x * 2.0);
  Tensor sum = sort(early).values;
  for (int i = 0; i < 3; ++i) sum = softmax(cumulative_sum(sum) + other);
  builder.output("y", sum + early);
  builder.output("z", reduce_sum(other, {0}));
  return builder.finish().value();
}

Schedule schedule_of(const SizeExpr& n) {
  const Target target = test::test_context()->target("cpu:baseline").value();
  return lower_graph(branches(n), target).value().schedule;
}

std::vector<ResourceId> transients_of(const Schedule& schedule) {
  std::vector<ResourceId> found;
  for (std::uint32_t i = 0; i < schedule.resources.size(); ++i) {
    if (schedule.resources[ResourceId{i}].lifetime == Lifetime::kTransient) found.push_back(ResourceId{i});
  }
  return found;
}

bool live_together(const Resource& a, const Resource& b) {
  return a.first_timepoint <= b.last_timepoint && b.first_timepoint <= a.last_timepoint;
}

void on_schedules(const std::function<void(const Schedule&)>& test) {
  for (const SizeExpr& n : {SizeExpr(100), SizeExpr(Dim("n").at_least(1).at_most(4096))}) {
    CAPTURE(n.to_text());
    const Schedule schedule = schedule_of(n);
    REQUIRE(transients_of(schedule).size() > 4);
    REQUIRE(verify(schedule).message() == "");
    test(schedule);
  }
}

TEST_CASE("transients that live together and get one place are refused") {
  on_schedules([](const Schedule& schedule) {
    int tried = 0;
    for (const ResourceId a : transients_of(schedule)) {
      for (const ResourceId b : transients_of(schedule)) {
        if (a == b || !live_together(schedule.resources[a], schedule.resources[b])) continue;
        Schedule damaged = schedule;
        damaged.resources[b].offset_bytes = damaged.resources[a].offset_bytes;
        CHECK_FALSE(verify(damaged).ok());
        ++tried;
      }
    }
    CHECK(tried > 4);
  });
}

TEST_CASE("a life that ends before the last use, or begins after the first, is refused") {
  on_schedules([](const Schedule& schedule) {
    for (const ResourceId id : transients_of(schedule)) {
      Schedule damaged = schedule;
      Resource& resource = damaged.resources[id];
      REQUIRE(resource.first_timepoint < resource.last_timepoint);
      --resource.last_timepoint;
      CHECK(verify(damaged).message().find("; extend its life") != std::string::npos);
      resource = schedule.resources[id];
      ++resource.first_timepoint;
      CHECK(verify(damaged).message().find("; extend its life") != std::string::npos);
    }
  });
}

TEST_CASE("a barrier that is dropped is refused") {
  on_schedules([](const Schedule& schedule) {
    const std::uint32_t last = std::ranges::max(schedule.steps, {}, &Step::timepoint).timepoint;
    REQUIRE(last > 4);
    for (std::uint32_t barrier = 1; barrier <= last; ++barrier) {
      Schedule damaged = schedule;
      const auto drop = [&](std::uint32_t& timepoint) { timepoint -= timepoint >= barrier ? 1 : 0; };
      for (Step& step : damaged.steps) drop(step.timepoint);
      for (Resource& resource : damaged.resources) {
        drop(resource.first_timepoint);
        drop(resource.last_timepoint);
      }
      CHECK(verify(damaged).message().find("; put a barrier between them") != std::string::npos);
    }
  });
}

TEST_CASE("steps that change places are refused") {
  on_schedules([](const Schedule& schedule) {
    for (std::uint32_t i = 1; i < schedule.steps.size(); ++i) {
      const StepId first{i - 1}, second{i};
      if (schedule.steps[first].timepoint == schedule.steps[second].timepoint) continue;
      Schedule damaged = schedule;
      std::swap(damaged.steps[first], damaged.steps[second]);
      CHECK(verify(damaged).message().find("; order steps by timepoint") != std::string::npos);
      std::swap(damaged.steps[first].timepoint, damaged.steps[second].timepoint);
      CHECK_FALSE(verify(damaged).ok());
    }
  });
}

TEST_CASE("a slab that is too small is refused, and so is a slot that is smaller than its transient") {
  on_schedules([](const Schedule& schedule) {
    Schedule damaged = schedule;
    damaged.slab_bytes = damaged.slab_bytes - 64;
    CHECK_FALSE(verify(damaged).ok());
    for (const ResourceId id : transients_of(schedule)) {
      if (!schedule.resources[id].reserved_bytes.is_constant()) continue;
      damaged = schedule;
      damaged.resources[id].reserved_bytes = damaged.resources[id].reserved_bytes - 1;
      CHECK(verify(damaged).message().find("; reserve that many") != std::string::npos);
    }
  });
}

TEST_CASE("a read of an unwritten value names the step and the value") {
  Schedule schedule = schedule_of(100);
  Step& first = *schedule.steps.begin();
  REQUIRE(first.uses.back().is_written);
  const std::string value = schedule.resources[first.uses.back().resource].name;
  first.uses.back().is_written = false;
  CHECK(verify(schedule).message().find("step " + first.name + ": reads " + value +
                                        ", which no earlier step writes; write it first") != std::string::npos);
}

TEST_CASE("a step that reads an empty value may run before the one that writes it") {
  GraphBuilder builder("empty");
  const Tensor greatest = reduce_max(builder.input("x", DType::kF32, {0}), {0}, true);
  const Tensor empty = broadcast_to(greatest, {0});
  builder.output("greatest", greatest);
  builder.output("empty", empty);
  builder.output("product", matmul(reshape(empty, {1, 0}), builder.input("w", DType::kF32, {0, 1})));
  const Target target = test::test_context()->target("sim:gfx1100").value();
  Schedule schedule = lower_graph(builder.finish().value(), target).value().schedule;
  CHECK(verify(schedule).message() == "");
  for (Resource& resource : schedule.resources) {
    if (resource.name == "empty") resource.size_bytes = 4;
  }
  CHECK(verify(schedule).message().find("reads empty, which no earlier step writes") != std::string::npos);
}

}  // namespace
}  // namespace millrace
