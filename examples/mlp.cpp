// SPDX-License-Identifier: Apache-2.0
// A perceptron of two layers whose weights come from a safetensors file. One program serves every batch size.
// usage: mlp WEIGHTS.safetensors [BATCH...]   with --write first, it makes such a file
#include <cmath>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "millrace/millrace.h"

using namespace millrace;

namespace {

constexpr std::int64_t kIn = 32, kHidden = 64, kOut = 10;

/// Some numbers in [-1, 1).
std::vector<float> numbers(std::int64_t count, std::uint32_t seed) {
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) {
    seed = seed * 1664525 + 1013904223;
    value = static_cast<float>(seed >> 8) / 8388608.0f - 1;
  }
  return values;
}

/// Writes the weights, like a training program.
Status write_weights(const std::string& path) {
  const std::vector<float> w1 = numbers(kIn * kHidden, 1), b1 = numbers(kHidden, 2);
  const std::vector<float> w2 = numbers(kHidden * kOut, 3), b2 = numbers(kOut, 4);
  const auto bytes = [](const std::vector<float>& values) { return std::as_bytes(std::span(values)); };
  return write_safetensors(path, {{"hidden.weight", {{DType::kF32, {kIn, kHidden}}, bytes(w1)}},
                                  {"hidden.bias", {{DType::kF32, {kHidden}}, bytes(b1)}},
                                  {"out.weight", {{DType::kF32, {kHidden, kOut}}, bytes(w2)}},
                                  {"out.bias", {{DType::kF32, {kOut}}, bytes(b2)}}});
}

/// The file is mapped, and the graph refers to its bytes: they are copied once, into the program.
Result<Graph> build(const Safetensors& file) {
  GraphBuilder graph("mlp");
  const auto parameter = [&](const std::string& name) {
    const Result<Safetensors::Entry> entry = file.get(name);
    return entry.ok() ? graph.constant_shared(entry->type, entry->shared_bytes()) : graph.fail(entry.status());
  };
  const SizeExpr batch = Dim("batch").at_least(1);
  const Tensor x = graph.input("x", DType::kF32, {batch, kIn});
  const Tensor hidden = relu(matmul(x, parameter("hidden.weight")) + parameter("hidden.bias"));
  graph.output("y", softmax(matmul(hidden, parameter("out.weight")) + parameter("out.bias")));
  return graph.finish();
}

Status classify(Session& session, std::int64_t batch) {
  const std::vector<float> x = numbers(batch * kIn, 5);
  std::vector<float> y(static_cast<std::size_t>(batch * kOut));
  MILLRACE_TRY(session.run({bind("x", x, {batch, kIn})}, {bind("y", y, {batch, kOut})}));
  float sum = 0;
  for (std::size_t i = 0; i < kOut; ++i) sum += y[i];
  fmt::print("batch {:4}: y[0] = {:.4f}, {:.4f}, {:.4f} ...\n", batch, y[0], y[1], y[2]);
  return std::fabs(sum - 1) < 1e-5f ? Status() : internal_error("mlp: the first row of y does not add up to 1");
}

Status run(int count, char** arguments) {
  if (count == 3 && std::string_view(arguments[1]) == "--write") return write_weights(arguments[2]);
  if (count < 2)
    return invalid_argument(fmt::format("usage: {} [--write] WEIGHTS.safetensors [BATCH...]", arguments[0]));
  Result<Program> program = [&]() -> Result<Program> {
    MILLRACE_TRY_ASSIGN(const Safetensors file, Safetensors::read(arguments[1]));
    MILLRACE_TRY_ASSIGN(Graph graph, build(file));
    return compile(std::move(graph));  // the last reference to the mapped file ends here
  }();
  if (!program.ok()) return program.status();
  MILLRACE_TRY_ASSIGN(Session session, Session::create(*program));
  for (int i = 2; i < count; ++i) MILLRACE_TRY(classify(session, std::atoll(arguments[i])));
  return {};
}

}  // namespace

int main(int count, char** arguments) {
  const Status status = run(count, arguments);
  if (!status.ok()) fmt::print(stderr, "{}\n", status.message());
  return status.ok() ? 0 : 1;
}
