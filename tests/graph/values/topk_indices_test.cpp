// SPDX-License-Identifier: Apache-2.0
// topk of elements that come with indices, against plain loops.
#include <algorithm>
#include <optional>
#include <random>

#include <doctest/doctest.h>

#include "millrace/graph/compile_report.h"
#include "millrace/millrace.h"
#include "tests/reference/tensor.h"
#include "tests/support/graphs/run_graph.h"

namespace millrace {
namespace {

using ReferenceTensor = reference::Tensor;
using Numbers = std::vector<double>;

constexpr const char* kDevices[] = {"cpu", "sim:gfx1100", "sim:gfx90a"};

Program compiled(GraphBuilder& builder, const std::string& device) {
  CompileOptions options;
  options.context = test::test_context();
  options.device = device;
  Result<Program> program = compile(builder.finish().value(), options);
  REQUIRE(program.status().message() == "");
  return *program;
}

struct Found {
  Numbers values, indices;
  friend bool operator==(const Found&, const Found&) = default;
};

/// Outputs 0 and 1 of a program.
Found run(const Program& program, std::span<const ReferenceTensor> inputs, std::span<const DimBinding> dims = {}) {
  const auto outputs = test::run_guarded(program, inputs, dims);
  REQUIRE(outputs.status().message() == "");
  return {reference::read_all<double>((*outputs)[0]), reference::read_all<double>((*outputs)[1])};
}

struct Selection {
  reference::Extents extents;
  std::size_t axis;
  std::int64_t k;
  bool largest = true;
};

/// Elements that every numeric dtype has, many of them equal, and indices up to 100 in no order.
struct Elements {
  Elements(const Selection& selection, DType dtype, DType index_dtype)
      : x(make(selection.extents, dtype, 17)), indices(make(selection.extents, index_dtype, 101)) {}

  static ReferenceTensor make(const reference::Extents& extents, DType dtype, std::uint64_t end) {
    std::mt19937_64 random(end);
    Numbers numbers(static_cast<std::size_t>(reference::count(extents)));
    for (double& number : numbers) number = static_cast<double>(random() % end);
    return reference::make_tensor(dtype, extents, numbers);
  }

