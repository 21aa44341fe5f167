// SPDX-License-Identifier: Apache-2.0
// Mistakes in the schedules of loops and conditions, and in the places of their bodies' memory: verify() refuses each.
#include <functional>

#include <doctest/doctest.h>

#include "millrace/graph/lowered_graph.h"
#include "millrace/millrace.h"

namespace millrace {
namespace {

using Tensors = std::vector<Tensor>;

/// A loop and a condition, with memory between the kernels of their bodies.
Schedule looping() {
  GraphBuilder graph("looping");
  const Tensor x = graph.input("x", DType::kF32, {64});
  const Tensors last = graph.while_loop(
      {x}, [](std::span<const Tensor> s) { return less(reduce_sum(s[0], {0}), 100); },
      [](std::span<const Tensor> s) { return Tensors{cumulative_sum(sort(s[0]).values) + 1}; });
  graph.output("y", graph.if_else(
                        less(reduce_max(last[0], {0}), 5), [&] { return Tensors{sort(last[0]).values}; },
                        [&] { return Tensors{cumulative_sum(sort(last[0]).values)}; })[0]);
  return lower_graph(graph.finish().value(), make_default_context()->target("cpu:avx2").value()).value().schedule;
}

Step& control_step(Schedule& schedule, bool is_loop) {
  for (Step& step : schedule.steps) {
    if (step.control != nullptr && step.control->is_loop == is_loop) return step;
  }
  MILLRACE_CHECK(false);
  return schedule.steps[StepId{0}];
}

/// What verify() says of the loop's step, or the condition's, after a change.
std::string after(bool is_loop, const std::function<void(Step&, StepControl&)>& change) {
  Schedule schedule = looping();
  Step& step = control_step(schedule, is_loop);
  StepControl control = *step.control;
  change(step, control);
  step.control = std::make_shared<const StepControl>(std::move(control));
  return verify(schedule).message();
}

ResourceId find(const Schedule& body, Lifetime lifetime) {
  for (std::uint32_t i = 0; i < body.resources.size(); ++i) {
    if (body.resources[ResourceId{i}].lifetime == lifetime) return ResourceId{i};
  }
  MILLRACE_CHECK(false);
  return {};
}

TEST_CASE("a body that does not exist, or has no place for a value that it uses, is refused") {
  CHECK(verify(looping()).message() == "");
  for (const bool is_loop : {true, false}) {
    CHECK(after(is_loop, [](Step&, StepControl& control) { control.bodies.pop_back(); }).find("bodies and") !=
          std::string::npos);
    CHECK(after(is_loop, [](Step& step, StepControl&) { step.uses.clear(); }).find("and 0 uses") != std::string::npos);
    CHECK(after(is_loop, [](Step&, StepControl& control) {
            control.bodies[0].places.resize(1);
          }).find("expected a place for each") != std::string::npos);
    CHECK(after(is_loop, [](Step&, StepControl& control) {
            control.bodies[0].kernels[KernelIndex{0}] = KernelIndex{99};
          }).find("expected a place for each") != std::string::npos);
    CHECK(after(is_loop, [](Step& step, StepControl& control) {
            for (BodyPlace& place : control.bodies[0].places) place.use = static_cast<std::uint32_t>(step.uses.size());
          }).find("expected a place for each") != std::string::npos);
  }
}

TEST_CASE("a body that writes bytes that its step only reads, or more than its place has, is refused") {
  for (const bool is_loop : {true, false}) {
    const auto use_of = [](StepControl& control, Lifetime lifetime) -> BodyPlace& {
      StepBody& body = control.bodies.back();
      return body.places[find(*body.schedule, lifetime)];
    };
    CHECK(after(is_loop, [&](Step& step, StepControl& control) {
            step.uses[use_of(control, Lifetime::kTransient).use].is_written = false;
          }).find("its body writes ") != std::string::npos);
    CHECK(after(is_loop, [&](Step&, StepControl& control) {
            use_of(control, Lifetime::kTransient).offset_bytes = 1 << 20;
          }).find("expected a range within its place's") != std::string::npos);
  }
}

TEST_CASE("mistakes inside a body are reported with its step") {
  const auto damaged = [](const std::function<void(Schedule&)>& damage) {
    return after(true, [&](Step&, StepControl& control) {
      Schedule body = *control.bodies[0].schedule;
      damage(body);
      control.bodies[0].schedule = std::make_shared<const Schedule>(std::move(body));
    });
  };
  const std::string swapped = damaged([](Schedule& body) {
    std::swap(body.steps[StepId{0}], body.steps[StepId{1}]);
    std::swap(body.steps[StepId{0}].timepoint, body.steps[StepId{1}].timepoint);
  });
  CHECK(swapped.find(": its body: step ") != std::string::npos);
  const std::string early = damaged([](Schedule& body) {
    for (Step& step : body.steps) step.timepoint = 0;
  });
  CHECK(early.find("put a barrier between them") != std::string::npos);
  const std::string dead = damaged([](Schedule& body) {
    Resource& transient = body.resources[find(body, Lifetime::kTransient)];
    transient.last_timepoint = transient.first_timepoint;
    transient.first_timepoint = transient.last_timepoint;
    for (Step& step : body.steps) step.timepoint += 7;
  });
  CHECK(dead.find("extend its life") != std::string::npos);
}

TEST_CASE("a loop that is scheduled before its initial values is refused") {
  Schedule schedule = looping();
  const Step loop = control_step(schedule, true);
  std::size_t at = 0;
  while (schedule.steps[StepId(at)].control == nullptr) ++at;
  for (; at > 0; --at) schedule.steps[StepId(at)] = schedule.steps[StepId(at - 1)];
  schedule.steps[StepId{0}] = loop;
  schedule.steps[StepId{0}].timepoint = 0;
  CHECK(verify(schedule).message().find("step while_") != std::string::npos);
}

}  // namespace
}  // namespace millrace
