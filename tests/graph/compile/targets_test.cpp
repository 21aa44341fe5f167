// SPDX-License-Identifier: Apache-2.0
// Several targets in one program, each with its code and schedule; a device picks its own.
#include <doctest/doctest.h>

#include "millrace/graph/code_object.h"
#include "millrace/graph/compile_report.h"
#include "millrace/graph/lowered_graph.h"
#include "millrace/graph/program_variant.h"
#include "millrace/hal/device.h"
#include "millrace/jit/code_object.h"
#include "millrace/jit/kernel_compiler.h"
#include "millrace/millrace.h"
#include "tests/hip_standin/standin.h"
#include "tests/support/difference.h"
#include "tests/support/graphs/reference_graph.h"
#include "tests/support/graphs/run_graph.h"
#include "tests/support/random/random_graph.h"
#include "tests/support/sliced.h"

namespace millrace {
namespace {

CompileOptions for_targets(std::vector<std::string> targets, const std::string& device = "cpu:baseline") {
  CompileOptions options;
  options.context = test::test_context();
  options.device = device;
  options.targets = std::move(targets);
  return options;
}

/// A selection, which a GPU makes in two passes, and ops whose results are exact on every target.
Graph selection() {
  GraphBuilder builder("selection");
  const Tensor x = builder.input("x", DType::kF32, {Dim("rows").at_least(1).at_most(8), 9000});
  const auto [values, indices] = topk(x, 20);
  builder.output("values", values);
  builder.output("indices", indices);
  builder.output("maximum", reduce_max(-x, {1}));
  builder.output("sums", cumulative_sum(indices));
  return builder.finish().value();
}

TEST_CASE("one program runs on the device of each of its targets, and its values are the oracle's" * test::Sliced()) {
  const Program program =
      compile(selection(), for_targets({"cpu:baseline", "sim:gfx1100", "sim:gfx90a", "amdgpu:gfx1100"})).value();
  const Graph bound = bind_graph(selection(), {{"rows", 3}});
  const std::vector<reference::Tensor> inputs = test::random_inputs(bound, 1);
  const std::vector<reference::Tensor> expected = evaluate_graph(bound, inputs);
  const HipStandin standin;
  for (const std::string& device :
       {std::string("cpu:baseline"), std::string("sim:gfx1100"), std::string("sim:gfx90a"), HipStandin::spec()}) {
    CAPTURE(device);
    const Program there = program.on(test::test_context()->device(device).value()).value();
    const auto found = test::run_guarded(there, inputs);
    REQUIRE(found.status().message() == "");
    for (std::size_t i = 0; i < expected.size(); ++i) {
      CAPTURE(i);
      CHECK(test::find_difference((*found)[i], expected[i], {}) == "");
    }
  }
}

TEST_CASE("each target has its own kernels, schedule and code, each target once") {
  const Program program =
      compile(selection(), for_targets({"sim:gfx1100", "cpu:baseline", "sim:gfx1100"}, "sim:gfx1100")).value();
  REQUIRE(program.variants().size() == 2);
  const ProgramVariant &gpu = program.variants()[0], &cpu = program.variants()[1];
  CHECK(gpu.target.to_text() == "sim:gfx1100");
  CHECK(cpu.target.to_text() == "cpu:baseline");
  for (const ProgramVariant& variant : program.variants()) {
    REQUIRE(variant.images.size() == variant.lowered->schedule.kernels.size());
    for (const ExecutableImage& image : variant.images) CHECK(image.target == variant.target.plain().to_text());
  }
  CHECK(gpu.lowered->report.num_regions == cpu.lowered->report.num_regions);
  CHECK(gpu.lowered->report.num_dispatches > cpu.lowered->report.num_dispatches);
  CHECK(&program.lowered() == gpu.lowered.get());
  CHECK(program.report().num_dispatches == gpu.lowered->report.num_dispatches);
  const Program there = program.on(test::test_context()->device("cpu:baseline").value()).value();
  CHECK(&there.lowered() == cpu.lowered.get());
  CHECK(there.report().num_dispatches == cpu.lowered->report.num_dispatches);
}

TEST_CASE("without a list a program is for its device") {
  const Program program = compile(selection(), for_targets({})).value();
  REQUIRE(program.variants().size() == 1);
  CHECK(program.variants()[0].target.to_text() == "cpu:baseline");
}

TEST_CASE("a device runs the variant whose target covers the others that it supports") {
  const auto runs = [](const std::vector<std::string>& targets, const std::string& device) {
    const Program program = compile(selection(), for_targets(targets, device)).value();
    for (const ProgramVariant& variant : program.variants()) {
      if (variant.lowered.get() == &program.lowered()) return variant.target.to_text();
    }
    return std::string("none");
  };
  for (const std::string device : {"cpu:baseline", "cpu:baseline,tune=intel"}) {
    CHECK(runs({"cpu:baseline", "cpu:baseline,tune=intel"}, device) == device);
    CHECK(runs({"cpu:baseline,tune=intel", "cpu:baseline"}, device) == device);
  }
  CHECK(runs({"cpu:baseline"}, "cpu:baseline,tune=intel") == "cpu:baseline");
  if (host_isa_levels().size() > 1) {
    CHECK(runs({"cpu:baseline", "cpu:avx2"}, "cpu:avx2") == "cpu:avx2");
    CHECK(runs({"cpu:avx2", "cpu:baseline"}, "cpu:avx2") == "cpu:avx2");
    CHECK(runs({"cpu:baseline", "cpu:avx2"}, "cpu:baseline") == "cpu:baseline");
  }
  if (!host_cpu_features().vbmi2) {
    MESSAGE("left out: this machine has no VBMI2");
    return;
  }
  CHECK(runs({"cpu:avx2", "cpu:avx512+vbmi2"}, "cpu") == "cpu:avx512+vbmi2");
  CHECK(runs({"cpu:avx512+vbmi2", "cpu:avx512"}, "cpu") == "cpu:avx512+vbmi2");
  CHECK(runs({"cpu:avx512", "cpu:avx512+vbmi2"}, "cpu") == "cpu:avx512+vbmi2");
  CHECK(runs({"cpu:avx2", "cpu:avx512+vbmi2"}, "cpu:avx2") == "cpu:avx2");
}

TEST_CASE("the kernels of a GPU's variant are one code object") {
  const Program program =
      compile(selection(), for_targets({"cpu:baseline", "amdgpu:gfx90a", "amdgpu:gfx1100"})).value();
  for (const ProgramVariant& variant : program.variants().subspan(1)) {
    const CodeObjectInfo info = read_code_object(make_code_object(variant).value()).value();
    CHECK(info.target == "amdgcn-amd-amdhsa--" + variant.target.gfx);
    CHECK(info.undefined_symbols.empty());
    for (const PlannedKernel& kernel : variant.lowered->schedule.kernels) {
      CHECK(check_code_object(info, kernel, variant.target).ok());
    }
  }
  CHECK(make_code_object(program.variants()[0]).status().message() ==
        "code object: target cpu:baseline is not a GPU; lower the graph for one, such as amdgpu:gfx1100");
}

TEST_CASE("a device that a program has no variant for is refused, with the targets that it has") {
  const Program program = compile(selection(), for_targets({"cpu:baseline", "sim:gfx1100"})).value();
  const auto error = [&](std::shared_ptr<Device> device) { return program.on(std::move(device)).status().message(); };
  CHECK(error(test::test_context()->device("sim:gfx90a").value()) ==
        "device 'sim:gfx90a' runs sim:gfx90a, and the program is for cpu:baseline, sim:gfx1100; add a target of the "
        "device to CompileOptions::targets, or use another device");
  CHECK(error(nullptr) == "program: the device is null; give one");
  CHECK(Program(nullptr).on(test::test_context()->device("cpu").value()).status().message() ==
        "program: empty, expected a program that compile() returned");
}

TEST_CASE("a target that cannot be compiled for is refused, whichever it is") {
  const auto error = [](const CompileOptions& options) { return compile(selection(), options).status().message(); };
  CHECK(error(for_targets({"sim:gfx1100"})) ==
        "device 'cpu' runs cpu:baseline, and the program is for sim:gfx1100; add a target of the device to "
        "CompileOptions::targets, or use another device");
  CHECK(error(for_targets({"cpu:baseline", "sim:gfx906"})) ==
        "device 'sim:gfx906': target 'sim:gfx906': gfx target 'gfx906' is not known, expected one of: gfx90a, "
        "gfx942, gfx1030, gfx1100, gfx1151, gfx1201");
}

TEST_CASE("if one target lacks a kernel, the error names it, the node, and the reason of each algorithm") {
  GraphBuilder builder("order");
  builder.output("largest", sort(builder.input("x", DType::kF32, {5000}), -1, /*descending=*/true).values);
  const Graph graph = builder.finish().value();
  CompileOptions options = for_targets({"cpu:baseline", "amdgpu:gfx1100"});
  options.lowering.force_algorithm = "merge_sort";
  CHECK(compile(graph, options).status().message() ==
        "region sort_0 (%1 = sort): lower 'sort_0' for amdgpu:gfx1100: no algorithm lowers it; merge_sort: serves "
        "CPUs, not amdgpu:gfx1100");
  options.lowering.force_algorithm = "gpu_tile_sort";
  options.targets = {"cpu:baseline"};
  CHECK(
      compile(graph, options).status().message() ==
      "region sort_0 (%1 = sort): lower 'sort_0' for cpu:baseline: no algorithm lowers it; gpu_tile_sort: serves GPUs, "
      "not cpu:baseline");
  options.lowering.force_algorithm = "";
  options.lowering.compile.force_generator = "llvm";
  options.targets = {"cpu:baseline", "sim:gfx1100"};
  const std::string message = compile(graph, options).status().message();
  CHECK(message.starts_with("region sort_0 (%1 = sort): lower 'sort_0' for sim:gfx1100: no algorithm lowers it; "));
  for (const char* algorithm : {"gpu_topk_lanes: ", "gpu_tile_sort: ", "gpu_topk_parts: ", "gpu_radix_sort: "}) {
    CHECK(message.find(algorithm) != std::string::npos);
  }
}

TEST_CASE("a region without kernels for a target is found before anything is scheduled") {
  const auto context = test::test_context();
  const Target cpu = context->target("cpu:baseline").value(), gpu = context->target("sim:gfx90a").value();
  LoweredGraph lowered = lower_graph(selection(), cpu).value();
  CHECK(verify(lowered.dispatch, lowered.sequences, cpu).ok());
  lowered.sequences.pop_back();
  const std::string last = lowered.dispatch.regions[RegionId(lowered.dispatch.regions.size() - 1)].name;
  CHECK(verify(lowered.dispatch, lowered.sequences, cpu).message() ==
        "region " + last + " (%4 = cumulative_sum): has no kernel for cpu:baseline");
  lowered = lower_graph(selection(), cpu).value();
  lowered.sequences.resize(1);
  const std::string message = verify(lowered.dispatch, lowered.sequences, gpu).message();
  CHECK(
      message.starts_with("region topk_0 (%1 = topk): kernel 'topk_0' is planned by 'llvm', which does "
                          "not serve sim:gfx90a\n"));
  CHECK(lower_graph(selection(), std::span<const Target>()).status().message() ==
        "lower: no target given, expected one or more");
}

TEST_CASE("compile() counts the kernels of all targets") {
  CompileOptions options = for_targets({"cpu:baseline", "sim:gfx1100"});
  std::size_t expected = 0, num_kernels = 0;
  options.progress = [&](const CompileProgress& progress) {
    CHECK(progress.kernel == expected++);
    num_kernels = progress.num_kernels;
  };
  const Program program = compile(selection(), options).value();
  CHECK(expected == num_kernels);
  CHECK(num_kernels == program.variants()[0].images.size() + program.variants()[1].images.size());
}

}  // namespace
}  // namespace millrace
