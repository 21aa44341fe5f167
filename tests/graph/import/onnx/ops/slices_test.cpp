// SPDX-License-Identifier: Apache-2.0
// Slices in both directions with every kind of end, and pads that also cut elements off.
#include <algorithm>
#include <limits>

#include <doctest/doctest.h>
#include <fmt/ranges.h>

#include "millrace/graph/onnx.h"
#include "tests/graph/import/onnx/ops/one_node.h"
#include "tests/support/graphs/run_graph.h"

namespace millrace::test {
namespace {

using Integers = std::vector<std::int64_t>;
using Floats = std::vector<float>;
__extension__ typedef __int128 Wide;

constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();

/// The indices that ONNX's definition selects of a dim.
Integers selected(std::int64_t start, std::int64_t end, std::int64_t step, std::int64_t extent) {
  const auto place = [&](std::int64_t given, std::int64_t low, std::int64_t high) -> Wide {
    const Wide counted = given < 0 ? Wide{given} + extent : Wide{given};
    return std::clamp<Wide>(counted, low, std::max(low, high));
  };
  Integers indices;
  if (step > 0) {
    for (Wide i = place(start, 0, extent); i < place(end, 0, extent); i += step) {
      indices.push_back(static_cast<std::int64_t>(i));
    }
  } else if (extent > 0) {
    for (Wide i = place(start, 0, extent - 1); i > place(end, -1, extent - 1); i += step) {
      indices.push_back(static_cast<std::int64_t>(i));
    }
  }
  return indices;
}

/// A model that slices x[n] and the constant 0, 1, 2, 3, 4 from `start` on, with each of the ends and steps.
MessageWriter slice_model(std::int64_t start, const Integers& ends, const Integers& steps) {
  TestGraph graph{{}, {onnx_value("x", kOnnxFloat, {"n"})}, {}};
  const auto constant = [&](const std::string& name, const Integers& elements) {
    graph.initializers.push_back(onnx_tensor(name, {std::ssize(elements)}, elements));
    return name;
  };
  constant("c", {0, 1, 2, 3, 4});
  constant("axis", {0});
  constant("start", {start});
  for (std::size_t e = 0; e < ends.size(); ++e) {
    const std::string end = constant(fmt::format("end{}", e), {ends[e]});
    for (std::size_t s = 0; s < steps.size(); ++s) {
      const std::string step = fmt::format("step{}", s), tail = fmt::format("_{}_{}", e, s);
      if (e == 0) constant(step, {steps[s]});
      for (const std::string from : {"x", "c"}) {
        graph.nodes.push_back({"Slice", {from, "start", end, "axis", step}, {from + tail}});
        graph.outputs.push_back(MessageWriter().text(1, from + tail));
      }
    }
  }
  return onnx_model(graph);
}

TEST_CASE("Slice selects what the definition selects, of any dim, with ends and steps up to those of int64") {
  const Integers ends = {kMin, kMin + 1, -7, -5, -2, -1, 0, 1, 3, 5, 9, kMax - 1, kMax};
  const Integers steps = {kMin, -kMax, -3, -1, 1, 2, kMax};
  for (const std::int64_t start : {kMin, std::int64_t{-5}, std::int64_t{-1}, std::int64_t{0}, std::int64_t{2},
                                   std::int64_t{4}, std::int64_t{8}, kMax}) {
    const OnnxModel imported = import_onnx("m", slice_model(start, ends, steps).file()).value();
    const Program program = compile(imported.graph, suite_options()).value();
    for (const std::int64_t extent : {0, 1, 2, 5}) {
      Floats x;
      for (std::int64_t i = 0; i < extent; ++i) x.push_back(static_cast<float>(i));
      const auto outputs = run_guarded(program, std::vector{tensor_of({extent}, x)}).value();
      REQUIRE(outputs.size() == ends.size() * steps.size() * 2);
      for (std::size_t i = 0; i < outputs.size(); ++i) {
        const std::int64_t end = ends[i / 2 / steps.size()], step = steps[i / 2 % steps.size()];
        CAPTURE(start);
        CAPTURE(end);
        CAPTURE(step);
        CHECK(reference::read_all<std::int64_t>(outputs[i]) == selected(start, end, step, i % 2 == 0 ? extent : 5));
      }
    }
  }
}

TEST_CASE("a step of 0, and a place whose sign is not known, are refused") {
  const auto slice = [](const Integers& step) {
    return refusal({{"Slice", {"x", "a", "b", "d", "s"}, {"y"}},
                    {onnx_value("x", kOnnxFloat, {"n"})},
                    {onnx_tensor("a", {1}, Integers{0}), onnx_tensor("b", {1}, Integers{3}),
                     onnx_tensor("d", {1}, Integers{0}), onnx_tensor("s", {std::ssize(step)}, step)}});
  };
  CHECK(slice({0}) == ": the step along axis 0 is 0");
  CHECK(slice({1, 1}) == ": starts, ends, axes and steps differ in length, or are longer than the rank");
}

OneNode pad_model(const Integers& pads, const char* mode) {
  return {{"Pad", {"x", "p", "v"}, {"y"}, {onnx_text("mode", mode)}},
          {onnx_value("x", kOnnxFloat, {"n", 3})},
          {onnx_tensor("p", {4}, pads), onnx_tensor("v", {}, Floats{9})}};
}

TEST_CASE("Pad adds elements at one end and cuts them off at the other") {
  for (const Integers& pads : {Integers{1, -1, -1, 2}, Integers{-1, 0, 0, -2}, Integers{3, 1, -4, 1},
                               Integers{0, -3, 1, 0}, Integers{-2, -4, 3, 5}, Integers{-1, -1, -1, -1}}) {
    for (const std::int64_t rows : {2, 4}) {
      CAPTURE(fmt::format("{}", fmt::join(pads, ", ")));
      Floats x;
      for (std::int64_t i = 0; i < rows * 3; ++i) x.push_back(static_cast<float>(i + 1));
      const std::int64_t height = rows + pads[0] + pads[2], width = 3 + pads[1] + pads[3];
      Floats expected;
      for (std::int64_t i = 0; i < height; ++i) {
        for (std::int64_t j = 0; j < width; ++j) {
          const std::int64_t row = i - pads[0], column = j - pads[1];
          const bool is_inside = row >= 0 && row < rows && column >= 0 && column < 3;
          expected.push_back(is_inside ? x[static_cast<std::size_t>(row * 3 + column)] : 9);
        }
      }
      const auto found = run_node(pad_model(pads, "constant"), {tensor_of({rows, 3}, x)});
      CHECK(found[0].type.to_text() == fmt::format("f32[{}x{}]", height, width));
      CHECK(reference::read_all<float>(found[0]) == expected);
    }
  }
}

TEST_CASE("Pad by edges first cuts elements off") {
  // The middle row without its first element, then its first element twice.
  const auto found =
      run_node(pad_model({-1, -1, -1, 2}, "edge"), {tensor_of({3, 3}, Floats{1, 2, 3, 4, 5, 6, 7, 8, 9})});
  CHECK(reference::read_all<float>(found[0]) == Floats{5, 6, 6, 6});
}

TEST_CASE("pads that cut off more elements than there are are refused") {
  OneNode model = pad_model({0, -2, 0, -2}, "constant");
  CHECK(refusal(model) == ": pads cut 4 elements off axis 1 of f32[n, 3]; cut fewer");
  model = pad_model({-2, 0, -1, 0}, "constant");
  const Program program =
      compile(import_onnx(
                  "m", onnx_model({{model.node}, model.inputs, {MessageWriter().text(1, "y")}, model.constants}).file())
                  .value()
                  .graph,
              suite_options())
          .value();
  CHECK(program.output_types(std::vector{Extents{2, 3}}).status().message() ==
        "output types: %y = Pad needs 2 <= n - 1, found 2 and 1 with n = 2; bind other sizes");
}

}  // namespace
}  // namespace millrace::test
