// SPDX-License-Identifier: Apache-2.0
// Graphs on a simulated GPU: compiled and run as on any device, while shadow memory checks every access.
#include <array>
#include <numeric>

#include <doctest/doctest.h>

#include "millrace/graph/lowered_graph.h"
#include "millrace/hal/device.h"
#include "millrace/hal/sim_device.h"
#include "millrace/jit/kernel_compiler.h"
#include "millrace/millrace.h"
#include "tests/support/graphs/check_graph.h"
#include "tests/support/graphs/run_graph.h"

namespace millrace {
namespace {

CompileOptions on(const std::string& device) {
  CompileOptions options;
  options.context = test::test_context();
  options.device = device;
  return options;
}

Graph network() {
  GraphBuilder builder("network");
  Tensor x = builder.input("x", DType::kF32, {6, 20}), w = builder.input("w", DType::kF32, {20, 12});
  Tensor y = softmax(gelu(matmul(x, w)));
  builder.output("y", y);
  auto [values, indices] = topk(y, 3);
  builder.output("values", values);
  builder.output("indices", indices);
  builder.output("sums", cumulative_sum(y));
  return builder.finish().value();
}

TEST_CASE("a network's values on simulated GPUs are the oracle's") {
  for (const std::string device : {"sim:gfx1100", "sim:gfx90a"}) {
    CAPTURE(device);
    CHECK(test::check_graph(network(), {}, on(device), 1) == "");
  }
}

TEST_CASE("every kernel on a simulated GPU is interpreted, and none is refused for being a reference") {
  const Program program = compile(network(), on("sim:gfx1100")).value();
  for (const PlannedKernel& kernel : program.lowered().schedule.kernels) CHECK(kernel.generator == "interpreter");
}

TEST_CASE("a device counts the work of the dispatches of the last run") {
  GraphBuilder builder("double");
  builder.output("y", builder.input("x", DType::kF32, {100}) * 2.0);
  const auto device = create_sim_device(TargetSpec::parse("sim:gfx1100").value()).value();
  CompileOptions options = on("");
  options.on_device = device;
  const Program program = compile(builder.finish().value(), options).value();
  Session session = Session::create(program).value();
  std::array<float, 100> x{}, y{};
  std::iota(x.begin(), x.end(), 0.0f);
  for (int run = 0; run < 2; ++run) {
    REQUIRE(session.run(std::array{bind(x)}, std::array{bind(y)}).ok());
    REQUIRE(device->dispatches().size() == 1);
    CHECK(device->dispatches()[0].kernel == "mul_0");
    CHECK(device->dispatches()[0].counts.buffer_bytes_read == sizeof(x));
    CHECK(device->dispatches()[0].counts.buffer_bytes_written == sizeof(y));
  }
  CHECK(y[99] == 198);
}

TEST_CASE("an index out of range is the run's error, as on other devices") {
  GraphBuilder builder("failing");
  Tensor table = builder.input("table", DType::kF32, {4});
  builder.output("y", gather(table, builder.input("index", DType::kI64, {1}), 0));
  Session session = Session::create(compile(builder.finish().value(), on("sim:gfx1100")).value()).value();
  const std::array<float, 4> values{};
  const std::array<std::int64_t, 1> outside{4};
  std::array<float, 1> y{};
  CHECK(session.run(std::array{bind(values), bind(outside)}, std::array{bind(y)}).message() ==
        "run: %2 = gather: index 4 at [0] of operand 1, %index of i64[1], is outside axis 0 of operand 0, %table of "
        "f32[4]; give -4 to 3");
}

/// Compiles as the interpreter, but its kernels store one element further than they should.
class SpoiledCompiler final : public KernelCompiler {
 public:
  std::string_view name() const override { return "spoiled"; }
  std::string version() const override { return "1"; }
  Status supports(const TargetSpec& spec) const override { return interpreter_->supports(spec); }

  Result<PlannedKernel> plan(const Kernel& kernel, const TargetSpec& spec) const override {
    MILLRACE_TRY_ASSIGN(PlannedKernel planned, interpreter_->plan(kernel, spec));
    planned.generator = name();
    auto& machine = std::get<MachineKernel>(planned.mapped);
    for (std::uint32_t block = 0; block < machine.blocks.size(); ++block) move_stores(machine, BlockId{block});
    return planned;
  }
  Result<ExecutableImage> emit(const PlannedKernel& kernel, const TargetSpec& spec) const override {
    return interpreter_->emit(kernel, spec);
  }

