// SPDX-License-Identifier: Apache-2.0
// Steps wait only for steps that touch the same bytes, not for all steps that touch the same value.
#include <algorithm>
#include <functional>
#include <random>

#include <doctest/doctest.h>

#include "millrace/graph/lowered_graph.h"
#include "millrace/graph/program_variant.h"
#include "millrace/hal/device.h"
#include "millrace/hal/sim_device.h"
#include "millrace/jit/target.h"
#include "millrace/millrace.h"
#include "tests/support/byte_bits.h"
#include "tests/support/graphs/reference_graph.h"
#include "tests/support/graphs/run_graph.h"

namespace millrace {
namespace {

struct Part {
  ByteRange bytes;
  bool writes = false;
};

/// Steps that each touch parts of the one output, of 1024 bytes.
Schedule schedule_of(const std::vector<std::vector<Part>>& steps, const SizeExpr& size = 1024) {
  Schedule schedule;
  const ResourceId y =
      schedule.resources.push_back({.name = "y", .lifetime = Lifetime::kExternal, .size_bytes = size, .output = 0});
  for (std::size_t i = 0; i < steps.size(); ++i) {
    KernelInfo info{.name = "step" + std::to_string(i)};
    Step step;
    step.name = info.name;
    for (const Part& part : steps[i]) {
      step.uses.push_back({y, part.writes, part.bytes});
      info.buffer_is_written.push_back(part.writes);
    }
    info.num_buffers = static_cast<std::uint32_t>(step.uses.size());
    PlannedKernel kernel;
    kernel.name = info.name;
    kernel.generator = "none";
    kernel.info = info;
    step.kernel = schedule.kernels.push_back(std::move(kernel));
    schedule.steps.push_back(std::move(step));
  }
  return schedule;
}

std::vector<std::uint32_t> timepoints_of(const std::vector<std::vector<Part>>& steps, const SizeExpr& size = 1024) {
  Schedule schedule = schedule_of(steps, size);
  REQUIRE(place_barriers(schedule).ok());
  std::vector<std::uint32_t> timepoints(steps.size());
  for (const Step& step : schedule.steps) timepoints[index_of(*step.kernel)] = step.timepoint;
  return timepoints;
}

using Timepoints = std::vector<std::uint32_t>;

TEST_CASE("bytes side by side need no barrier, one byte in common does") {
  CHECK(timepoints_of({{{{0, 16}, true}}, {{{16, 16}, true}}}) == Timepoints{0, 0});
  CHECK(timepoints_of({{{{0, 17}, true}}, {{{16, 16}, true}}}) == Timepoints{0, 1});
  CHECK(timepoints_of({{{{0, 16}, true}}, {{{15, 16}, false}}}) == Timepoints{0, 1});
  CHECK(timepoints_of({{{{0, 16}, true}}, {{{32, 16}, true}}, {{{0, 64}, false}}, {{{16, 16}, true}}}) ==
        Timepoints{0, 0, 1, 2});
  CHECK(timepoints_of({{{{0, 16}, true}, {{16, 16}, false}}, {{{16, 16}, true}}}) == Timepoints{0, 1});
  CHECK(timepoints_of({{{{0, 0}, true}}, {{{0, 16}, true}}}) == Timepoints{0, 0});
}

TEST_CASE("bytes whose place a run decides need a barrier unless they can never meet") {
  const SizeExpr n = Dim("n"), m = Dim("m"), size = n * 2 + m;
  CHECK(timepoints_of({{{{0, n}, true}}, {{{n, n}, true}}, {{{n * 2, m}, true}}}, size) == Timepoints{0, 0, 0});
  CHECK(timepoints_of({{{{0, n}, true}}, {{{m, n}, true}}}, size) == Timepoints{0, 1});
  CHECK(timepoints_of({{{{0, n}, true}}, {{{0, 8}, true}}}, size) == Timepoints{0, 1});
  CHECK(timepoints_of({{{{0, 8}, true}}, {{{n + 8, m}, true}}}, size) == Timepoints{0, 0});
}

TEST_CASE("columns of one pitch need no barrier, a column in common does") {
  const auto columns = [](const SizeExpr& pitch, std::int64_t first, std::int64_t count) {
    return ByteRange{first, pitch * 15 + count, {{pitch, count}}};
  };
  const SizeExpr n = Dim("n").at_least(64);
  for (const SizeExpr& pitch : {SizeExpr(64), n}) {
    CAPTURE(pitch.to_text());
    const ByteRange whole{0, pitch * 16};
    const auto of = [&](std::int64_t first, std::int64_t count) { return columns(pitch, first, count); };
    const SizeExpr size = pitch * 16;
    CHECK(timepoints_of({{{of(0, 16), true}}, {{of(16, 16), true}}, {{of(32, 32), true}}}, size) ==
          Timepoints{0, 0, 0});
    CHECK(timepoints_of({{{of(0, 17), true}}, {{of(16, 16), true}}}, size) == Timepoints{0, 1});
    CHECK(timepoints_of({{{of(0, 16), true}}, {{columns(pitch * 2, 16, 16), true}}}, size * 2) == Timepoints{0, 1});
    CHECK(timepoints_of({{{of(0, 16), true}}, {{of(16, 48), true}}, {{whole, false}}, {{of(3, 1), true}}}, size) ==
          Timepoints{0, 0, 1, 2});
    CHECK(timepoints_of({{{whole, true}}, {{of(0, 16), true}}, {{of(16, 1), false}}, {{of(15, 1), false}}}, size) ==
          Timepoints{0, 1, 1, 2});
  }
}

TEST_CASE("random parts: a step that touches bytes which another writes is on the right side of it") {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    CAPTURE(seed);
    std::mt19937_64 random(seed);
    const auto pick = [&](std::int64_t low, std::int64_t high) {
      return std::uniform_int_distribution<std::int64_t>(low, high)(random);
    };
    const bool is_symbolic = seed % 3 == 0;
    const SizeExpr unit = is_symbolic ? SizeExpr(Dim("n").at_least(1)) : SizeExpr(1);
    std::vector<std::vector<Part>> steps = {{{{0, unit * 64}, true}}};
    for (int i = 0; i < 40; ++i) {
      std::vector<Part> parts;
      for (std::int64_t p = pick(1, 2); p > 0; --p) {
        const std::int64_t begin = pick(0, 60);
        ByteRange bytes{unit * begin, unit * pick(0, std::min<std::int64_t>(12, 64 - begin))};
        if (pick(0, 1) == 1) {  // columns of rows of 8 or 16 units
          const std::int64_t pitch = 8 * pick(1, 2), first_row = pick(0, 3), column = pick(0, pitch - 1);
          const std::int64_t row = pick(1, pitch - column), num_rows = pick(1, 64 / pitch - first_row);
          bytes = {
              unit * (first_row * pitch + column), unit * ((num_rows - 1) * pitch + row), {{unit * pitch, unit * row}}};
        }
        parts.push_back({bytes, pick(0, 1) == 1});
      }
      steps.push_back(std::move(parts));
    }
    Schedule schedule = schedule_of(steps, unit * 64);
    REQUIRE(place_barriers(schedule).ok());
    REQUIRE(verify(schedule).message() == "");
    REQUIRE(record_commands(schedule).status().message() == "");  // a second opinion: the commands' own check
    // And a third: byte by byte, with n = 1.
    const SymbolValues one = {{"n", 1}};
    for (const Step& later : schedule.steps) {
      for (const Step& earlier : schedule.steps) {
        if (index_of(*earlier.kernel) >= index_of(*later.kernel)) continue;
        bool meet = false;
        for (const ResourceUse& a : earlier.uses) {
          for (const ResourceUse& b : later.uses) {
            if (!a.is_written && !b.is_written) continue;
            meet |=
                (test::bits_of(schedule.touched_bytes(a), one) & test::bits_of(schedule.touched_bytes(b), one)) != 0;
          }
        }
        if (meet) REQUIRE(earlier.timepoint < later.timepoint);
      }
    }
  }
}

Graph concat_of(std::int64_t count, const Shape& shape, std::int64_t axis) {
  GraphBuilder graph("concat");
  std::vector<Tensor> parts;
  for (std::int64_t i = 0; i < count; ++i) parts.push_back(graph.input("x" + std::to_string(i), DType::kF32, shape));
  graph.output("y", concat(parts, axis));
  return graph.finish().value();
}

std::size_t num_barriers(const Graph& graph, std::string_view target) {
  const LoweredGraph lowered = lower_graph(graph, test::test_context()->target(target).value()).value();
  REQUIRE(verify(lowered.schedule).message() == "");
  return static_cast<std::size_t>(std::ranges::count_if(lowered.commands.commands, [](const Command& command) {
    return std::holds_alternative<BarrierCommand>(command);
  }));
}

TEST_CASE("the parts of a concat along the first axis need no barrier, of any size") {
  for (const std::string_view target : {"cpu:baseline", "sim:gfx1100", "amdgpu:gfx90a"}) {
    CAPTURE(target);
    const Dim n("n"), m("m");
    CHECK(num_barriers(concat_of(1200, {3, 4}, 0), target) == 0);
    CHECK(num_barriers(concat_of(1200, {3, m}, 0), target) == 0);
    CHECK(num_barriers(concat_of(1200, {n, m}, 0), target) == 0);
    CHECK(num_barriers(concat_of(5, {2, n, 7}, 1), target) == 0);  // columns between columns
    CHECK(num_barriers(concat_of(5, {n, m, 7}, 1), target) == 4);  // there may be no rows of them
    CHECK(num_barriers(concat_of(60, {Dim("k").at_least(1), 3}, 1), target) == 0);
  }
}

TEST_CASE("columns whose widths are not known to fit still write all of their rows") {
  const SizeExpr m = Dim("m").at_least(1).at_most(64), some = min(m, 8) * 2;
  GraphBuilder graph("cut");
  const Tensor left = graph.input("left", DType::kF32, {17, m * 2 - some}),
               right = graph.input("right", DType::kF32, {17, some});
  graph.output("y", concat({left, right, left}, 1));
  CHECK(
      verify(lower_graph(graph.finish().value(), test::test_context()->target("cpu:baseline").value()).value().schedule)
          .message() == "");
}

TEST_CASE("parts of values of symbolic size need no barrier, because each has its own slot") {
  const Dim m = Dim("m").at_least(1).at_most(64);
  GraphBuilder builder("parts");
  const Tensor x = builder.input("x", DType::kI64, {m, 2});
  const Tensor square = x * x;
  const Tensor second = reshape(slice(square, {0, 1}, {m, 2}), {m});
  builder.output("y", slice(square, {0, 0}, {m, 1}));
  builder.output("less", less(second, builder.input("bound", DType::kI64, {m})));
  CompileOptions options;
  options.context = test::test_context();
  options.device = "sim:gfx1100";
  const Result<Program> program = compile(builder.finish().value(), options);
  REQUIRE_MESSAGE(program.ok(), program.status().message());
}

TEST_CASE("the simulator finds a kernel that touches more bytes than its dispatch says") {
  CompileOptions options;
  options.context = test::test_context();
  options.device = "sim:gfx1100";
  const Program program = compile(concat_of(3, {2, 4}, 0), options).value();
  CommandList list = *program.variants()[0].commands;
  REQUIRE(list.commands.size() == 3);
  const auto device = options.context->device("sim:gfx1100").value();
  const auto executable = device->load(program.variants()[0].images).value();
  const auto run = [&](const CommandList& commands) {
    const auto recording = device->record(commands, executable).value();
    std::vector<float> x(8, 1.0f), y(24);
    std::vector<BufferBinding> bindings(3, {.data = x.data(), .size_bytes = 32});
    bindings.push_back({.data = y.data(), .size_bytes = 96});
    bindings.resize(commands.bindings.size());
    std::vector<std::int64_t> sizes;
    for (const SizeExpr& size : commands.sizes) sizes.push_back(size.constant());
    return device->submit(*recording, {.bindings = bindings, .sizes = sizes}).message();
  };
  CHECK(run(list) == "");
  auto& dispatch = std::get<DispatchCommand>(list.commands[1]);
  REQUIRE(dispatch.touched.size() == 2);
  dispatch.touched[1].range.length_bytes = list.add_size(31);
  const std::string found = run(list);
  CAPTURE(found);
  CHECK(found.find(" stores bytes [") != std::string::npos);
  CHECK(found.ends_with(", but the dispatch states [32, 63); state everything that the kernel touches"));
  dispatch.touched[1] = dispatch.buffers[1];
  dispatch.touched[1].range.offset_bytes = list.add_size(32);
  dispatch.touched[1].range.length_bytes = list.add_size(32);
  for (const std::int64_t row : {16, 15}) {
    dispatch.touched[1].rows = {{list.add_size(16), list.add_size(row)}};
    const std::string in_rows = run(list);
    CAPTURE(in_rows);
    CHECK(
        in_rows.ends_with(", but the dispatch states [32, 64) by 15 of 16; state everything that the kernel touches") ==
        (row == 15));
  }
}

TEST_CASE("verify refuses a part that is lost, moved, grown, outside or not stated") {
  const Target target = test::test_context()->target("cpu:baseline").value();
  GraphBuilder graph("joined");
  std::vector<Tensor> parts;
  for (int i = 0; i < 4; ++i) parts.push_back(graph.input("x" + std::to_string(i), DType::kF32, {2, 8}));
  graph.output("y", cumulative_sum(concat(parts, 0)));
  const Schedule schedule = lower_graph(graph.finish().value(), target).value().schedule;
  REQUIRE(verify(schedule).message() == "");
  const auto damaged = [&](const std::function<void(Schedule&, ByteRange&)>& damage) {
    Schedule copy = schedule;
    Step& step = copy.steps[StepId{1}];
    REQUIRE(step.timepoint == 0);
    REQUIRE(step.uses[1].touched);
    damage(copy, *step.uses[1].touched);
    return verify(copy).message();
  };
  const std::string name = schedule.steps[StepId{1}].name, before = schedule.steps[StepId{0}].name;
  CHECK(damaged([](Schedule&, ByteRange&) {}) == "");
  CHECK(damaged([](Schedule&, ByteRange& part) {
          part.length_bytes = 32;
        }).find("but earlier steps write only some of them") != std::string::npos);
  CHECK(damaged([](Schedule&, ByteRange& part) {
          part.offset_bytes = part.offset_bytes - 1;
        }).find("put a barrier between them") != std::string::npos);
  CHECK(damaged([](Schedule&, ByteRange& part) {
          part.length_bytes = part.length_bytes + 1;
        }).find("put a barrier between them") != std::string::npos);
  CHECK(damaged([](Schedule&, ByteRange& part) { part = {200, 64}; }).find("touches bytes [200, 264)") !=
        std::string::npos);
  CHECK(damaged([](Schedule&, ByteRange& part) { part = {-1, 64}; }).find("touches bytes [-1, 63)") !=
        std::string::npos);
  CHECK(damaged([](Schedule& copy, ByteRange&) {
          copy.steps[StepId{1}].uses[1].touched.reset();
        }).find("put a barrier between them") != std::string::npos);
}

}  // namespace
}  // namespace millrace
