// SPDX-License-Identifier: Apache-2.0
// TopK through the graph: each subset of its results, with sizes that are numbers and sizes that a run binds. What is
// not used has no kernel, no buffer and no bytes anywhere.
#include <doctest/doctest.h>

#include "millrace/millrace.h"
#include "tests/reference/evaluate.h"
#include "tests/support/difference.h"
#include "tests/support/run_graph.h"

namespace millrace {
namespace {

using ReferenceTensor = reference::Tensor;

constexpr std::int64_t kRows = 2, kColumns = 1003;

enum class Sizes : std::uint8_t { kStatic, kDynamicRows, kDynamicK };
enum Used : std::uint8_t { kValues = 1, kIndices = 2, kBoth = 3 };

struct Variant {
  DType dtype;
  Sizes sizes;
  Used used;
  bool largest, sorted;
};

SizeExpr rows_of(Sizes sizes) { return sizes == Sizes::kDynamicRows ? SizeExpr(Dim("rows").at_most(64)) : kRows; }

Program compile_topk(const Variant& variant, std::int64_t k, const CompileOptions& options) {
  GraphBuilder builder("top");
  const Tensor x = builder.input("x", variant.dtype, {rows_of(variant.sizes), kColumns});
  const SizeExpr size = variant.sizes == Sizes::kDynamicK ? SizeExpr(Dim("k").at_most(kColumns)) : k;
  const ValuesAndIndices top = topk(x, size, {.axis = 1, .largest = variant.largest, .sorted = variant.sorted});
  if (variant.used & kValues) builder.output("values", top.values);
  if (variant.used & kIndices) builder.output("indices", top.indices);
  Result<Program> program = compile(builder.finish().value(), options);
  REQUIRE(program.status().message() == "");
  return *program;
}

/// A mixture of ties, both signs, and NaN where there is one.
ReferenceTensor keys_of(DType dtype) {
  ReferenceTensor keys(dtype, {kRows, kColumns});
  for (std::int64_t i = 0; i < keys.num_elements(); ++i) {
    const auto value = static_cast<double>((i * 7919) % 211) - (is_signed(dtype) ? 100 : 0);
    reference::write_element(dtype, is_float(dtype) && i % 97 == 5 ? std::nan("") : value, keys.element(i));
  }
  return keys;
}

/// One dispatch of one kernel that writes what is used and nothing else; scratch comes from the plan alone.
void check_plan(const Program& program, const Variant& variant) {
  const LoweredGraph& lowered = program.lowered();
  CHECK(lowered.dispatch.regions.size() == 1);
  CHECK(program.report().num_dispatches == 1);
  CHECK(lowered.schedule.kernels.size() == 1);
  std::size_t num_outputs = 0;
  for (const Resource& resource : lowered.schedule.resources) {
    num_outputs += resource.output.has_value();
    CHECK((resource.lifetime == Lifetime::kExternal || resource.name.find("scratch") != std::string::npos));
  }
  CHECK(num_outputs == (variant.used == kBoth ? 2 : 1));
  const MemoryLimits limits = memory_limits(TargetSpec::parse("cpu").value());
  for (const PlannedKernel& kernel : lowered.schedule.kernels) {
    CHECK(kernel.memory.workgroup_bytes <= limits.workgroup_bytes);
    CHECK(kernel.memory.private_bytes <= limits.private_bytes);
  }
}

void check_results(const Program& program, const Variant& variant, std::int64_t k, const ReferenceTensor& keys) {
  const TopKAttrs attributes{.k = k, .axis = 1, .largest = variant.largest, .sorted = variant.sorted};
  std::vector<ReferenceTensor> expected = reference::evaluate(Op::topk, attributes, {&keys, 1});
  const DimBinding dims[] = {{"k", k}};
  const auto found = test::run_guarded(program, {&keys, 1}, std::span(dims, variant.sizes == Sizes::kDynamicK ? 1 : 0));
  REQUIRE(found.status().message() == "");
  if (variant.used == kIndices) expected.erase(expected.begin());
  // The CPU's algorithm sorts in any case, and so does the oracle.
  for (std::size_t i = 0; i < found->size(); ++i) {
    CHECK(test::find_difference((*found)[i], expected[i], {.same_nan_bits = true}) == "");
  }
}

constexpr std::int64_t kEveryK[] = {0, 1, 2, 31, 32, 33, 1000, kColumns};

}  // namespace

TEST_CASE("topk plans one dispatch for the results that are used, whatever the run binds") {
  CompileOptions options;
  options.context = test::test_context();
  for (const DType dtype : kAllDTypes) {
    const ReferenceTensor keys = keys_of(dtype);
    for (unsigned choice = 0; choice < 36; ++choice) {
      const Variant variant{dtype, static_cast<Sizes>(choice % 3), static_cast<Used>(1 + choice / 3 % 3),
                            choice / 9 % 2 == 0, choice / 18 == 0};
      CAPTURE(std::string(to_text(dtype)));
      CAPTURE(choice);
      if (variant.sizes == Sizes::kDynamicK) {
        const Program program = compile_topk(variant, 0, options);
        check_plan(program, variant);
        for (const std::int64_t k : kEveryK) check_results(program, variant, k, keys);
        continue;
      }
      // One k of static size for each variant: all of them occur.
      const std::int64_t k = kEveryK[(choice / 3 + static_cast<unsigned>(dtype)) % std::size(kEveryK)];
      const Program program = compile_topk(variant, k, options);
      if (k > 0) check_plan(program, variant);
      check_results(program, variant, k, keys);
    }
  }
}

}  // namespace millrace
