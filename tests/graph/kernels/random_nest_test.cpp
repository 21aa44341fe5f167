// SPDX-License-Identifier: Apache-2.0
// Random loop nests of an application, alone and with elementwise nodes around them: CPUs, and executed GPU code for
// one in ten, against the nests' definition; and the round trip of their text.
#include "tests/graph/kernels/random_nest.h"

#include <algorithm>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "millrace/jit/scalar.h"
#include "millrace/millrace.h"
#include "tests/support/graphs/run_graph.h"
#include "tests/support/sliced.h"

namespace millrace {
namespace {

using test::RandomNest;
using testing::Array;

constexpr std::uint32_t kNumSeeds = 10'000;

/// x + 1 of each element of an f32 array.
Array plus_one(Array array) {
  std::vector<float> values = array.elements<float>();
  for (float& value : values) value += 1;
  return Array::of<float>(array.type.shape, values);
}

/// A graph with the nest; with `around`, elementwise nodes add 1 to its operands and its results of f32.
Graph graph_of(const RandomNest& nest, bool around) {
  GraphBuilder graph("random");
  std::vector<Tensor> inputs;
  for (const KernelTensor& operand : nest.kernel.operands) {
    const Tensor input = graph.input(operand.name, operand.type.dtype, operand.type.shape);
    inputs.push_back(around && operand.type.dtype == DType::kF32 ? input + 1.0 : input);
  }
  const KernelResults results = graph.kernel(nest.kernel, inputs);
  for (std::size_t i = 0; i < results.size(); ++i) {
    const Tensor result = results[i];
    graph.output(nest.kernel.results[i].name, around && result.dtype() == DType::kF32 ? result + 1.0 : result);
  }
  return graph.finish().value();
}

/// ", element 3: found -0, expected 0"; empty if all bits are equal.
std::string first_difference(const reference::Tensor& found, const Array& expected) {
  if (found.bytes == expected.bytes) return "";
  const DType dtype = found.type.dtype;
  const std::size_t size = size_bytes(dtype);
  std::size_t at = 0;
  while (std::equal(found.bytes.begin() + std::ptrdiff_t(at), found.bytes.begin() + std::ptrdiff_t(at + size),
                    expected.bytes.begin() + std::ptrdiff_t(at))) {
    at += size;
  }
  return fmt::format(", element {}: found {}, expected {}", at / size, load_scalar(dtype, &found.bytes[at]).to_double(),
                     load_scalar(dtype, &expected.bytes[at]).to_double());
}

void check_run(const Graph& graph, const RandomNest& nest, const std::vector<Array>& expected,
               const CompileOptions& options) {
  INFO(test::to_text(options));
  const Result<Program> program = compile(graph, options);
  REQUIRE(program.status().message() == "");
  std::vector<reference::Tensor> inputs;
  for (const Array& operand : nest.operands) {
    inputs.emplace_back(operand.type);
    inputs.back().bytes = operand.bytes;
  }
  const auto found = test::run_guarded(*program, inputs);
  REQUIRE(found.status().message() == "");
  for (std::size_t i = 0; i < expected.size(); ++i) {
    CHECK((*found)[i].type == expected[i].type);
    const std::string wrong = first_difference((*found)[i], expected[i]);
    CHECK_MESSAGE(wrong.empty(), "result ", i, wrong);
  }
}

/// The results by definition, for the graph with elementwise nodes around the nest.
std::vector<Array> expected_around(RandomNest nest) {
  for (Array& operand : nest.operands) {
    if (operand.type.dtype == DType::kF32) operand = plus_one(operand);
  }
  std::vector<Array> results = testing::evaluate(nest.kernel, nest.operands).value();
  for (Array& result : results) {
    if (result.type.dtype == DType::kF32) result = plus_one(result);
  }
  return results;
}

TEST_CASE("random nests have the results of their definition, alone and fused, a slice at a time" * test::Sliced()) {
  const test::Slice slice = test::tested_slice_of_long_cases();
  const std::vector<CompileOptions> ways = test::every_way_to_compile();
  std::size_t count = 0, with_symbols = 0, with_windows = 0, with_gathers = 0, with_passes = 0;
  for (auto seed = static_cast<std::uint32_t>(slice.index); seed < kNumSeeds; seed += slice.count) {
    CAPTURE(seed);
    const RandomNest nest = test::random_nest(seed);
    INFO(to_text(nest.kernel));
    REQUIRE(verify_safe(nest.kernel).message() == "");
    const Graph alone = graph_of(nest, false), around = graph_of(nest, true);
    const std::string text = to_text(around);
    CHECK(to_text(parse_graph(text).value()) == text);
    CompileOptions options = ways[seed % ways.size()];
    if (seed % 10 == 0) {
      options = {.device = seed % 20 == 0 ? "isa:gfx1100" : "isa:gfx90a", .context = test::isa_context()};
    }
    check_run(alone, nest, testing::evaluate(nest.kernel, nest.operands).value(), options);
    check_run(around, nest, expected_around(nest), options);
    ++count;
    with_symbols += nest.has_symbols ? 1 : 0;
    with_windows += nest.has_window ? 1 : 0;
    with_gathers += nest.has_gather ? 1 : 0;
    with_passes += classify(nest.kernel) == LoopKind::kRows ? 1 : 0;
  }
  for (const std::size_t covered : {with_symbols, with_windows, with_gathers, with_passes}) CHECK(covered > count / 10);
}

TEST_CASE("on GPUs 0 - 0 is +0, even where an instruction could negate its operand") {
  for (const std::uint32_t seed : {4880u, 5520u}) {  // LLVM took 0 - x for -x in both
    CAPTURE(seed);
    const RandomNest nest = test::random_nest(seed);
    for (const char* device : {"isa:gfx1100", "isa:gfx90a", "sim:gfx1100"}) {
      check_run(graph_of(nest, false), nest, testing::evaluate(nest.kernel, nest.operands).value(),
                {.device = device, .context = test::isa_context()});
    }
  }
}

}  // namespace
}  // namespace millrace
