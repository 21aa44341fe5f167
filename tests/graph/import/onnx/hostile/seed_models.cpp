// SPDX-License-Identifier: Apache-2.0
#include "tests/graph/import/onnx/hostile/seed_models.h"

#include <utility>

namespace millrace {
namespace {

using Floats = std::vector<float>;
using Integers = std::vector<std::int64_t>;

constexpr std::int64_t kOnnxUint8 = 2, kOnnxInt8 = 3, kOnnxInt32 = 6, kOnnxDouble = 11, kOnnxInt4 = 22;

MessageWriter integers(std::string_view name, const Integers& values) {
  return onnx_tensor(name, {static_cast<std::int64_t>(values.size())}, values);
}
MessageWriter integer(std::string_view name, std::int64_t value) { return onnx_tensor(name, {}, Integers{value}); }
MessageWriter f32(std::string_view name, const std::vector<TestDim>& dims) {
  return onnx_value(name, kOnnxFloat, dims);
}
MessageWriter result(std::string_view name) { return MessageWriter().text(1, name); }

/// Numbers in [-1, 1].
MessageWriter weights(std::string_view name, const Integers& dims) {
  std::size_t count = 1;
  for (const std::int64_t dim : dims) count *= static_cast<std::size_t>(dim);
  Floats values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<float>(i * 37 % 129) / 64.0F - 1.0F;
  return onnx_tensor(name, dims, values);
}

MessageWriter network() {
  return onnx_model(
      {.nodes = {{"Conv",
                  {"x", "w", "bias"},
                  {"a"},
                  {onnx_ints("kernel_shape", {3, 3}), onnx_ints("pads", {1, 1, 1, 1}), onnx_ints("strides", {2, 1})},
                  "/stem/conv/Conv"},
                 {"BatchNormalization", {"a", "bias", "bias", "bias", "one"}, {"b"}, {onnx_float("epsilon", 0.001F)}},
                 {"Relu", {"b"}, {"c"}},
                 {"MaxPool", {"c"}, {"d"}, {onnx_ints("kernel_shape", {2, 2}), onnx_int("ceil_mode", 1)}},
                 {"ConvTranspose", {"d", "wt"}, {"e"}, {onnx_ints("strides", {2, 2}), onnx_text("auto_pad", "VALID")}},
                 {"GlobalAveragePool", {"e"}, {"f"}},
                 {"Flatten", {"f"}, {"g"}},
                 {"Gemm", {"g", "m"}, {"h"}, {onnx_float("alpha", 0.5F), onnx_int("transB", 1)}},
                 {"Softmax", {"h"}, {"y"}, {onnx_int("axis", -1)}}},
       .inputs = {f32("x", {"n", 2, 6, "width"})},
       .outputs = {result("y")},
       .initializers = {weights("w", {4, 2, 3, 3}), weights("bias", {4}), onnx_tensor("one", {4}, Floats{1, 1, 2, 1}),
                        weights("wt", {4, 3, 2, 2}), weights("m", {5, 3})}},
      13);
}

MessageWriter shapes() {
  return onnx_model({.nodes = {{"Shape", {"x"}, {"s"}, {onnx_int("start", 0)}},
                               {"Gather", {"s", "first"}, {"n"}},
                               {"Mul", {"n", "two"}, {"m"}},
                               {"Div", {"m", "two"}, {"k"}},
                               {"Unsqueeze", {"k", "axes"}, {"k1"}},
                               {"Concat", {"k1", "tail"}, {"t"}, {onnx_int("axis", 0)}},
                               {"Reshape", {"x", "t"}, {"a"}, {}, "/block/Reshape"},
                               {"Slice", {"s", "one", "three", "axes"}, {"rest"}},
                               {"ConstantOfShape", {"rest"}, {"zeros"}},
                               {"Expand", {"zeros", "s"}, {"b"}},
                               {"Range", {"first", "k", "two"}, {"r"}},
                               {"Cast", {"r"}, {"c"}, {onnx_int("to", kOnnxFloat)}},
                               {"Unsqueeze", {"a", "axes"}, {"a1"}},
                               {"Squeeze", {"a1", "axes"}, {"d"}},
                               {"Transpose", {"x"}, {"e"}, {onnx_ints("perm", {2, 0, 1})}},
                               {"Size", {"e"}, {"f"}}},
                     .inputs = {f32("x", {"n", 4, "m + 1"}), f32("other", {"m"})},
                     .outputs = {result("a"), result("b"), result("c"), result("d"), result("e"), result("f")},
                     .initializers = {integer("first", 0), integer("two", 2), integers("axes", {0}),
                                      integers("tail", {2, -1}), integers("one", {1}), integers("three", {3})}});
}

MessageWriter branch(const std::string& op) {
  return encode(TestGraph{.nodes = {{op, {"x"}, {"r"}}}, .inputs = {}, .outputs = {result("r")}});
}

MessageWriter bodies() {
  const MessageWriter loop =
      encode(TestGraph{.nodes = {{"Add", {"s", "x"}, {"next"}}, {"ReduceSum", {"next"}, {"out"}}},
                       .inputs = {onnx_value("i", kOnnxInt64, {}), onnx_value("c", kOnnxBool, {}), result("s")},
                       .outputs = {result("c"), result("next"), result("out")}});
  const MessageWriter scan =
      encode(TestGraph{.nodes = {{"Mul", {"state", "row"}, {"after"}}, {"Neg", {"after"}, {"each"}}},
                       .inputs = {result("state"), result("row")},
                       .outputs = {result("after"), result("each")}});
  return onnx_model(
      {.nodes =
           {{"If", {"is"}, {"a"}, {onnx_graph("then_branch", branch("Exp")), onnx_graph("else_branch", branch("Neg"))}},
            {"Loop", {"count", "", "x"}, {"b", "all"}, {onnx_graph("body", loop)}, "loop"},
            {"Scan",
             {"start", "x"},
             {"c", "rows"},
             {onnx_graph("body", scan), onnx_int("num_scan_inputs", 1), onnx_ints("scan_input_directions", {1})}}},
       .inputs = {f32("x", {3, 2}), f32("start", {2}), onnx_value("is", kOnnxBool, {})},
       .outputs = {result("a"), result("b"), result("all"), result("c"), result("rows")},
       .initializers = {integer("count", 3)}},
      16);
}

MessageWriter functions() {
  const auto function = [](std::string_view name, const std::vector<TestNode>& nodes) {
    MessageWriter message = MessageWriter().text(1, name).text(4, "a").text(5, "b").text(6, "slope").text(10, "f");
    for (const TestNode& node : nodes) message.message(7, encode(node));
    message.message(9, MessageWriter().text(1, "").integer(2, 18)).message(11, onnx_float("alpha", 0.25F));
    return message.message(9, MessageWriter().text(1, "f").integer(2, 1));
  };
  return MessageWriter()
      .integer(1, 9)
      .message(8, MessageWriter().text(1, "f").integer(2, 1))
      .message(8, MessageWriter().text(1, "").integer(2, 18))
      .message(25, function("F", {{"G", {"a"}, {"c"}, {onnx_reference("slope", "slope", 1)}, "inner", "f"},
                                  {"LeakyRelu", {"c"}, {"b"}, {onnx_reference("alpha", "slope", 1)}}}))
      .message(25, function("G", {{"Elu", {"a"}, {"b"}, {onnx_reference("alpha", "alpha", 1)}}}))
      .message(7, encode(TestGraph{.nodes = {{"F", {"x"}, {"z"}, {onnx_float("slope", 2)}, "call", "f"},
                                             {"F", {"z"}, {"y"}, {}, "again", "f"}},
                                   .inputs = {f32("x", {"n"})},
                                   .outputs = {result("y")}}));
}

MessageWriter sequences() {
  return onnx_model({.nodes = {{"SplitToSequence", {"x", "two"}, {"s"}, {onnx_int("axis", 1)}},
                               {"SequenceAt", {"s", "last"}, {"a"}},
                               {"SequenceInsert", {"s", "a"}, {"s2"}},
                               {"SequenceErase", {"s2", "last"}, {"s3"}},
                               {"ConcatFromSequence", {"s3"}, {"b"}, {onnx_int("axis", 1)}},
                               {"SequenceConstruct", {"a", "a"}, {"s4"}},
                               {"SequenceLength", {"s4"}, {"c"}},
                               {"Optional", {"a"}, {"o"}},
                               {"OptionalHasElement", {"o"}, {"d"}},
                               {"OptionalGetElement", {"o"}, {"e"}}},
                     .inputs = {f32("x", {3, 6})},
                     .outputs = {result("b"), result("c"), result("d"), result("e")},
                     .initializers = {integer("two", 2), integer("last", -1)}});
}

MessageWriter quantized() {
  const MessageWriter int4 =
      MessageWriter().integer(1, 2).integer(1, 4).integer(2, kOnnxInt4).text(8, "w4").text(9, "\x21\x43\x65\x07");
  return onnx_model(
      {.nodes = {{"QuantizeLinear", {"x", "scale", "zero"}, {"q"}},
                 {"DequantizeLinear", {"q", "scale", "zero"}, {"a"}},
                 {"QLinearConv", {"q", "scale", "zero", "w", "scale", "wz", "scale", "zero"}, {"b"}},
                 {"ConvInteger", {"q", "w", "zero"}, {"c"}, {onnx_ints("pads", {1, 1, 1, 1})}},
                 {"MatMulInteger", {"q", "m"}, {"d"}},
                 {"QLinearMatMul", {"q", "scale", "zero", "m", "scale", "wz", "scale", "zero"}, {"e"}},
                 {"DynamicQuantizeLinear", {"x"}, {"f", "fs", "fz"}},
                 {"DequantizeLinear", {"w4", "scales"}, {"g"}, {onnx_int("axis", 1), onnx_int("block_size", 2)}}},
       .inputs = {f32("x", {1, 1, "h", 4})},
       .outputs = {result("a"), result("b"), result("c"), result("d"), result("e"), result("f"), result("g")},
       .initializers = {onnx_tensor("scale", {}, Floats{0.5F}),
                        onnx_tensor("zero", kOnnxUint8, {}, std::string_view("\x80", 1)),
                        onnx_tensor("wz", kOnnxInt8, {}, std::string_view("\0", 1)),
                        onnx_tensor("w", kOnnxInt8, {1, 1, 2, 2}, "\x01\x02\x03\x04"),
                        onnx_tensor("m", kOnnxInt8, {4, 2}, "\x01\x02\x03\x04\x05\x06\x07\x08"),
                        onnx_tensor("scales", {2, 2}, Floats{1, 2, 3, 4}), int4}},
      21);
}

MessageWriter recurrent() {
  return onnx_model(
      {.nodes = {{"LSTM",
                  {"x", "w4", "r4", "", "lengths"},
                  {"a", "ah", "ac"},
                  {onnx_int("hidden_size", 3), onnx_text("direction", "reverse"), onnx_float("clip", 2)}},
                 {"GRU", {"x", "w3", "r3"}, {"b"}, {onnx_int("hidden_size", 3), onnx_int("linear_before_reset", 1)}},
                 {"RNN", {"x", "w1", "r1"}, {"c"}, {onnx_int("hidden_size", 3)}}},
       .inputs = {f32("x", {4, "batch", 2}), onnx_value("lengths", kOnnxInt32, {"batch"})},
       .outputs = {result("a"), result("ac"), result("b"), result("c")},
       .initializers = {weights("w4", {1, 12, 2}), weights("r4", {1, 12, 3}), weights("w3", {1, 9, 2}),
                        weights("r3", {1, 9, 3}), weights("w1", {1, 3, 2}), weights("r1", {1, 3, 3})}});
}

MessageWriter images() {
  return onnx_model(
      {.nodes =
           {{"Resize", {"x", "", "scales"}, {"a"}, {onnx_text("mode", "cubic"), onnx_int("antialias", 1)}},
            {"Resize", {"x", "", "", "sizes"}, {"b"}, {onnx_text("mode", "nearest")}},
            {"Pad", {"x", "pads"}, {"c"}, {onnx_text("mode", "reflect")}},
            {"GridSample", {"x", "grid"}, {"d"}, {onnx_text("padding_mode", "border")}},
            {"RoiAlign",
             {"x", "rois", "batch"},
             {"e"},
             {onnx_int("output_height", 2), onnx_int("output_width", 2), onnx_int("sampling_ratio", 2)}},
            {"DepthToSpace", {"x"}, {"f"}, {onnx_int("blocksize", 2)}},
            {"SpaceToDepth", {"f"}, {"g"}, {onnx_int("blocksize", 2)}},
            {"AveragePool", {"x"}, {"h"}, {onnx_ints("kernel_shape", {2, 2}), onnx_ints("dilations", {1, 1})}},
            {"Col2Im", {"columns", "im", "block"}, {"i"}},
            {"MaxPool", {"x"}, {"p", "places"}, {onnx_ints("kernel_shape", {2, 2}), onnx_ints("strides", {2, 2})}},
            {"MaxUnpool", {"p", "places"}, {"j"}, {onnx_ints("kernel_shape", {2, 2}), onnx_ints("strides", {2, 2})}},
            {"CenterCropPad", {"x", "crop"}, {"k"}, {onnx_ints("axes", {2, 3})}}},
       .inputs = {f32("x", {1, 4, 4, 6}), f32("grid", {1, 3, 3, 2}), f32("rois", {2, 4}), f32("columns", {1, 4, 9}),
                  onnx_value("batch", kOnnxInt64, {2})},
       .outputs = {result("a"), result("b"), result("c"), result("d"), result("e"), result("g"), result("h"),
                   result("i"), result("j"), result("k")},
       .initializers = {onnx_tensor("scales", {4}, Floats{1, 1, 0.5F, 1.5F}), integers("sizes", {1, 4, 8, 3}),
                        integers("pads", {0, 0, 1, 1, 0, 0, 2, 0}), integers("im", {4, 4}), integers("block", {2, 2}),
                        integers("crop", {2, 8})}});
}

MessageWriter indices() {
  return onnx_model(
      {.nodes = {{"TopK", {"x", "k"}, {"v", "i"}, {onnx_int("axis", 1)}},
                 {"GatherElements", {"x", "i"}, {"a"}, {onnx_int("axis", 1)}},
                 {"ScatterElements", {"x", "i", "v"}, {"b"}, {onnx_int("axis", 1), onnx_text("reduction", "add")}},
                 {"GatherND", {"x", "at"}, {"c"}},
                 {"ScatterND", {"x", "at", "c"}, {"d"}},
                 {"OneHot", {"i", "depth", "two_values"}, {"e"}},
                 {"CumSum", {"x", "axis"}, {"f"}, {onnx_int("reverse", 1)}},
                 {"Trilu", {"x", "axis"}, {"g"}, {onnx_int("upper", 0)}},
                 {"Split", {"x", "parts"}, {"s1", "s2"}, {onnx_int("axis", 1)}},
                 {"Tile", {"s1", "times"}, {"h"}},
                 {"ArgMax", {"x"}, {"j"}, {onnx_int("keepdims", 0)}},
                 {"EyeLike", {"x"}, {"l"}, {onnx_int("dtype", kOnnxDouble)}},
                 {"NonZero", {"at"}, {"m"}},
                 {"Where", {"mask", "x", "s2"}, {"o"}},
                 {"ReduceMean", {"x", "axes"}, {"p"}, {onnx_int("keepdims", 0)}}},
       .inputs = {f32("x", {"n", 4}), onnx_value("mask", kOnnxBool, {"n", 1})},
       .outputs = {result("a"), result("b"), result("d"), result("e"), result("f"), result("g"), result("h"),
                   result("j"), result("l"), result("m"), result("p")},
       .initializers = {integers("k", {2}), onnx_tensor("at", {2, 1}, Integers{0, 1}), integer("depth", 4),
                        onnx_tensor("two_values", {2}, Floats{0, 1}), integer("axis", 1), integers("parts", {3, 1}),
                        integers("times", {1, 2}), integers("axes", {1})}});
}

MessageWriter attention() {
  return onnx_model(
      {.nodes = {{"LayerNormalization", {"x", "scale"}, {"a"}, {onnx_float("epsilon", 1e-5F)}},
                 {"Attention", {"a", "x", "x"}, {"b"}, {onnx_int("q_num_heads", 2), onnx_int("kv_num_heads", 2)}},
                 {"Einsum", {"x", "m"}, {"c"}, {onnx_text("equation", "bsd,de->bse")}},
                 {"RMSNormalization", {"c", "scale"}, {"d"}},
                 {"Gelu", {"d"}, {"e"}, {onnx_text("approximate", "tanh")}},
                 {"MatMul", {"e", "m"}, {"f"}},
                 {"Clip", {"f", "low"}, {"g"}},
                 {"LpNormalization", {"g"}, {"h"}, {onnx_int("p", 1)}},
                 {"Dropout", {"h"}, {"y"}}},
       .inputs = {f32("x", {"batch", "sequence", 8})},
       .outputs = {result("b"), result("y")},
       .initializers = {weights("scale", {8}), weights("m", {8, 8}), onnx_tensor("low", {}, Floats{-3})}},
      24);
}

MessageWriter signals() {
  return onnx_model(
      {.nodes = {{"HannWindow", {"size"}, {"w"}, {onnx_int("periodic", 1)}},
                 {"STFT", {"x", "step", "w"}, {"a"}},
                 {"DFT", {"z"}, {"b"}, {onnx_int("axis", 1), onnx_int("inverse", 1)}},
                 {"MelWeightMatrix", {"bins", "size", "rate", "low", "high"}, {"c"}},
                 {"RandomNormalLike", {"x"}, {"d"}, {onnx_float("seed", 1)}},
                 {"Constant", {}, {"e"}, {MessageWriter().text(1, "value_floats").real(7, 1).integer(20, 6)}}},
       .inputs = {f32("x", {1, 32, 1}), f32("z", {1, 8, 2})},
       .outputs = {result("a"), result("b"), result("c"), result("d"), result("e")},
       .initializers = {integer("size", 8), integer("step", 4), integer("bins", 4), integer("rate", 16000),
                        onnx_tensor("low", {}, Floats{20}), onnx_tensor("high", {}, Floats{8000})}},
      17);
}

/// Elements in each field that may hold them, and fields that no graph needs.
MessageWriter fields() {
  const MessageWriter sparse = MessageWriter()
                                   .message(1, onnx_tensor("sparse", {2}, Floats{1, 2}))
                                   .message(2, onnx_tensor("", {2}, Integers{0, 3}))
                                   .integer(3, 2)
                                   .integer(3, 2);
  const auto listed = [](std::string_view name, std::int64_t type, std::uint32_t field, std::string_view packed) {
    return MessageWriter().integer(1, 2).integer(2, type).text(8, name).text(field, packed);
  };
  const std::string_view two_doubles("\0\0\0\0\0\0\xf0\x3f\0\0\0\0\0\0\0\x40", 16);
  const MessageWriter graph =
      encode(TestGraph{.nodes = {{"Add", {"x", "sparse"}, {"a"}},
                                 {"Mul", {"doubles", "doubles"}, {"b"}},
                                 {"Sub", {"ints", "ints"}, {"c"}},
                                 {"Neg", {"shorts"}, {"d"}},
                                 {"Add", {"longs", "longs"}, {"e"}},
                                 {"Exp", {"floats"}, {"f"}}},
                       .inputs = {f32("x", {"batch*2", 2}), f32("y", {"batch"})},
                       .outputs = {result("a"), result("b"), result("c"), result("d"), result("e"), result("f")},
                       .initializers = {listed("doubles", kOnnxDouble, 10, two_doubles),
                                        listed("ints", kOnnxInt32, 5, "\x05\x07"), listed("shorts", 5, 5, "\x05\x07"),
                                        listed("longs", kOnnxInt64, 7, "\x05\x07"),
                                        listed("floats", kOnnxFloat, 4, two_doubles.substr(8))}})
          .message(15, sparse)
          .message(13, onnx_value("a", kOnnxFloat, {"", 2}))
          .text(10, "text");
  return MessageWriter()
      .integer(1, 10)
      .text(2, "tests")
      .integer(5, 1)
      .message(8, MessageWriter().text(1, "ai.onnx").integer(2, 22))
      .message(14, MessageWriter().text(1, "key").text(2, "value"))
      .message(7, graph);
}

}  // namespace

std::vector<SeedModel> seed_models() {
  return {{"network", network()},     {"shapes", shapes()},       {"bodies", bodies()},
          {"functions", functions()}, {"sequences", sequences()}, {"quantized", quantized()},
          {"recurrent", recurrent()}, {"images", images()},       {"indices", indices()},
          {"attention", attention()}, {"signals", signals()},     {"fields", fields()}};
}

}  // namespace millrace
