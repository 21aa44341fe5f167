// SPDX-License-Identifier: Apache-2.0
// Runs each kernel in a graph, next to ops of the library, and compares it with plain loops.
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "examples/own_kernels/kernels.h"
#include "examples/own_kernels/plain.h"
#include "millrace/graph/compile_report.h"
#include "millrace/graph/testing.h"
#include "millrace/jit/loop_kernel_builder.h"
#include "millrace/millrace.h"

using namespace millrace;

namespace {

using Floats = std::vector<float>;

/// Numbers from -4 to 4 without a pattern.
Floats some_floats(std::size_t count) {
  Floats values(count);
  std::uint32_t state = 1;
  for (float& value : values) {
    state = state * 1664525 + 1013904223;
    value = static_cast<float>(state >> 8) / static_cast<float>(1 << 21) - 4;
  }
  return values;
}

/// Compiles the graph, which must be a single dispatch, and runs it.
Status run(GraphBuilder& graph, ListView<TensorBinding> inputs, ListView<TensorBinding> outputs) {
  MILLRACE_TRY_ASSIGN(Graph built, graph.finish());
  const std::string name = built.name;
  MILLRACE_TRY_ASSIGN(const Program program, compile(std::move(built)));
  if (program.report().num_dispatches != 1) {
    return internal_error(fmt::format("{}: {} dispatches, expected 1:\n{}", name, program.report().num_dispatches,
                                      program.to_text(Stage::kDispatch)));
  }
  MILLRACE_TRY_ASSIGN(Session session, Session::create(program));
  return session.run(inputs, outputs);
}

template <class T>
Status compare(const char* name, const std::vector<T>& found, const std::vector<T>& expected, double tolerance) {
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const auto wanted = static_cast<double>(expected[i]), got = static_cast<double>(found[i]);
    if (std::abs(got - wanted) <= tolerance * (1 + std::abs(wanted))) continue;
    return internal_error(fmt::format("{}: element {} is {}, expected {}", name, i, got, wanted));
  }
  std::printf("%s: %zu elements are those of plain loops\n", name, expected.size());
  return {};
}

Status check_rms_norm() {
  constexpr std::size_t kRows = 50, kColumns = 300;
  const Floats x = some_floats(kRows * kColumns), scale = some_floats(kColumns);
  Floats y(x.size()), doubled = x, expected(x.size());
  GraphBuilder graph("rms_norm");
  const Tensor in = graph.input("x", DType::kF32, {Dim("rows"), kColumns});
  const Tensor by = graph.input("scale", DType::kF32, {kColumns});
  graph.output("y", own::rms_norm(graph, in * 2.0, by)[0] + in);
  MILLRACE_TRY(run(graph, {bind("x", x, {kRows, kColumns}), bind("scale", scale)}, {bind("y", y, {kRows, kColumns})}));
  for (float& value : doubled) value *= 2;
  own::kPlainLoops.rms_norm(doubled.data(), scale.data(), expected.data(), kRows, kColumns);
  for (std::size_t i = 0; i < x.size(); ++i) expected[i] += x[i];
  return compare("rms_norm", y, expected, 1e-5);
}

Status check_median_filter() {
  constexpr std::size_t kHeight = 40, kWidth = 70;
  const Floats x = some_floats(kHeight * kWidth);
  Floats y((kHeight - 2) * (kWidth - 2)), expected = y;
  GraphBuilder graph("median_filter");
  const Tensor in = graph.input("x", DType::kF32, {Dim("height").at_least(3), Dim("width").at_least(3)});
  graph.output("y", own::median_filter(graph, in)[0] * 0.5);
  MILLRACE_TRY(run(graph, {bind("x", x, {kHeight, kWidth})}, {bind("y", y, {kHeight - 2, kWidth - 2})}));
  own::kPlainLoops.median_filter(x.data(), expected.data(), kHeight, kWidth);
  for (float& value : expected) value *= 0.5f;
  return compare("median_filter", y, expected, 0);
}

Status check_diffuse() {
  constexpr std::size_t kHeight = 40, kWidth = 70;
  const Floats x = some_floats(kHeight * kWidth);
  Floats y(x.size()), expected = y;
  GraphBuilder graph("diffuse");
  graph.output("y", relu(own::diffuse(graph, graph.input("x", DType::kF32, {kHeight, kWidth}), 0.1)));
  MILLRACE_TRY(run(graph, {bind("x", x)}, {bind("y", y)}));
  own::kPlainLoops.diffuse(x.data(), expected.data(), kHeight, kWidth, 0.1f);
  for (float& value : expected) value = std::fmax(value, 0.0f);
  return compare("diffuse", y, expected, 1e-5);
}

