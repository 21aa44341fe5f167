// SPDX-License-Identifier: Apache-2.0
// Graphs on their way to GPUs: from lower_region on, the target decides.
#include <set>

#include <doctest/doctest.h>

#include "millrace/graph/code_object.h"
#include "millrace/graph/lowered_graph.h"
#include "millrace/jit/code_object.h"
#include "millrace/jit/kernel_compiler.h"
#include "millrace/millrace.h"
#include "tests/support/graphs/run_graph.h"

namespace millrace {
namespace {

/// Elementwise ops, the reductions of a softmax, a contraction, a gather and a pool, with a batch that a run binds.
Graph small_network() {
  GraphBuilder builder("net");
  const Dim rows = Dim("rows").at_least(1).at_most(512);
  Tensor x = builder.input("x", DType::kF32, {rows, 96});
  Tensor weights = builder.input("weights", DType::kF32, {96, 200});
  Tensor ids = builder.input("ids", DType::kI64, {rows});
  Tensor hidden = gelu(dot(x, weights, {.x_contract = {1}, .y_contract = {0}}));
  builder.output("probabilities", softmax(hidden));
  builder.output("rows", gather(weights, ids, 0));
  return builder.finish().value();
}

TEST_CASE("a graph is one code object for each GPU target") {
  for (const GfxTarget& gfx : gfx_targets()) {
    const std::string spec = "amdgpu:" + std::string(gfx.name);
    CAPTURE(spec);
    const Target target = test::test_context()->target(spec).value();
    const auto lowered = lower_graph(small_network(), target);
    REQUIRE(lowered.status().message() == "");
    const auto object = make_code_object(*lowered, target);
    REQUIRE(object.status().message() == "");
    const CodeObjectInfo info = read_code_object(*object).value();
    CHECK(info.target == "amdgcn-amd-amdhsa--" + std::string(gfx.name));
    CHECK(info.undefined_symbols.empty());
    CHECK(info.relocations.empty());
    CHECK(info.other_functions.empty());
    std::set<std::string> expected, found;
    for (const PlannedKernel& kernel : lowered->schedule.kernels) expected.insert(kernel_symbol(kernel));
    for (const CodeObjectKernel& kernel : info.kernels) found.insert(kernel.symbol);
    CHECK(found == expected);
    CHECK(info.kernels.size() == expected.size());
  }
}

/// Polynomials have more constants and masks than a GPU has scalar registers.
Graph f64_chain() {
  GraphBuilder builder("chain");
  builder.output("y", erf(erf(erf(sin(tanh(erf(builder.input("x", DType::kF64, {1000}))))))));
  return builder.finish().value();
}

TEST_CASE("a region that needs more scalar registers than exist is emitted, and takes no memory for it") {
  bool has_spills = false;
  for (const GfxTarget& gfx : gfx_targets()) {
    const Target target = test::test_context()->target("amdgpu:" + std::string(gfx.name)).value();
    const auto object = make_code_object(lower_graph(f64_chain(), target).value(), target);
    REQUIRE(object.status().message() == "");
    const CodeObjectInfo info = read_code_object(*object).value();
    for (const CodeObjectKernel& kernel : info.kernels) {
      has_spills |= kernel.num_scalar_spills > 0;
      CHECK(kernel.num_vector_spills == 0);
      CHECK(kernel.private_bytes == 0);
    }
  }
  CHECK(has_spills);
}

/// Each kind of scatter, of rows and of elements.
Graph scatters() {
  GraphBuilder builder("scatters");
  const Dim rows("rows"), count("count");
  const Tensor x = builder.input("x", DType::kF32, {rows, 33});
  const Tensor ids = builder.input("ids", DType::kI64, {count});
  const Tensor by_row = builder.input("by_row", DType::kF32, {count, 33});
  const Tensor by_column = builder.input("by_column", DType::kF32, {rows, count});
  builder.output("replaced", scatter(x, ids, by_row, 0));
  builder.output("added", scatter_add(x, ids, by_column, 1));
  return builder.finish().value();
}

TEST_CASE("a scatter is code for every GPU target") {
  for (const GfxTarget& gfx : gfx_targets()) {
    const Target target = test::test_context()->target("amdgpu:" + std::string(gfx.name)).value();
    const auto lowered = lower_graph(scatters(), target);
    REQUIRE(lowered.status().message() == "");
    CHECK(make_code_object(*lowered, target).status().message() == "");
  }
}

TEST_CASE("a code object is for a GPU, and holds kernels") {
  const Target cpu = test::test_context()->target("cpu:avx2").value();
  const LoweredGraph lowered = lower_graph(small_network(), cpu).value();
  CHECK(make_code_object(lowered, cpu).status().message() ==
        "code object: target cpu:avx2 is not a GPU; lower the graph for one, such as amdgpu:gfx1100");
  const Target simulated = test::test_context()->target("sim:gfx90a").value();
  CHECK(make_code_object(lower_graph(small_network(), simulated).value(), simulated).status().message() ==
        "code object: target sim:gfx90a interprets kernels; lower the graph for amdgpu:gfx90a");
  const Target gpu = test::test_context()->target("amdgpu:gfx1100").value();
  CHECK(make_code_object(LoweredGraph{}, gpu).status().message() ==
        "code object: the graph has no kernel, so there is nothing to launch");
}

}  // namespace
}  // namespace millrace
