// SPDX-License-Identifier: Apache-2.0
// Models that others trained give the outputs of ONNX Runtime: the numbers, and what an application makes of them.
#include "tests/graph/import/onnx/real_models.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "millrace/graph/compile_report.h"
#include "millrace/graph/onnx.h"
#include "millrace/graph/passes.h"
#include "millrace/graph/text.h"
#include "tests/graph/import/onnx/suite/agreement.h"

namespace millrace::test {
namespace {

constexpr double kF32Error = 1e-4, kF16Error = 1e-2;

float f32_at(const reference::Tensor& tensor, std::size_t i) {
  return reference::read_element<float>(tensor.type.dtype, tensor.element(static_cast<std::int64_t>(i)));
}

std::size_t largest_of(const reference::Tensor& tensor) {
  const auto values = reference::read_all<double>(tensor);
  return static_cast<std::size_t>(std::ranges::max_element(values) - values.begin());
}

/// A scalar input that decides which branches a model takes.
OnnxOptions with_value(const std::string& input, std::int64_t value) {
  OnnxOptions options;
  options.values[input] = {{DType::kI64, {}}, SharedBytes(std::as_bytes(std::span(&value, 1)))};
  return options;
}

/// The sampling rate, which decides branches; in the first model, the number of samples does so too.
OnnxOptions silero_options(const std::string& path) {
  OnnxOptions options = with_value("sr", 16000);
  if (path.find("op15") != std::string::npos) options.dims = {{"sequence", 576}};
  return options;
}

struct Case {
  const char* name;       // without .onnx
  const char* reference;  // in ref/, without .json
  double max_error = kF32Error;
  double ignored = 0;  // absolute differences that do not count
};
constexpr Case kCases[] = {
    {"mnist", "mnist.onnx"},
    {"mnist_float16", "mnist_float16.onnx", kF16Error},
    {"SqueezeNet_fp16", "SqueezeNet_fp16.onnx", kF16Error},
    {"light_squeezenet", "light_squeezenet.onnx"},
    {"ultraface-RFB-320", "ultraface-RFB-320.onnx"},
    // Its outputs obj_ are sigmoids of at most 1.8e-4. Those recorded are off by up to one ulp of 1.
    {"yunet_n_dynamic", "yunet_n_dynamic", kF32Error, 0x1p-23},
    {"gtcrn", "gtcrn"},
    {"gtcrn_simple", "gtcrn_simple"},
    {"micro_kws_m_fp32", "micro_kws_m_fp32"},
    {"silero_vad_16k_op15", "silero_vad_16k_op15.onnx"},
    {"silero_vad_op18_ifless", "silero_vad_op18_ifless.onnx"},
    {"vespa_random_encoder", "vespa_random_encoder"},
    {"vespa_random_decoder", "vespa_random_decoder"},
};

TEST_CASE("each real model gives the outputs that are recorded, f32 within 1e-4 of the largest value, f16 1e-2") {
  for (const Case& model_case : kCases) {
    const std::string path = model_path(std::string(model_case.name) + ".onnx");
    if (path.empty()) continue;
    SUBCASE(model_case.name) {
      const Recorded recorded = read_recorded(model_case.reference);
      const bool is_silero = recorded.inputs.contains("sr");
      RealModel model = load_model(path, is_silero ? silero_options(path) : OnnxOptions());
      const NamedTensors outputs = run_model(model, recorded.inputs);
      CHECK(outputs.size() == recorded.outputs.size());
      for (const auto& [name, expected] : recorded.outputs) {
        CAPTURE(name);
        REQUIRE(outputs.contains(name));
        REQUIRE(outputs.at(name).type.to_text() == expected.type.to_text());
        CHECK(share_of_largest(outputs.at(name), expected, model_case.ignored) <= model_case.max_error);
      }
    }
  }
}

/// Inputs of the decoder, by formulas.
NamedTensors decoder_inputs(std::int64_t batch, std::int64_t target, std::int64_t source) {
  reference::Tensor ids(DType::kI64, {batch, target});
  for (std::int64_t i = 0; i < batch * target; ++i) {
    const std::int64_t id = (i * 37 + 11) % 10000;
    std::memcpy(ids.bytes.data() + static_cast<std::size_t>(i) * sizeof(id), &id, sizeof(id));
  }
  std::vector<float> mask(static_cast<std::size_t>(batch * source)), states(mask.size() * 8);
  for (std::size_t i = 0; i < mask.size(); ++i) mask[i] = i % 3 == 1 ? -1.0f : 0.5f;
  for (std::size_t i = 0; i < states.size(); ++i) states[i] = static_cast<float>(std::sin(static_cast<double>(i)));
  return {{"input_ids", ids},
          {"encoder_attention_mask", f32_tensor({batch, source}, mask)},
          {"encoder_hidden_states", f32_tensor({batch, source, 8}, states)}};
}

TEST_CASE("the decoder serves other sizes: its mask is added along the target tokens, so the batch is 1 or as many") {
  const std::string path = model_path("vespa_random_decoder.onnx");
  if (path.empty()) return;
  RealModel model = load_model(path);
  CHECK(model.model.notes == std::vector<std::string>{"graph.node[191] (Add '/transformer_decoder/layers.0/"
                                                      "multihead_attn/Add_7'): batch must be 1 or target_tokens"});
  const auto check = [&](std::int64_t batch, std::int64_t target, std::int64_t source, double largest,
                         const std::vector<std::pair<std::size_t, double>>& expected) {
    const reference::Tensor logits = run_model(model, decoder_inputs(batch, target, source)).at("logits");
    for (const auto& [place, value] : expected) CHECK(std::fabs(f32_at(logits, place) - value) <= kF32Error * largest);
  };
  // The numbers are those of ONNX Runtime 1.32.
  check(1, 4, 6, 2.3433359, {{37389, -0.42216381}, {34778, 1.11164117}, {26945, -0.58237058}, {19112, -0.15447292}});
  check(3, 3, 2, 2.2813065, {{47389, 0.91846800}, {4778, 1.03477895}, {61723, 0.27640238}, {19112, -0.10304110}});
}

TEST_CASE("the int8 model with Q and DQ pairs is within one step of the recorded output") {
  const std::string path = model_path("micro_kws_m_qdq.onnx");
  if (path.empty()) return;
  const Recorded recorded = read_recorded("micro_kws_m_qdq");
  RealModel model = load_model(path);
  const NamedTensors outputs = run_model(model, recorded.inputs);
  const auto& [name, expected] = *recorded.outputs.begin();
  constexpr float kStep = 1.0f / 255;  // the scale of its output
  for (std::size_t i = 0; i < 10; ++i) {
    CHECK(std::fabs(f32_at(outputs.at(name), i) - f32_at(expected, i)) <= 1.001f * kStep);
    const float num_steps = f32_at(outputs.at(name), i) / kStep;
    CHECK(std::fabs(num_steps - std::round(num_steps)) < 0.01f);
  }
}

TEST_CASE("the digit is an 8, and the picture shows a kitten with p = 0.917") {
  if (const std::string path = model_path("mnist.onnx"); !path.empty()) {
    RealModel model = load_model(path);
    const std::vector<float> digit = read_numbers(model_path("data/mnist_28.csv"));
    CHECK(largest_of(run_model(model, {{"Input3", f32_tensor({1, 1, 28, 28}, digit)}}).begin()->second) == 8);
  }
  if (const std::string path = model_path("SqueezeNet_fp16.onnx"); !path.empty()) {
    RealModel model = load_model(path);
    const std::vector<float> pixels = read_numbers(model_path("data/kitten_224.csv"));
    const auto picture =
        reference::make_tensor(DType::kF16, {1, 3, 224, 224}, std::vector<double>(pixels.begin(), pixels.end()));
    const reference::Tensor classes = run_model(model, {{"data_0", picture}}).begin()->second;
    CHECK(largest_of(classes) == 281);
    CHECK(std::fabs(f32_at(classes, 281) - 0.917f) < 0.02f);
  }
}

TEST_CASE("ResNet-50 with equal weights gives every class the same probability") {
  const std::string path = model_path("light_resnet50.onnx");
  if (path.empty()) return;
  RealModel model = load_model(path);
  const std::vector<float> pixels(3 * 224 * 224, 0.5f);
  const NamedTensors outputs = run_model(model, {{"gpu_0/data_0", f32_tensor({1, 3, 224, 224}, pixels)}});
  const reference::Tensor& classes = outputs.at("gpu_0/softmax_1");
  REQUIRE(classes.type.to_text() == "f32[1x1000]");
  for (std::size_t i = 0; i < 1000; ++i) REQUIRE(std::fabs(f32_at(classes, i) - 0.001f) < 1e-7f);
}

/// The probability of speech in each frame of 512 samples, which follow 64 of the frame before.
std::vector<float> speech_of(RealModel& model, const std::vector<std::int16_t>& samples) {
  constexpr std::size_t kFrame = 512, kContext = 64;
  std::vector<float> probabilities, window(kContext + kFrame);
  reference::Tensor state(DType::kF32, {2, 1, 128});
  for (std::size_t begin = 0; begin + kFrame <= samples.size(); begin += kFrame) {
    std::copy(window.end() - kContext, window.end(), window.begin());
    for (std::size_t i = 0; i < kFrame; ++i) window[kContext + i] = static_cast<float>(samples[begin + i]) / 32768.0f;
    NamedTensors outputs = run_model(model, {{"input", f32_tensor({1, kContext + kFrame}, window)}, {"state", state}});
    probabilities.push_back(f32_at(outputs.at("output"), 0));
    state = std::move(outputs.at("stateN"));
  }
  return probabilities;
}

TEST_CASE("1452 frames of the recording are speech, each as probable as recorded") {
  for (const char* name : {"silero_vad_16k_op15.onnx", "silero_vad_op18_ifless.onnx"}) {
    const std::string path = model_path(name);
    if (path.empty()) continue;
    SUBCASE(name) {
      constexpr std::size_t kHeader = 44;
      const std::string wave = read_text(model_path("data/silero_test.wav"));
      std::vector<std::int16_t> samples((wave.size() - kHeader) / 2);
      std::memcpy(samples.data(), wave.data() + kHeader, samples.size() * 2);
      const std::vector<float> expected = read_raw<float>(model_path("ref/silero_test_wav_probs.f32"));
      RealModel model = load_model(path, silero_options(path));
      const std::vector<float> found = speech_of(model, samples);
      REQUIRE(found.size() >= expected.size());
      CHECK(std::ranges::count_if(found, [](float p) { return p > 0.5f; }) == 1452);
      for (std::size_t i = 0; i < expected.size(); ++i) {
        CAPTURE(i);
        REQUIRE(std::fabs(found[i] - expected[i]) < 1e-4f);
      }
    }
  }
}

struct Box {
  float score = 0, x1 = 0, y1 = 0, x2 = 0, y2 = 0;
};

float overlap(const Box& a, const Box& b) {
  const float width = std::min(a.x2, b.x2) - std::max(a.x1, b.x1), height = std::min(a.y2, b.y2) - std::max(a.y1, b.y1);
  const float common = std::max(width, 0.0f) * std::max(height, 0.0f);
  return common / ((a.x2 - a.x1) * (a.y2 - a.y1) + (b.x2 - b.x1) * (b.y2 - b.y1) - common);
}

/// The boxes above the score of 0.7 that overlap no better one by more than 0.3.
std::vector<Box> faces_of(const reference::Tensor& scores, const reference::Tensor& boxes) {
  std::vector<Box> found, kept;
  for (std::size_t i = 0; i < 4420; ++i) {
    const auto side = [&](std::size_t k) { return f32_at(boxes, 4 * i + k); };
    const float score = f32_at(scores, 2 * i + 1);
    if (score > 0.7f) found.push_back({score, side(0), side(1), side(2), side(3)});
  }
  std::ranges::sort(found, std::ranges::greater(), &Box::score);
  for (const Box& box : found) {
    if (std::ranges::none_of(kept, [&](const Box& better) { return overlap(box, better) > 0.3f; })) kept.push_back(box);
  }
  return kept;
}

TEST_CASE("the face detector finds the 44 and 71 faces of two pictures") {
  const std::string path = model_path("ultraface-RFB-320.onnx");
  if (path.empty()) return;
  RealModel model = load_model(path);
  for (const auto& [picture, count] : {std::pair("1", 44), std::pair("27", 71)}) {
    const auto pixels = read_raw<float>(model_path(fmt::format("data/ultraface_{}_320x240.f32", picture)));
    const NamedTensors outputs = run_model(model, {{"input", f32_tensor({1, 3, 240, 320}, pixels)}});
    CHECK(faces_of(outputs.at("scores"), outputs.at("boxes")).size() == static_cast<std::size_t>(count));
  }
}

TEST_CASE("the sampler draws the recorded tokens from 40 of 1000 logits") {
  const std::string path = model_path("topk_sampler.onnx");
  if (path.empty()) return;
  OnnxOptions options;
  const std::int64_t k = 40;
  options.values["k"] = {{DType::kI64, {1}}, SharedBytes(std::as_bytes(std::span(&k, 1)))};
  RealModel model = load_model(path, options);
  std::vector<float> logits(1000);
  for (std::size_t i = 0; i < logits.size(); ++i)
    logits[i] = static_cast<float>(std::sin(12.9898 * static_cast<double>(i)));
  for (const auto& [u, token] : {std::pair(0.05f, 805), std::pair(0.5f, 701), std::pair(0.95f, 924)}) {
    const NamedTensors outputs = run_model(
        model,
        {{"logits", f32_tensor({1, 1000}, logits)}, {"temp", f32_tensor({}, {0.8f})}, {"u", f32_tensor({1, 1}, {u})}});
    CHECK(reference::read_all<double>(outputs.at("token")) == std::vector<double>{static_cast<double>(token)});
  }
}

/// The arrays of an .npz file that is not compressed, in their order.
std::vector<reference::Tensor> read_arrays(const std::string& path) {
  const std::string file = read_text(path);
  std::vector<reference::Tensor> arrays;
  for (std::size_t at = file.find("\x93NUMPY"); at != file.npos; at = file.find("\x93NUMPY", at + 1)) {
    constexpr std::size_t kHeader = 128, kBytes = 36;  // of an array of 3x3 f32
    arrays.emplace_back(DType::kF32, reference::Extents{3, 3});
    REQUIRE(at + kHeader + kBytes <= file.size());
    std::memcpy(arrays.back().bytes.data(), file.data() + at + kHeader, kBytes);
  }
  return arrays;
}

TEST_CASE("the quantised LSTM in a Scan gives the recorded output") {
  const std::string path = model_path("tract_qlstm_scan.onnx");
  if (path.empty()) return;
  const std::vector<reference::Tensor> arrays = read_arrays(model_path("tract_qlstm_scan.io.npz"));
  REQUIRE(arrays.size() == 2);
  RealModel model = load_model(path);
  CHECK(share_of_largest(run_model(model, {{"input", arrays[0]}}).at("output"), arrays[1]) <= kF32Error);
}

/// The graph's text without names. Nodes are in the order in which the outputs need them.
std::string ordered_text(const Graph& graph) {
  Graph ordered;
  ordered.name = graph.name;
  std::map<NodeId, NodeId> places;
  const std::function<NodeId(NodeId)> place = [&](NodeId id) {
    if (const auto found = places.find(id); found != places.end()) return found->second;
    Node node = graph.nodes[id];
    node.names.clear();
    node.scope.reset();
    for (Value& operand : node.operands) operand.node = place(operand.node);
    return places[id] = ordered.nodes.push_back(std::move(node));
  };
  for (const NodeId input : graph.inputs) ordered.inputs.push_back(place(input));
  for (GraphOutput output : graph.outputs) {
    output.value.node = place(output.value.node);
    ordered.outputs.push_back(std::move(output));
  }
  return to_text(ordered);
}

TEST_CASE("gtcrn is the same graph before and after its simplification by another tool") {
  const std::string whole = model_path("gtcrn.onnx"), simple = model_path("gtcrn_simple.onnx");
  if (whole.empty() || simple.empty()) return;
  Graph one = import_onnx(whole).value().graph, other = import_onnx(simple).value().graph;
  for (Graph* graph : {&one, &other}) {
    REQUIRE(run_passes(*graph, std::span(kGraphPasses).first(4)).status().message() == "");
  }
  CHECK(one.nodes.size() == other.nodes.size());
  const bool are_equal = ordered_text(one) == ordered_text(other);  // texts of 2 MB
  CHECK(are_equal);
}

TEST_CASE("models with ops of com.microsoft, and with results whose size the elements decide, are refused by name") {
  const auto error_of = [](const std::string& path) { return import_onnx(path).status().message(); };
  if (const std::string path = model_path("micro_kws_m_qoperator.onnx"); !path.empty()) {
    CHECK(error_of(path).find("com.microsoft") != std::string::npos);
  }
  if (const std::string path = model_path("tiny_qwen35_decoder.onnx"); !path.empty()) {
    CHECK(error_of(path).find("GroupQueryAttention") != std::string::npos);
  }
  for (const char* name : {"nms_yolov8.onnx", "ultraface-RFB-320_nms.onnx"}) {
    if (const std::string path = model_path(name); !path.empty()) {
      CHECK(error_of(path).find("NonMaxSuppression") != std::string::npos);
    }
  }
}

}  // namespace
}  // namespace millrace::test