 private:
  static void move_stores(MachineKernel& kernel, BlockId block) {
    auto& instructions = kernel.blocks[block].instructions;
    for (std::size_t i = 0; i < instructions.size(); ++i) {
      if (instructions[i].op != KernelOp::kStoreVector && instructions[i].op != KernelOp::kStoreMasked) continue;
      const VectorType type = kernel.types[instructions[i].operands[0]];
      const MachineValueId one = kernel.types.push_back(type), moved = kernel.types.push_back(type);
      const MachineValueId offset = std::exchange(instructions[i].operands[0], moved);
      const MachineInstruction steps[] = {
          {.op = KernelOp::kConstant, .operands = {}, .results = {one}, .immediate = 1, .blocks = {}},
          {.op = KernelOp::kAdd, .operands = {offset, one}, .results = {moved}, .immediate = 0, .blocks = {}}};
      instructions.insert(instructions.begin() + static_cast<std::ptrdiff_t>(i), std::begin(steps), std::end(steps));
      i += 2;
    }
  }

  std::shared_ptr<const KernelCompiler> interpreter_ = make_interpreter_generator();
};

TEST_CASE("a finding fails the run, and names kernel, line, thread and place") {
  auto context = std::make_shared<Context>();
  context->drivers = {sim_driver()};
  context->generators = {std::make_shared<SpoiledCompiler>()};
  CompileOptions options = on("sim:gfx1100");
  options.context = context;
  GraphBuilder builder("double");
  builder.output("y", builder.input("x", DType::kF32, {8}) * 2.0);
  Session session = Session::create(compile(builder.finish().value(), options).value()).value();
  const std::array<float, 8> x{};
  std::array<float, 8> y{};
  const Status status = session.run(std::array{bind(x)}, std::array{bind(y)});
  CHECK(status.code() == StatusCode::kInternal);
  // The line is the mapping's to choose; sim_findings_test compares whole messages.
  CHECK(status.message().starts_with("kernel 'mul_0': line "));
  CHECK(status.message().ends_with("): thread 1 of group 0 stores 4 elements from 5 on of @1 ('y0'), which has 8"));
}

TEST_CASE("an unknown device, or GPU, is named with the known ones") {
  const auto error = [](const std::string& device) {
    GraphBuilder builder;
    builder.output("y", -builder.input("x", DType::kF32, {1}));
    return compile(builder.finish().value(), on(device)).status().message();
  };
  CHECK(error("sim") ==
        "device 'sim': target 'sim': no GPU is named, expected one of: gfx90a, gfx942, gfx1030, gfx1100, "
        "gfx1151, gfx1201; say sim:gfx90a");
  CHECK(error("sim:gfx906") ==
        "device 'sim:gfx906': target 'sim:gfx906': gfx target 'gfx906' is not known, expected one of: gfx90a, gfx942, "
        "gfx1030, gfx1100, gfx1151, gfx1201");
  CHECK(create_sim_device(TargetSpec::parse("amdgpu:gfx942").value()).status().message() ==
        "device 'sim': target is amdgpu:gfx942, expected a simulated GPU; say sim:gfx90a");
}

TEST_CASE("a scatter without updates copies its operand, and executes no more instructions than a copy") {
  const auto device =
      create_sim_device(TargetSpec::parse("sim:gfx1100").value(), {.max_lane_instructions = 20'000}).value();
  for (const bool is_symbolic : {false, true}) {
    CAPTURE(is_symbolic);
    GraphBuilder builder("nothing");
    const Tensor x = builder.input("x", DType::kF32, {5});
    const SizeExpr none = is_symbolic ? SizeExpr(Dim("n").at_most(100)) : SizeExpr(0);
    const Tensor i = builder.input("i", DType::kI64, {4096, 4096, none});
    const Tensor u = builder.input("u", DType::kF32, {4096, 4096, none});
    builder.output("y", scatter(x, i, u, 0));
    CompileOptions options = on("");
    options.on_device = device;
    Session session = Session::create(compile(builder.finish().value(), options).value()).value();
    const std::array<float, 5> in{3, 1, 4, 1, 5};
    std::array<float, 5> out{};
    const std::vector<std::int64_t> indices;
    const std::vector<float> updates;
    const Extents extents{4096, 4096, 0};
    CHECK(session.run({bind(in), bind(indices, extents), bind(updates, extents)}, {bind(out)}).message() == "");
    CHECK(out == in);
  }
}

}  // namespace
}  // namespace millrace
