// SPDX-License-Identifier: Apache-2.0
// Schedules made by hand: barriers are where a hazard needs one and nowhere else, and a broken schedule is refused.
#include "millrace/graph/schedule.h"

#include <doctest/doctest.h>

#include "tests/support/golden.h"

namespace millrace {
namespace {

/// Builds a schedule of kernels that read and write whole resources of 64 bytes.
class HandMade {
 public:
  ResourceId transient(std::string name) {
    return schedule.resources.push_back({std::move(name), Lifetime::kTransient, 64});
  }
  ResourceId input(std::string name, std::uint32_t number) {
    return schedule.resources.push_back(
        {.name = std::move(name), .lifetime = Lifetime::kExternal, .size_bytes = 64, .input = number});
  }
  ResourceId output(std::string name, std::uint32_t number) {
    return schedule.resources.push_back(
        {.name = std::move(name), .lifetime = Lifetime::kExternal, .size_bytes = 64, .output = number});
  }
  ResourceId constant(std::string name, std::size_t bytes) {
    return schedule.resources.push_back({.name = std::move(name),
                                         .lifetime = Lifetime::kConstant,
                                         .size_bytes = static_cast<std::int64_t>(bytes),
                                         .constant = std::vector<std::byte>(bytes)});
  }

  void step(std::string name, const std::vector<ResourceId>& reads, const std::vector<ResourceId>& writes) {
    KernelInfo info{.name = name};
    Step step{.name = std::move(name), .kernel = {}, .region = {}, .sizes = {}, .uses = {}};
    const auto add = [&](ResourceId id, bool writes_it) {
      step.uses.push_back({id, writes_it});
      info.buffer_is_written.push_back(writes_it);
    };
    for (ResourceId id : reads) add(id, false);
    for (ResourceId id : writes) add(id, true);
    info.num_buffers = static_cast<std::uint32_t>(step.uses.size());
    step.kernel = schedule.kernels.push_back({.name = info.name,
                                              .generator = "none",
                                              .mapped = {},
                                              .sizes = {},
                                              .memory = {},
                                              .info = info,
                                              .key_text = {}});
    schedule.steps.push_back(std::move(step));
  }
  void copy(ResourceId from, ResourceId to) {
    schedule.steps.push_back(
        {.name = "copy", .kernel = {}, .region = {}, .sizes = {}, .uses = {{from, false}, {to, true}}});
  }

  /// "0:a 0:b 1:c": each step's timepoint, in the order in which they stand.
  std::string timepoints() {
    REQUIRE(place_barriers(schedule).ok());
    std::string text;
    for (const Step& step : schedule.steps) {
      text += (text.empty() ? "" : " ") + std::to_string(step.timepoint) + ":" + step.name;
    }
    return text;
  }

