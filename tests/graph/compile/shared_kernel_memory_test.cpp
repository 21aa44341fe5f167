// SPDX-License-Identifier: Apache-2.0
// Sorts of one graph may share their code; the shared kernel has the maximum of their memory.
#include <algorithm>
#include <random>

#include <doctest/doctest.h>

#include "millrace/graph/lowered_graph.h"
#include "millrace/millrace.h"
#include "tests/support/graphs/run_graph.h"

namespace millrace {
namespace {

Program sorts_of(const std::vector<std::int64_t>& lengths, const CompileOptions& options) {
  GraphBuilder graph("sorts");
  for (const std::int64_t n : lengths) {
    const std::string name = std::to_string(n);
    graph.output("y" + name, sort(graph.input("x" + name, DType::kF32, {3, n})).values);
  }
  Result<Program> program = compile(graph.finish().value(), options);
  REQUIRE(program.status().message() == "");
  return *std::move(program);
}

std::int64_t memory_of(const Program& program) {
  std::int64_t max_bytes = 0;
  for (const PlannedKernel& kernel : program.lowered().schedule.kernels) {
    max_bytes = std::max<std::int64_t>(max_bytes, kernel.info.workgroup_bytes);
  }
  return max_bytes;
}

TEST_CASE("one kernel for short and long rows has the memory of the long ones, whichever come first") {
  for (const CompileOptions& options : test::every_way_to_compile()) {
    CAPTURE(test::to_text(options));
    const std::int64_t alone = memory_of(sorts_of({20'000}, options));
    for (const std::vector<std::int64_t>& lengths : {std::vector<std::int64_t>{1000, 20'000}, {20'000, 1000}}) {
      const Program program = sorts_of(lengths, options);
      CHECK(memory_of(program) >= alone);
      std::mt19937_64 random(5);
      std::vector<reference::Tensor> inputs;
      for (const std::int64_t n : lengths) {
        std::vector<double> numbers(static_cast<std::size_t>(3 * n));
        for (double& number : numbers) number = static_cast<double>(random() % 100'000);
        inputs.push_back(reference::make_tensor(DType::kF32, {3, n}, numbers));
      }
      const auto outputs = test::run_guarded(program, inputs);
      REQUIRE(outputs.status().message() == "");
      for (std::size_t i = 0; i < lengths.size(); ++i) {
        auto* const expected = reinterpret_cast<float*>(inputs[i].element(0));
        for (std::int64_t row = 0; row < 3; ++row) {
          std::sort(expected + row * lengths[i], expected + (row + 1) * lengths[i]);
        }
        CHECK((*outputs)[i].bytes == inputs[i].bytes);
      }
    }
  }
}

}  // namespace
}  // namespace millrace
