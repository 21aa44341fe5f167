// SPDX-License-Identifier: Apache-2.0
// TopK through the graph: each subset of its results, with constant sizes and sizes that a run binds. An unused result
// has no kernel, no buffer and no bytes anywhere.
#include <algorithm>

#include <doctest/doctest.h>

#include "millrace/graph/compile_report.h"
#include "millrace/graph/lowered_graph.h"
#include "millrace/graph/program_variant.h"
#include "millrace/millrace.h"
#include "tests/hip_standin/standin.h"
#include "tests/reference/evaluate.h"
#include "tests/support/graphs/run_graph.h"
#include "tests/support/ops/op_driver.h"
#include "tests/support/ops/pairwise.h"
#include "tests/support/slice.h"
#include "tests/support/sliced.h"

namespace millrace {
namespace {

using ReferenceTensor = reference::Tensor;

constexpr std::int64_t kRows = 2;

enum class Sizes : std::uint8_t { kStatic, kDynamicRows, kDynamicK };
enum Used : std::uint8_t { kValues = 1, kIndices = 2, kBoth = 3 };

struct Variant {
  DType dtype;
  Sizes sizes;
  Used used;
  bool largest, sorted;
  std::int64_t columns = 1003;
  std::string device = "cpu";
};

SizeExpr rows_of(Sizes sizes) { return sizes == Sizes::kDynamicRows ? SizeExpr(Dim("rows").at_most(64)) : kRows; }

Program compile_topk(const Variant& variant, std::int64_t k) {
  GraphBuilder builder("top");
  const Tensor x = builder.input("x", variant.dtype, {rows_of(variant.sizes), variant.columns});
  const SizeExpr size = variant.sizes == Sizes::kDynamicK ? SizeExpr(Dim("k").at_most(variant.columns)) : k;
  const ValuesAndIndices top = topk(x, size, {.axis = 1, .largest = variant.largest, .sorted = variant.sorted});
  if (variant.used & kValues) builder.output("values", top.values);
  if (variant.used & kIndices) builder.output("indices", top.indices);
  CompileOptions options;
  options.context = test::test_context();
  options.device = variant.device;
  Result<Program> program = compile(builder.finish().value(), options);
  REQUIRE(program.status().message() == "");
  return *program;
}

/// A mixture of ties, both signs, and NaN where there is one.
ReferenceTensor keys_of(DType dtype, std::int64_t columns) {
  ReferenceTensor keys(dtype, {kRows, columns});
  for (std::int64_t i = 0; i < keys.num_elements(); ++i) {
    const auto value = static_cast<double>((i * 7919) % 211) - (is_signed(dtype) ? 100 : 0);
    reference::write_element(dtype, is_float(dtype) && i % 97 == 5 ? std::nan("") : value, keys.element(i));
  }
  return keys;
}

/// One dispatch, or as many passes as were planned for rows that no workgroup holds, which write what is used and
/// nothing else; scratch comes from the plan alone.
void check_plan(const Program& program, const Variant& variant) {
  const LoweredGraph& lowered = program.lowered();
  CHECK(lowered.dispatch.regions.size() == 1);
  REQUIRE(lowered.sequences[0].size() == 1);
  const KernelSequence& sequence = lowered.sequences[0][0];
  CHECK(program.report().num_dispatches == sequence.kernels.size());
  // A k that a run binds chooses between two ways then, and a run launches the kernels of one.
  const std::size_t num_other = variant.sizes == Sizes::kDynamicK ? 1 : 0;
  CHECK(sequence.kernels.size() <= num_other + (variant.columns <= 4096 ? 1 : 6 * size_bytes(variant.dtype)));
  const auto& resources = lowered.schedule.resources;
  const auto num_outputs = std::ranges::count_if(resources, [](const Resource& r) { return r.output.has_value(); });
  CHECK(num_outputs == (variant.used == kBoth ? 2 : 1));
  const auto num_external = std::ranges::count(resources, Lifetime::kExternal, &Resource::lifetime);
  CHECK(num_external == 1 + num_outputs);
  CHECK(resources.size() == static_cast<std::size_t>(num_external) + sequence.scratch.size());
  const MemoryLimits limits = memory_limits(program.variants()[0].target);
  for (const PlannedKernel& kernel : lowered.schedule.kernels) {
    CHECK(kernel.memory.workgroup_bytes <= limits.workgroup_bytes);
    CHECK(kernel.memory.private_bytes <= limits.private_bytes);
  }
}

void check_results(const Program& program, const Variant& variant, std::int64_t k, const ReferenceTensor& keys) {
  const TopKAttrs attributes{.k = k, .axis = 1, .largest = variant.largest, .sorted = variant.sorted};
  test::OpTrial trial{Op::topk, attributes, {&keys, 1}, 0, {}, ""};
  trial.options.used_results = variant.used;
  const DimBinding dims[] = {{"k", k}};
  const auto found = test::run_guarded(program, {&keys, 1}, std::span(dims, variant.sizes == Sizes::kDynamicK ? 1 : 0));
  REQUIRE(found.status().message() == "");
  CHECK(test::compare_results(trial, *found, reference::evaluate(Op::topk, attributes, {&keys, 1})) == "");
}

constexpr std::int64_t kEveryK[] = {0, 1, 2, 31, 32, 33, 1000, INT64_MAX};  // the last is all of a row

}  // namespace

TEST_CASE("topk plans one dispatch for the results that are used, whatever the run binds") {
  for (const DType dtype : kAllDTypes) {
    for (unsigned choice = 0; choice < 36; ++choice) {
      const Variant variant{dtype, static_cast<Sizes>(choice % 3), static_cast<Used>(1 + choice / 3 % 3),
                            choice / 9 % 2 == 0, choice / 18 == 0};
      CAPTURE(std::string(to_text(dtype)));
      CAPTURE(choice);
      const ReferenceTensor keys = keys_of(dtype, variant.columns);
      const auto at_most_all = [&](std::int64_t k) { return std::min(k, variant.columns); };
      if (variant.sizes == Sizes::kDynamicK) {
        const Program program = compile_topk(variant, 0);
        check_plan(program, variant);
        for (const std::int64_t k : kEveryK) check_results(program, variant, at_most_all(k), keys);
        continue;
      }
      // One k of static size for each variant: all of them occur.
      const std::int64_t k = at_most_all(kEveryK[(choice / 3 + static_cast<unsigned>(dtype)) % std::size(kEveryK)]);
      const Program program = compile_topk(variant, k);
      if (k > 0) check_plan(program, variant);
      check_results(program, variant, k, keys);
    }
  }
}

namespace {

/// A set of choices in which every pair occurs, restricted to the slice.
void check_pairs(std::span<const std::string> devices, const test::Slice& slice = {.count = 1}) {
  constexpr std::int64_t kColumns[] = {200, 1003, 5000};
  const std::size_t counts[] = {std::size(kAllDTypes), 3, 3, 2, 2, std::size(kEveryK), std::size(kColumns),
                                devices.size()};
  std::size_t number = 0;
  for (const std::vector<std::size_t>& choice : test::pairwise_rows(counts)) {
    if (!slice.has(number++)) continue;
    const Variant variant{kAllDTypes[choice[0]],
                          static_cast<Sizes>(choice[1]),
                          static_cast<Used>(1 + choice[2]),
                          choice[3] == 0,
                          choice[4] == 0,
                          kColumns[choice[6]],
                          devices[choice[7]]};
    const std::int64_t k = std::min(kEveryK[choice[5]], variant.columns);
    CAPTURE(variant.device);
    CAPTURE(std::string(to_text(variant.dtype)));
    CAPTURE(variant.columns);
    CAPTURE(k);
    const Program program = compile_topk(variant, k);
    if (k > 0 || variant.sizes == Sizes::kDynamicK) check_plan(program, variant);
    check_results(program, variant, k, keys_of(variant.dtype, variant.columns));
  }
}

}  // namespace

TEST_CASE("topk on a GPU has kernels and memory only for used results, for every pair of choices" * test::Sliced()) {
  check_pairs(std::vector<std::string>{"sim:gfx1100", "sim:gfx90a"});
}

TEST_CASE("topk through HIP has kernels and memory only for used results, for every pair of choices" * test::Sliced()) {
  const HipStandin standin(two_architectures(2));
  // A quarter at a time, where not all is asked for.
  const test::Slice slice = test::tested_slice();
  const std::size_t count = std::min<std::size_t>(slice.count, 4);
  check_pairs(std::vector<std::string>{HipStandin::spec(",arch=gfx1100"), HipStandin::spec(",arch=gfx90a")},
              {slice.index % count, count});
}

}  // namespace millrace
