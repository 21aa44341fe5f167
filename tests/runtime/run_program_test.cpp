// SPDX-License-Identifier: Apache-2.0
// A program without a graph, as one loaded from a file: types, commands, code and constants, assembled by hand.
#include <cstring>

#include <doctest/doctest.h>

#include "graph/run/program_state.h"
#include "millrace/hal/driver.h"
#include "millrace/hal/transfer.h"
#include "tests/hal/list_builder.h"
#include "tests/hal/test_kernels.h"

using namespace millrace;

namespace {

const Dim kRows = Dim("rows").at_most(1000);

/// y = 3 * x over u32[rows], and z = 5 * constants over u32[4], in machine code.
ListBuilder scale_commands() {
  ListBuilder b;
  const SizeExpr bytes = SizeExpr(kRows) * 4;
  const BindingIndex x = b.input("x", bytes), y = b.output("y", bytes), z = b.output("z", 16);
  const BindingIndex constants = b.binding("constants", BindingKind::kConstant, 16);
  b.binding("slab", BindingKind::kTransient, 0);
  const KernelIndex scale = b.kernel(scale_image().info);
  b.dispatch(scale, kRows, {b.range(x, 0, bytes), b.range(y, 0, bytes)}, {3});
  b.dispatch(scale, 4, {b.range(constants, 0, 16), b.range(z, 0, 16)}, {5});
  return b;
}

/// A gather whose every index is wrong.
ListBuilder failing_commands() {
  ListBuilder b;
  const SizeExpr bytes = SizeExpr(kRows) * 4;
  b.input("x", bytes), b.output("y", bytes), b.output("z", 16);
  b.binding("constants", BindingKind::kConstant, 16);
  b.binding("slab", BindingKind::kTransient, 0);
  b.dispatch(b.kernel(fail_index_image().info), 1, {});
  return b;
}

Result<Program> make_program(const CommandList& commands, ExecutableImage image, std::vector<IndexCheck> checks = {}) {
  auto state = std::make_shared<Program::State>();
  const TensorType rows{DType::kI32, Shape{kRows}};
  state->inputs = {{"x", rows}};
  state->outputs = {{"y", rows}, {"z", {DType::kI32, {4}}}};
  state->symbols.symbols = {{kRows, 0, 0}};
  CompileReport report;
  report.constant_bytes = 16;
  RunDiagnostics diagnostics;
  diagnostics.index_checks.resize(commands.num_commands());
  diagnostics.index_checks[CommandId{0}] = std::move(checks);
  ProgramVariant variant{.target = TargetSpec::parse("cpu:baseline").value(),
                         .images = {std::move(image)},
                         .commands = std::make_shared<const CommandList>(commands),
                         .report = std::make_shared<const CompileReport>(report),
                         .diagnostics = std::make_shared<const RunDiagnostics>(std::move(diagnostics)),
                         .lowered = nullptr};
  state->variants = std::make_shared<const std::vector<ProgramVariant>>(1, std::move(variant));
  MILLRACE_TRY_ASSIGN(std::shared_ptr<Device> device, cpu_driver().open(DeviceSpec::parse("cpu:baseline").value()));
  MILLRACE_TRY(state->load(std::move(device)));
  const std::uint32_t constants[] = {1, 2, 3, 4};
  MILLRACE_TRY(state->place_constants(
      [&](const Buffer& to) { return upload(*state->device, to, std::as_bytes(std::span(constants))); }));
  return Program(std::move(state));
}

Status run(const Program& program, std::vector<std::int32_t>& x, std::vector<std::int32_t>& y,
           std::vector<std::int32_t>& z) {
  MILLRACE_TRY_ASSIGN(Session session, Session::create(program));
  const auto rows = static_cast<std::int64_t>(x.size());
  return session.run(std::vector{bind(x, {rows})}, std::vector{bind(y), bind(z)});
}

}  // namespace

TEST_CASE("a program without a graph runs for every size, also on a second device") {
  const Program program = make_program(scale_commands().list, scale_image()).value();
  const Program second = program.on(cpu_driver().open(DeviceSpec::parse("cpu").value()).value()).value();
  for (const Program& each : {program, second}) {
    for (const std::size_t rows : {1u, 7u, 1000u}) {
      std::vector<std::int32_t> x(rows), y(rows), z(4);
      for (std::size_t i = 0; i < rows; ++i) x[i] = static_cast<std::int32_t>(i) + 2;
      REQUIRE(run(each, x, y, z).ok());
      for (std::size_t i = 0; i < rows; ++i) REQUIRE(y[i] == 3 * x[i]);
      CHECK(z == std::vector<std::int32_t>{5, 10, 15, 20});
    }
  }
  CHECK(program.output_types(std::vector<Extents>{{5}}).value()[0].to_text() == "i32[5]");
}

TEST_CASE("its errors name the bindings") {
  const Program program = make_program(scale_commands().list, scale_image()).value();
  std::vector<std::int32_t> x(1001), y(1001), z(4), small(3);
  CHECK(run(program, x, y, z).message() ==
        "run: input 'x': dim 0 is 1001, expected rows in 0..1000; keep the promise, or build "
        "the graph with other facts");
  x.resize(5);
  CHECK(run(program, x, small, z).message() ==
        "run: output 'y' has 12 bytes, expected 20 for i32[5]; bind the whole tensor");
}

TEST_CASE("a wrong index is found where the run bound it, or among the constants") {
  const TensorType from{DType::kF32, {4, 2}};
  IndexCheck check{.node = "%y = gather",
                   .explanation = {},
                   .indices = "%x",
                   .from = "%table",
                   .indices_type = {DType::kI32, Shape{kRows}},
                   .from_type = from,
                   .place = IndexCheck::Place{0}};
  const Program program = make_program(failing_commands().list, fail_index_image(), {check}).value();
  std::vector<std::int32_t> x = {0, 3, -4, 4, 0}, y(5), z(4);
  CHECK(run(program, x, y, z).message() ==
        "run: %y = gather: index 4 at [3] of operand 1, %x of i32[5], is outside axis 0 of operand 0, %table of "
        "f32[4x2]; give -4 to 3");
  check.indices_type = {DType::kI32, {2}};
  check.place = IndexCheck::Place{3, 8, 8};  // the constants' last two: 3, 4
  const Program constant = make_program(failing_commands().list, fail_index_image(), {check}).value();
  CHECK(run(constant, x, y, z).message() ==
        "run: %y = gather: index 4 at [1] of operand 1, %x of i32[2], is outside axis 0 of operand 0, %table of "
        "f32[4x2]; give -4 to 3");
}
