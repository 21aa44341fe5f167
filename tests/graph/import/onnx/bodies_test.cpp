// SPDX-License-Identifier: Apache-2.0
// Loop, Scan and sequences: bodies that are built step by step, and loops of the graph.
#include <optional>

#include <doctest/doctest.h>

#include "millrace/graph/compile.h"
#include "millrace/graph/onnx.h"
#include "tests/graph/import/onnx/model_writer.h"
#include "tests/support/graphs/run_graph.h"

namespace millrace::test {
namespace {

using Numbers = std::vector<double>;

MessageWriter scalar(std::string_view name, std::int64_t value) {
  return onnx_tensor(name, {}, std::vector<std::int64_t>{value});
}

MessageWriter f32(std::string_view name, const std::vector<TestDim>& dims = {}) {
  return onnx_value(name, kOnnxFloat, dims);
}

reference::Tensor floats_of(const reference::Extents& extents, const Numbers& values) {
  return reference::make_tensor(DType::kF32, extents, values);
}

std::vector<reference::Tensor> run_model(const MessageWriter& model, const std::vector<reference::Tensor>& inputs) {
  CompileOptions options;
  options.context = test_context();
  const OnnxModel imported = import_onnx("m", model.file()).value();
  return run_guarded(compile(imported.graph, options).value(), inputs).value();
}

std::string error_of(const MessageWriter& model) { return import_onnx("m", model.file()).status().message(); }

/// state + x, which is also an output.
MessageWriter adding_body() {
  return encode(TestGraph{.nodes = {{"Add", {"s", "x"}, {"next"}}, {"Identity", {"next"}, {"out"}}},
                          .inputs = {onnx_value("i", kOnnxInt64, {}), onnx_value("c", kOnnxBool, {}), f32("s")},
                          .outputs = {onnx_value("c", kOnnxBool, {}), f32("next"), f32("out")}});
}

/// A loop of adding_body(). The count is an initializer, or else the length of the input "many".
MessageWriter adding_loop(std::optional<std::int64_t> count) {
  TestGraph graph{.nodes = {{"Loop", {"count", "", "x"}, {"last", "all"}, {onnx_graph("body", adding_body())}, "loop"}},
                  .inputs = {f32("x", {2})},
                  .outputs = {f32("last"), f32("all")},
                  .initializers = {}};
  if (count) {
    graph.initializers.push_back(scalar("count", *count));
  } else {
    graph.inputs.push_back(f32("many", {"n"}));
    graph.nodes.insert(graph.nodes.begin(), TestNode{"Size", {"many"}, {"count"}});
  }
  return onnx_model(graph);
}

void check_sums(const std::vector<reference::Tensor>& found, std::int64_t count) {
  CAPTURE(count);
  const Numbers x = {0.5, -3};
  Numbers all;
  for (std::int64_t i = 0; i < count; ++i) {
    for (const double each : x) all.push_back(each * static_cast<double>(i + 2));
  }
  CHECK(reference::read_all<double>(found[0]) ==
        Numbers{x[0] * static_cast<double>(count + 1), x[1] * static_cast<double>(count + 1)});
  CHECK(found[1].extents() == reference::Extents{count, 2});
  CHECK(reference::read_all<double>(found[1]) == all);
}

}  // namespace

TEST_CASE("a Loop has as many outputs as steps, built one by one, in a loop, or as many as a dim") {
  const reference::Tensor x = floats_of({2}, {0.5, -3});
  for (const std::int64_t count : {0, 1, 3, 20}) {
    check_sums(run_model(adding_loop(count), {x}), count);
    const Numbers many(static_cast<std::size_t>(count), 1.0);
    check_sums(run_model(adding_loop(std::nullopt), {x, floats_of({count}, many)}), count);
  }
}

TEST_CASE("a Loop ends when the condition that its body computes is false") {
  const MessageWriter body =
      encode(TestGraph{.nodes = {{"Add", {"s", "s"}, {"next"}},
                                 {"ReduceMax", {"next"}, {"top"}, {onnx_int("keepdims", 0)}},
                                 {"Less", {"top", "limit"}, {"again"}}},
                       .inputs = {onnx_value("i", kOnnxInt64, {}), onnx_value("c", kOnnxBool, {}), f32("s")},
                       .outputs = {onnx_value("again", kOnnxBool, {}), f32("next")}});
  const auto model = [&](const std::string& count, const std::string& output) {
    return onnx_model(
        {.nodes = {{"Loop", {count, "true", "x"}, {output}, {onnx_graph("body", body)}, "loop"}},
         .inputs = {f32("x", {2}), f32("limit")},
         .outputs = {f32(output)},
         .initializers = {scalar("four", 4), onnx_tensor("true", kOnnxBool, {}, std::string_view("\1", 1))}});
  };
  const reference::Tensor x = floats_of({2}, {1, 3}), limit = floats_of({}, {100});
  CHECK(reference::read_all<double>(run_model(model("", "y"), {x, limit})[0]) == Numbers{64, 192});
  CHECK(reference::read_all<double>(run_model(model("four", "y"), {x, limit})[0]) == Numbers{16, 48});
}

TEST_CASE("a Loop whose condition is computed has no outputs of all steps") {
  const MessageWriter body =
      encode(TestGraph{.nodes = {{"Add", {"s", "s"}, {"next"}}, {"Less", {"next", "limit"}, {"again"}}},
                       .inputs = {onnx_value("i", kOnnxInt64, {}), onnx_value("c", kOnnxBool, {}), f32("s")},
                       .outputs = {onnx_value("again", kOnnxBool, {}), f32("next"), f32("next")}});
  const MessageWriter model =
      onnx_model({.nodes = {{"Loop", {"", "true", "limit"}, {"y", "all"}, {onnx_graph("body", body)}, "loop"}},
                  .inputs = {f32("limit")},
                  .outputs = {f32("all")},
                  .initializers = {onnx_tensor("true", kOnnxBool, {}, std::string_view("\1", 1))}});
  CHECK(error_of(model) ==
        "onnx 'm': 1 part cannot be imported:\n"
        "  graph.node[0] (Loop 'loop'): how often the body runs is decided at run time, and with it the size of a "
        "result; expected a trip count and a condition that are known when the model is imported [ai.onnx 18]");
}

TEST_CASE("a Loop without end is refused") {
  const MessageWriter model =
      onnx_model({.nodes = {{"Loop", {"", "", "x"}, {"y"}, {onnx_graph("body", adding_body())}, "loop"}},
                  .inputs = {f32("x", {2})},
                  .outputs = {f32("y")}});
  CHECK(error_of(model) ==
        "onnx 'm': 1 part cannot be imported:\n"
        "  graph.node[0] (Loop 'loop'): the body runs without end, expected a trip count or a condition [ai.onnx 18]");
}

TEST_CASE("a state may grow if the number of steps is known") {
  const MessageWriter body =
      encode(TestGraph{.nodes = {{"Concat", {"s", "x"}, {"next"}, {onnx_int("axis", 0)}}},
                       .inputs = {onnx_value("i", kOnnxInt64, {}), onnx_value("c", kOnnxBool, {}), f32("s")},
                       .outputs = {onnx_value("c", kOnnxBool, {}), f32("next")}});
  const auto model = [&](const TestDim& many) {
    return onnx_model({.nodes = {{"Size", {"many"}, {"count"}},
                                 {"Loop", {"count", "", "x"}, {"y"}, {onnx_graph("body", body)}, "loop"}},
                       .inputs = {f32("x", {1}), f32("many", {many})},
                       .outputs = {f32("y")}});
  };
  const reference::Tensor x = floats_of({1}, {7});
  CHECK(run_model(model(20), {x, floats_of({20}, Numbers(20))})[0].extents() == reference::Extents{21});
  CHECK(error_of(model("n")) ==
        "onnx 'm': 1 part cannot be imported:\n"
        "  graph.node[1] (Loop 'loop'): input 's' of the body is f32[1] and becomes f32[2], expected one type in all "
        "steps [ai.onnx 18]");
}

TEST_CASE("a sequence may grow in a Loop, and is joined after it") {
  const MessageWriter body =
      encode(TestGraph{.nodes = {{"Cast", {"i"}, {"number"}, {onnx_int("to", kOnnxFloat)}},
                                 {"Mul", {"x", "number"}, {"product"}},
                                 {"SequenceInsert", {"list", "product"}, {"longer"}}},
                       .inputs = {onnx_value("i", kOnnxInt64, {}), onnx_value("c", kOnnxBool, {}), f32("list")},
                       .outputs = {onnx_value("c", kOnnxBool, {}), f32("longer")}});
  const MessageWriter model = onnx_model(
      {.nodes = {{"SequenceEmpty", {}, {"none"}},
                 {"Loop", {"ten", "", "none"}, {"list"}, {onnx_graph("body", body)}},
                 {"SequenceErase", {"list", "one"}, {"fewer"}},
                 {"SequenceLength", {"fewer"}, {"length"}},
                 {"SequenceAt", {"fewer", "one"}, {"second"}},
                 {"ConcatFromSequence", {"fewer"}, {"joined"}, {onnx_int("axis", 0), onnx_int("new_axis", 1)}}},
       .inputs = {f32("x", {2})},
       .outputs = {f32("joined"), onnx_value("length", kOnnxInt64, {}), f32("second")},
       .initializers = {scalar("ten", 10), scalar("one", 1)}});
  const auto found = run_model(model, {floats_of({2}, {1, -2})});
  Numbers joined;
  for (const double i : {0, 2, 3, 4, 5, 6, 7, 8, 9}) joined.insert(joined.end(), {i, -2 * i});
  CHECK(reference::read_all<double>(found[0]) == joined);
  CHECK(reference::read_all<std::int64_t>(found[1]) == std::vector<std::int64_t>{9});
  CHECK(reference::read_all<double>(found[2]) == Numbers{2, -4});
}

TEST_CASE("parts of a tensor become a sequence, and a body runs for each") {
  const MessageWriter body = encode(TestGraph{
      .nodes = {{"Add", {"part", "shift"}, {"sum"}}}, .inputs = {f32("part"), f32("shift")}, .outputs = {f32("sum")}});
  const MessageWriter model =
      onnx_model({.nodes = {{"SplitToSequence", {"x", "two"}, {"parts"}, {onnx_int("axis", 1)}},
                            {"SequenceMap", {"parts", "shift"}, {"sums"}, {onnx_graph("body", body)}},
                            {"ConcatFromSequence", {"sums"}, {"y"}, {onnx_int("axis", 0)}}},
                  .inputs = {f32("x", {"n", 4}), f32("shift")},
                  .outputs = {f32("y")},
                  .initializers = {scalar("two", 2)}});
  const auto found = run_model(model, {floats_of({2, 4}, {1, 2, 3, 4, 5, 6, 7, 8}), floats_of({}, {10})});
  CHECK(found[0].extents() == reference::Extents{4, 2});
  CHECK(reference::read_all<double>(found[0]) == Numbers{11, 12, 15, 16, 13, 14, 17, 18});
}

namespace {

/// The sums of the columns of x[rows, columns] up to each column, from the last one on, with the columns of the
/// result in the order of `is_output_reversed`.
MessageWriter scan_model(const TestDim& columns, bool is_output_reversed) {
  const MessageWriter body = encode(TestGraph{.nodes = {{"Add", {"s", "column"}, {"next"}}},
                                              .inputs = {f32("s"), f32("column")},
                                              .outputs = {f32("next"), f32("next")}});
  return onnx_model(
      {.nodes = {{"Scan",
                  {"zero", "x"},
                  {"last", "all"},
                  {onnx_graph("body", body), onnx_int("num_scan_inputs", 1), onnx_ints("scan_input_axes", {1}),
                   onnx_ints("scan_input_directions", {1}), onnx_ints("scan_output_axes", {-1}),
                   onnx_ints("scan_output_directions", {is_output_reversed ? 1 : 0})},
                  "scan"}},
       .inputs = {f32("x", {2, columns})},
       .outputs = {f32("last"), f32("all")},
       .initializers = {onnx_tensor("zero", {2}, std::vector<float>{0, 0})}});
}

}  // namespace

TEST_CASE("a Scan goes along any axis, forwards or backwards, and so do its outputs") {
  for (const std::size_t columns : {std::size_t{1}, std::size_t{5}, std::size_t{13}}) {
    Numbers x, sums(2 * columns), reversed(2 * columns), last;
    for (std::size_t i = 0; i < 2 * columns; ++i) x.push_back(static_cast<double>(i * i % 11));
    for (std::size_t row = 0; row < 2; ++row) {
      double sum = 0;
      for (std::size_t n = 0; n < columns; ++n) {
        sum += x[row * columns + columns - 1 - n];
        sums[row * columns + n] = sum;
        reversed[row * columns + columns - 1 - n] = sum;
      }
      last.push_back(sum);
    }
    const auto extent = static_cast<std::int64_t>(columns);
    for (const TestDim& dim : {TestDim(extent), TestDim("columns")}) {
      for (const bool is_output_reversed : {false, true}) {
        const auto found = run_model(scan_model(dim, is_output_reversed), {floats_of({2, extent}, x)});
        CHECK(reference::read_all<double>(found[0]) == last);
        CHECK(reference::read_all<double>(found[1]) == (is_output_reversed ? reversed : sums));
      }
    }
  }
}

}  // namespace millrace::test