  ReferenceTensor x, indices;
};

/// A row at a time: its positions by value, equal ones as they stand.
Found select_by_loops(const Elements& elements, const Selection& selection) {
  const Numbers x = reference::read_all<double>(elements.x), indices = reference::read_all<double>(elements.indices);
  const auto n = static_cast<std::size_t>(selection.extents[selection.axis]);
  const auto k = static_cast<std::size_t>(selection.k);
  std::size_t outer = 1, inner = 1;
  for (std::size_t d = 0; d < selection.extents.size(); ++d) {
    if (d < selection.axis) outer *= static_cast<std::size_t>(selection.extents[d]);
    if (d > selection.axis) inner *= static_cast<std::size_t>(selection.extents[d]);
  }
  Found found{Numbers(outer * k * inner), Numbers(outer * k * inner)};
  for (std::size_t row = 0; row < outer * inner; ++row) {
    const std::size_t o = row / inner, i = row % inner;
    std::vector<std::size_t> places(n);
    for (std::size_t p = 0; p < n; ++p) places[p] = (o * n + p) * inner + i;
    std::ranges::sort(places, [&](std::size_t a, std::size_t b) {
      if (x[a] == x[b]) return a < b;
      return selection.largest ? x[a] > x[b] : x[a] < x[b];
    });
    for (std::size_t j = 0; j < k; ++j) {
      found.values[(o * k + j) * inner + i] = x[places[j]];
      found.indices[(o * k + j) * inner + i] = indices[places[j]];
    }
  }
  return found;
}

/// If shape and k are given, a run binds them.
Program compile_topk(const Selection& selection, const Elements& elements, const std::string& device, Shape shape = {},
                     std::optional<SizeExpr> k = {}) {
  GraphBuilder builder("top");
  if (shape.rank() == 0) shape = elements.x.type.shape;
  Tensor x = builder.input("x", elements.x.type.dtype, shape);
  Tensor indices = builder.input("i", elements.indices.type.dtype, shape);
  const TopKAttrs attributes{.axis = static_cast<std::int64_t>(selection.axis), .largest = selection.largest};
  const ValuesAndIndices top = topk(x, indices, k.value_or(selection.k), attributes);
  CHECK(top.indices.dtype() == indices.dtype());
  builder.output("values", top.values);
  builder.output("indices", top.indices);
  return compiled(builder, device);
}

TEST_CASE("topk takes given indices of the elements, along any axis, of any integer dtype") {
  const Selection selections[] = {{{9}, 0, 3},         {{3, 40}, 1, 5},    {{33, 4}, 0, 7, false},
                                  {{2, 31, 3}, 1, 31}, {{2, 5000}, 1, 50}, {{1, 1}, 0, 1},
                                  {{0, 5}, 1, 2},      {{4, 0}, 1, 0},     {{3, 70}, 1, 0, false}};
  constexpr DType kIntegers[] = {DType::kI64, DType::kI32, DType::kI16, DType::kI8,
                                 DType::kU64, DType::kU32, DType::kU16, DType::kU8};
  constexpr DType kKeys[] = {DType::kF32, DType::kI32, DType::kBF16, DType::kU8, DType::kF16, DType::kI64, DType::kF64};
  std::size_t number = 0;
  for (const std::string device : kDevices) {
    CAPTURE(device);
    for (const Selection& selection : selections) {
      const Elements elements(selection, kKeys[number % 7], kIntegers[number % 8]);
      CAPTURE(elements.x.type.to_text());
      CAPTURE(elements.indices.type.to_text());
      const ReferenceTensor inputs[] = {elements.x, elements.indices};
      CHECK(run(compile_topk(selection, elements, device), inputs) == select_by_loops(elements, selection));
      ++number;
    }
  }
}

TEST_CASE("one program takes the indices for every extent and k that runs bind") {
  const Shape shape{Dim("rows"), Dim("n"), Dim("columns")};
  const SizeExpr any_k = Dim("k").at_most(64);
  for (const std::string device : kDevices) {
    CAPTURE(device);
    const Selection any{{1, 1, 1}, 1, 0};
    const Program program = compile_topk(any, Elements(any, DType::kF32, DType::kI32), device, shape, any_k);
    for (const Selection& selection :
         {Selection{{3, 100, 2}, 1, 33}, Selection{{1, 1, 1}, 1, 1}, Selection{{2, 64, 1}, 1, 64},
          Selection{{1, 7, 5}, 1, 0}, Selection{{0, 9, 4}, 1, 3}, Selection{{5, 0, 2}, 1, 0}}) {
      const Elements elements(selection, DType::kF32, DType::kI32);
      CAPTURE(elements.x.type.to_text());
      const ReferenceTensor inputs[] = {elements.x, elements.indices};
      const DimBinding dims[] = {{"k", selection.k}};
      CHECK(run(program, inputs, dims) == select_by_loops(elements, selection));
    }
  }
}

/// The best of each shard with the positions that they have in the whole, and the best of those.
ValuesAndIndices topk_of_shards(Tensor x, std::int64_t shard, std::int64_t k) {
  const std::int64_t rows = x.shape()[0].constant(), n = x.shape()[1].constant();
  std::vector<Tensor> values, indices;
  for (std::int64_t start = 0; start < n; start += shard) {
    const std::int64_t stop = std::min(start + shard, n);
    const ValuesAndIndices best = topk(slice(x, {0, start}, {rows, stop}), std::min(k, stop - start));
    values.push_back(best.values);
    indices.push_back(best.indices + static_cast<double>(start));
  }
  const Tensor all_values = concat(values, 1);
  return topk(all_values, concat(indices, 1), k);
}

TEST_CASE("topk in two stages is topk of the whole, also for equal elements") {
  const Selection selection{{2, 300}, 1, 20};
  for (const std::string device : kDevices) {
    CAPTURE(device);
    GraphBuilder builder("sharded");
    const Elements elements(selection, DType::kF32, DType::kI64);
    Tensor x = builder.input("x", DType::kF32, elements.x.type.shape);
    const ValuesAndIndices staged = topk_of_shards(x, 64, selection.k), whole = topk(x, selection.k);
    builder.output("values", staged.values);
    builder.output("indices", staged.indices);
    builder.output("whole_values", whole.values);
    builder.output("whole_indices", whole.indices);
    const auto outputs = test::run_guarded(compiled(builder, device), {&elements.x, 1});
    REQUIRE(outputs.status().message() == "");
    CHECK((*outputs)[0].bytes == (*outputs)[2].bytes);
    CHECK((*outputs)[1].bytes == (*outputs)[3].bytes);
  }
}

TEST_CASE("if indices are not used, given ones cost nothing") {
  GraphBuilder builder("values");
  Tensor x = builder.input("x", DType::kF32, {4, 100}), indices = builder.input("i", DType::kI32, {4, 100});
  builder.output("values", topk(x, indices, 8).values);
  CHECK(compiled(builder, "cpu").report().num_dispatches == 1);
}

}  // namespace
}  // namespace millrace
