// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "examples/digits/digit_network.h"
#include "examples/digits/digit_set.h"
#include "millrace/millrace.h"
#include "tests/hip_standin/standin.h"
#include "tests/support/graphs/reference_graph.h"
#include "tests/support/graphs/round_trip.h"

using namespace millrace;

namespace {

constexpr char kFile[] = MILLRACE_SOURCE_DIR "/examples/digits/digits.safetensors";

struct Answers {
  std::vector<float> probabilities;
  std::vector<std::int64_t> classes;
};

/// The split in batches of `batch`, the last one smaller where the network allows it.
Answers run_compiled(const Graph& graph, const digits::DigitSet& digits, std::size_t batch,
                     const std::string& device = "cpu") {
  CompileOptions options;
  options.device = device;
  const Program program = compile(graph, options).value();
  Session session = Session::create(program).value();
  Answers answers = {std::vector<float>(digits.size() * digits::kGuesses),
                     std::vector<std::int64_t>(digits.size() * digits::kGuesses)};
  for (std::size_t first = 0; first < digits.size(); first += batch) {
    const std::size_t count = std::min(batch, digits.size() - first);
    const auto pixels = std::span(digits.pixels).subspan(first * 64, count * 64);
    const std::size_t start = first * digits::kGuesses, size = count * digits::kGuesses;
    auto probabilities = std::span(answers.probabilities).subspan(start, size);
    auto classes = std::span(answers.classes).subspan(start, size);
    const TensorBinding inputs[] = {bind(pixels, {static_cast<std::int64_t>(count), 1, 8, 8})};
    const TensorBinding outputs[] = {bind(probabilities), bind(classes)};
    const Status status = session.run(inputs, outputs);
    CHECK_MESSAGE(status.ok(), status.message());
  }
  return answers;
}

Answers run_oracle(const Graph& graph, const digits::DigitSet& digits) {
  reference::Tensor images(DType::kF32, {static_cast<std::int64_t>(digits.size()), 1, 8, 8});
  REQUIRE(images.bytes.size() == digits.pixels.size() * sizeof(float));
  std::memcpy(images.bytes.data(), digits.pixels.data(), images.bytes.size());
  const std::vector<reference::Tensor> outputs = evaluate_graph(graph, std::span(&images, 1));
  REQUIRE(outputs.size() == 2);
  Answers answers = {std::vector<float>(digits.size() * digits::kGuesses),
                     std::vector<std::int64_t>(digits.size() * digits::kGuesses)};
  REQUIRE(outputs[0].bytes.size() == answers.probabilities.size() * sizeof(float));
  REQUIRE(outputs[1].bytes.size() == answers.classes.size() * sizeof(std::int64_t));
  std::memcpy(answers.probabilities.data(), outputs[0].bytes.data(), outputs[0].bytes.size());
  std::memcpy(answers.classes.data(), outputs[1].bytes.data(), outputs[1].bytes.size());
  return answers;
}

std::size_t count_right(const Answers& answers, const digits::DigitSet& digits) {
  std::size_t right = 0;
  for (std::size_t i = 0; i < digits.size(); ++i) right += answers.classes[i * digits::kGuesses] == digits.labels[i];
  return right;
}

}  // namespace

TEST_CASE("the digit network comes back from its text") {
  const Graph graph = digits::build_digit_network(Safetensors::read(kFile).value(), 1).value();
  CHECK(round_trip_problem(graph) == "");
}

TEST_CASE("the compiled digit network gives the oracle's top 3, with probabilities within 1e-5") {
  const Safetensors file = Safetensors::read(kFile).value();
  const digits::DigitSet digits = digits::read_test_split(file).value();
  const Graph graph = digits::build_digit_network(file, static_cast<std::int64_t>(digits.size())).value();
  const Answers oracle = run_oracle(graph, digits);
  const Answers compiled = run_compiled(graph, digits, digits.size());

  float worst = 0;
  for (std::size_t i = 0; i < oracle.probabilities.size(); ++i) {
    worst = std::max(worst, std::fabs(oracle.probabilities[i] - compiled.probabilities[i]));
  }
  CHECK(worst <= 1e-5f);
  CHECK(oracle.classes == compiled.classes);
  // What PyTorch found when it had trained the network.
  CHECK(count_right(oracle, digits) == 447);
  CHECK(count_right(compiled, digits) == 447);
}

TEST_CASE("one program of a dynamic batch gives the same top 3 at every batch size") {
  const Safetensors file = Safetensors::read(kFile).value();
  const digits::DigitSet digits = digits::read_test_split(file).value();
  const Graph graph = digits::build_digit_network(file, static_cast<std::int64_t>(digits.size())).value();
  const Answers oracle = run_oracle(graph, digits);
  const Graph dynamic = digits::build_digit_network(file, Dim("batch")).value();
  for (const std::size_t batch : {1, 7, 64, 450}) {
    const Answers compiled = run_compiled(dynamic, digits, batch);
    CHECK(oracle.classes == compiled.classes);
    float worst = 0;
    for (std::size_t i = 0; i < oracle.probabilities.size(); ++i) {
      worst = std::max(worst, std::fabs(oracle.probabilities[i] - compiled.probabilities[i]));
    }
    CHECK(worst <= 1e-5f);
  }
}

TEST_CASE("a digit network with missing weights says so") {
  const Safetensors empty =
      Safetensors::parse("empty.safetensors",
                         {std::byte{2}, {}, {}, {}, {}, {}, {}, {}, std::byte{'{'}, std::byte{'}'}})
          .value();
  const Result<Graph> graph = digits::build_digit_network(empty, 1);
  REQUIRE(!graph.ok());
  const Status missing = empty.get("conv1.weight").status();
  CHECK(graph.status().message() == missing.message());
}

TEST_CASE("the digit network gives the same answers on the CPU, on a simulated GPU and through HIP") {
  const Safetensors file = Safetensors::read(kFile).value();
  digits::DigitSet digits = digits::read_test_split(file).value();
  digits.labels.resize(24);
  digits.pixels.resize(24 * 64);
  const Graph graph = digits::build_digit_network(file, 8).value();
  const Answers cpu = run_compiled(graph, digits, 8);
  for (const std::string& device : {std::string("sim:gfx1100"), HipStandin::spec()}) {
    CAPTURE(device);
    const Answers gpu = run_compiled(graph, digits, 8, device);
    CHECK(gpu.classes == cpu.classes);
    float worst = 0;
    for (std::size_t i = 0; i < cpu.probabilities.size(); ++i) {
      worst = std::max(worst, std::fabs(gpu.probabilities[i] - cpu.probabilities[i]));
    }
    CHECK(worst <= 1e-5f);
  }
}