  Schedule schedule;
};

TEST_CASE("a read after a write needs a barrier") {
  HandMade made;
  const ResourceId x = made.input("x", 0), t = made.transient("t"), y = made.output("y", 0);
  made.step("write", {x}, {t});
  made.step("read", {t}, {y});
  CHECK(made.timepoints() == "0:write 1:read");
}

TEST_CASE("a write after a read needs a barrier") {
  HandMade made;
  const ResourceId t = made.transient("t"), y = made.output("y", 0);
  made.step("read", {t}, {y});
  made.step("write", {}, {t});
  CHECK(made.timepoints() == "0:read 1:write");
}

TEST_CASE("a write after a write needs a barrier") {
  HandMade made;
  const ResourceId t = made.transient("t");
  made.step("write", {}, {t});
  made.step("again", {}, {t});
  CHECK(made.timepoints() == "0:write 1:again");
}

TEST_CASE("a read after a read needs none") {
  HandMade made;
  const ResourceId x = made.input("x", 0), y = made.output("y", 0), z = made.output("z", 1);
  made.step("one", {x}, {y});
  made.step("two", {x}, {z});
  CHECK(made.timepoints() == "0:one 0:two");
}

TEST_CASE("independent chains share timepoints, and a join waits for the later one") {
  HandMade made;
  const ResourceId x = made.input("x", 0), y = made.output("y", 0);
  const ResourceId a = made.transient("a"), a2 = made.transient("a2"), b = made.transient("b");
  made.step("a", {x}, {a});
  made.step("a2", {a}, {a2});
  made.step("b", {x}, {b});
  made.step("join", {a2, b}, {y});
  CHECK(made.timepoints() == "0:a 0:b 1:a2 2:join");
}

TEST_CASE("a reader that comes later than others is waited for, too") {
  HandMade made;
  const ResourceId x = made.input("x", 0), t = made.transient("t"), u = made.transient("u");
  const ResourceId y = made.output("y", 0), z = made.output("z", 1);
  made.step("fill_u", {x}, {u});
  made.step("late", {t, u}, {y});  // at 1, for u
  made.step("early", {t}, {z});    // at 0
  made.step("write", {}, {t});     // after both
  CHECK(made.timepoints() == "0:fill_u 0:early 1:late 2:write");
}

TEST_CASE("steps and copies become commands with a barrier between timepoints, and validate") {
  HandMade made;
  const ResourceId x = made.input("x", 0), w = made.constant("w", 100), t = made.transient("t");
  const ResourceId z = made.output("z", 1), y = made.output("y", 0);
  made.step("first", {x, w}, {t});
  made.copy(x, z);
  made.step("second", {t}, {y});
  REQUIRE(place_barriers(made.schedule).ok());
  REQUIRE(pack_transients(made.schedule).ok());
  REQUIRE(verify(made.schedule).message() == "");
  CHECK(made.schedule.constant_bytes == 128);
  const CommandList list = record_commands(made.schedule).value();
  CHECK(test::golden_problem("schedule_commands.txt", to_text(list)) == "");
}

TEST_CASE("the commands of a schedule without the barrier that it needs are refused") {
  HandMade made;
  const ResourceId x = made.input("x", 0), t = made.transient("t"), y = made.output("y", 0);
  made.step("write", {x}, {t});
  made.step("read", {t}, {y});
  REQUIRE(pack_transients(made.schedule).ok());
  const Result<CommandList> list = record_commands(made.schedule);  // validated with assertions alone
  const Status status = list.ok() ? validate(*list) : list.status();
  CHECK(status.message() ==
        "command 1 (dispatch 'read') buffer 0: reads transient 'slab' at [0, 64), which command 0 (dispatch 'write') "
        "buffer 1 writes at [0, 64); put a barrier between them");
}

TEST_CASE("verify names the step and each mistake, one per line") {
  HandMade made;
  const ResourceId x = made.input("x", 0), w = made.constant("w", 64), y = made.output("y", 0);
  made.step("to_input", {w}, {x});
  made.step("to_constant", {x}, {w});
  made.step("nowhere", {x}, {y});
  made.step("unknown", {x}, {y});
  made.step("short", {x}, {y});
  made.copy(x, y);
  IdVector<StepId, Step>& steps = made.schedule.steps;
  steps[StepId{2}].uses[1].resource = ResourceId{9};
  steps[StepId{3}].kernel = KernelIndex{7};
  steps[StepId{4}].sizes = {4};
  steps[StepId{5}].uses.pop_back();
  CHECK(verify(made.schedule).message() ==
        "step to_input: writes x, which is external and only read; write a transient, a variable or an output\n"
        "step to_constant: writes w, which is constant and only read; write a transient, a variable or an output\n"
        "step nowhere: uses resource 9, expected less than 3; name a resource of the schedule\n"
        "step unknown: kernel 7, expected less than 5; name a kernel of the schedule\n"
        "step short: 2 buffers and 1 sizes, expected 2 and 0; pass what the kernel takes\n"
        "step copy: a copy that uses 1 resources, expected 2; name source and destination");
  CHECK(verify(made.schedule).code() == StatusCode::kInternal);
}

TEST_CASE("scratch that is written twice keeps the order of its readers") {
  HandMade made;
  const ResourceId x = made.input("x", 0), t = made.transient("t"), y = made.output("y", 0), z = made.output("z", 1);
  made.step("first", {x}, {t});
  made.step("read_first", {t}, {y});
  made.step("second", {x}, {t});
  made.step("read_second", {t}, {z});
  IdVector<StepId, Step>& steps = made.schedule.steps;
  for (std::uint32_t i = 0; i < steps.size(); ++i) steps[StepId{i}].number = i;
  CHECK(made.timepoints() == "0:first 1:read_first 2:second 3:read_second");
  REQUIRE(pack_transients(made.schedule).ok());
  REQUIRE(verify(made.schedule).message() == "");
  std::swap(steps[StepId{0}], steps[StepId{2}]);
  std::swap(steps[StepId{0}].timepoint, steps[StepId{2}].timepoint);
  CHECK(verify(made.schedule).message() ==
        "step first: comes after second, which is later in the graph and writes the same bytes of t; keep their "
        "order");
}

TEST_CASE("verify names parts that do not exist or lie outside, and outputs that are not written") {
  HandMade made;
  const ResourceId x = made.input("x", 0), y = made.output("y", 0);
  made.step("low", {x}, {y});
  made.step("high", {x}, {y});
  IdVector<PartId, ResourcePart>& parts = made.schedule.parts;
  parts.push_back({"%a", y, {}, {0, 32}});
  parts.push_back({"%b", y, {}, {32, 32}});
  for (std::uint32_t i = 0; i < 2; ++i) made.schedule.steps[StepId{i}].uses[1].part = PartId{i};
  CHECK(made.timepoints() == "0:low 0:high");
  const auto damaged = [&](const ResourcePart& a, const ResourcePart& b) {
    Schedule copy = made.schedule;
    copy.parts[PartId{0}] = a;
    copy.parts[PartId{1}] = b;
    return verify(copy).message();
  };
  const ResourcePart a = parts[PartId{0}], b = parts[PartId{1}];
  CHECK(damaged(a, b) == "");
  CHECK(damaged({"%a", y, {}, {0, 28}}, b) == "output y: steps write only some of its 64 bytes; write all of them");
  CHECK(damaged({"%a", y, {}, {0, 36}}, b) ==
        "step high: overlaps low, which writes y at the same timepoint @0; put a barrier between them");
  CHECK(damaged(a, {"%b", y, {}, {36, 32}}) ==
        "part %b: is bytes [36, 68) of y, expected a range within its 64 bytes\n"
        "step high: touches bytes [36, 68) of y, expected a range within its 64 bytes");
  CHECK(damaged(a, {"%b", x, {}, {32, 32}}) ==
        "step high: uses part 1, which is not a part of y; name one of its parts");
  CHECK(damaged({"%a", y, PartId{1}, {0, 32}}, b) ==
        "part %a: is in resource 1 or part 1, expected an earlier part of a resource of the schedule");
}

}  // namespace
}  // namespace millrace