Status check_quantise() {
  constexpr std::size_t kRows = 9, kColumns = 96;
  const Floats x = some_floats(kRows * kColumns);
  std::vector<std::int8_t> q(x.size()), expected = q;
  Floats scales(x.size() / 32), expected_scales = scales, tripled = x;
  GraphBuilder graph("quantise");
  const KernelResults results = own::quantise(graph, graph.input("x", DType::kF32, {kRows, kColumns}) * 3.0);
  graph.output("q", results[0]);
  graph.output("scales", results[1]);
  MILLRACE_TRY(run(graph, {bind("x", x)}, {bind("q", q), bind("scales", scales)}));
  for (float& value : tripled) value *= 3;
  own::kPlainLoops.quantise(tripled.data(), expected.data(), expected_scales.data(), kRows, kColumns);
  MILLRACE_TRY(compare("quantise", q, expected, 0));
  return compare("quantise, scales", scales, expected_scales, 1e-6);
}

Status check_centroid() {
  constexpr std::size_t kBatch = 3, kHeight = 24, kWidth = 40;
  Floats x = some_floats(kBatch * kHeight * kWidth);
  Floats rows(kBatch), columns(kBatch), expected_rows(kBatch), expected_columns(kBatch);
  GraphBuilder graph("centroid");
  const KernelResults results = own::centroid(graph, abs(graph.input("x", DType::kF32, {kBatch, kHeight, kWidth})));
  graph.output("rows", results[0]);
  graph.output("columns", results[1]);
  MILLRACE_TRY(run(graph, {bind("x", x)}, {bind("rows", rows), bind("columns", columns)}));
  for (float& value : x) value = std::fabs(value);
  own::kPlainLoops.centroid(x.data(), expected_rows.data(), expected_columns.data(), kBatch, kHeight, kWidth);
  MILLRACE_TRY(compare("centroid, rows", rows, expected_rows, 1e-4));
  return compare("centroid, columns", columns, expected_columns, 1e-4);
}

Status check_embedding_bag() {
  constexpr std::size_t kBags = 7, kPerBag = 5, kVocabulary = 100, kWidth = 48;
  const Floats table = some_floats(kVocabulary * kWidth);
  std::vector<std::int64_t> ids(kBags * kPerBag);
  for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<std::int64_t>(i * 37 % kVocabulary);
  Floats y(kBags * kWidth), expected = y;
  GraphBuilder graph("embedding_bag");
  const Tensor from = graph.input("table", DType::kF32, {kVocabulary, kWidth});
  graph.output("y", own::embedding_bag(graph, from, graph.input("ids", DType::kI64, {kBags, kPerBag}))[0] + 1.0);
  MILLRACE_TRY(run(graph, {bind("table", table), bind("ids", ids)}, {bind("y", y)}));
  own::kPlainLoops.embedding_bag(table.data(), ids.data(), expected.data(), kBags, kPerBag, kWidth);
  for (float& value : expected) value += 1;
  return compare("embedding_bag", y, expected, 1e-5);
}

Status check_nearest_centre() {
  constexpr std::size_t kPoints = 200, kCentres = 19;
  const Floats points = some_floats(kPoints * 3), centres = some_floats(kCentres * 3 + 1);
  const Floats moved(centres.begin() + 1, centres.end());
  std::vector<std::int64_t> nearest(kPoints), expected = nearest;
  GraphBuilder graph("nearest_centre");
  const Tensor in = graph.input("points", DType::kF32, {kPoints, 3});
  graph.output("nearest", own::nearest_centre(graph, in, graph.input("centres", DType::kF32, {kCentres, 3})));
  MILLRACE_TRY(run(graph, {bind("points", points), bind("centres", moved)}, {bind("nearest", nearest)}));
  own::kPlainLoops.nearest_centre(points.data(), moved.data(), expected.data(), kPoints, kCentres);
  return compare("nearest_centre", nearest, expected, 0);
}

/// Compares a kernel with its own definition, as the tests of an application would.
Status check_by_definition() {
  LoopKernelBuilder k("double_it");
  const AffineIndex m = k.parallel("m", Dim("rows")), n = k.parallel("n", 3);
  const BodyValue element = k.load(k.epilogue(), k.operand("x", {DType::kF32, {Dim("rows"), 3}}), {m, n});
  k.store("y", {DType::kF32, {Dim("rows"), 3}}, {m, n}, k.epilogue().add(element, element));
  MILLRACE_TRY_ASSIGN(const LoopKernel kernel, k.finish());
  const testing::Array x = testing::Array::of<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  testing::compare(kernel, {{x}}, {{"cpu", "sim:gfx1100"}}).throw_if_error();
  return {};
}

}  // namespace

int main() {
  for (const auto check : {check_rms_norm, check_median_filter, check_diffuse, check_quantise, check_centroid,
                           check_embedding_bag, check_nearest_centre, check_by_definition}) {
    const Status status = check();
    if (status.ok()) continue;
    std::printf("%s\n", status.message().c_str());
    return 1;
  }
  return 0;
}
