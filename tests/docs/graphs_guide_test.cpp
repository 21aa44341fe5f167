// SPDX-License-Identifier: Apache-2.0
// The programs of docs/graphs.md.
#include <cmath>
#include <numeric>

#include <doctest/doctest.h>

#include "millrace/millrace.h"
#include "tests/jit/cache/temporary_directory.h"

namespace millrace {
namespace {

/// 0, 1, 2 ...
std::vector<float> count_up(std::size_t count) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), 0.f);
  return values;
}

TEST_CASE("graphs.md: functions broadcast, and inputs are bound by name") {
  GraphBuilder graph("ops");
  const SizeExpr rows = Dim("rows").at_least(1).at_most(1024);
  const Tensor x = graph.input("x", DType::kF32, {rows, 8}), scale = graph.input("scale", DType::kF32, {8});
  const Tensor bias = graph.input("bias", DType::kF32, {rows, 1});
  std::vector<float> identity(64);
  for (std::size_t i = 0; i < 8; ++i) identity[9 * i] = 1;
  const Tensor w = graph.constant({8, 8}, identity);

  Tensor y = max(x * scale + bias, 0);  // scale: f32[8], bias: f32[rows, 1]
  y += matmul(y, w) / 2.0;              // vectors, matrices and batches
  const std::vector<Tensor> halves = split_evenly(y, 2, -1);
  graph.output("y", concat({halves[1], halves[0]}, -1));

  Session session = Session::create(compile(graph.finish().value()).value()).value();
  const std::vector<float> in = count_up(24), scales(8, 2.f), biases = {-20, 0, 1};
  std::vector<float> out(24);
  session.run({bind("x", in, {3, 8}), bind("scale", scales), bind("bias", biases, {3, 1})}, {bind("y", out)})
      .throw_if_error();

  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::size_t from = i / 8 * 8 + (i + 4) % 8;
    CHECK(out[i] == 1.5f * std::fmax(2 * in[from] + biases[i / 8], 0.f));
  }
}

TEST_CASE("graphs.md: the builder reports a wrong call") {
  GraphBuilder graph("wrong");
  const Tensor x = graph.input("x", DType::kF32, {2, 5});
  graph.output("y", matmul(x, x));
  const Status status = graph.finish().status();
  CHECK(status.message().starts_with("matmul:"));
}

TEST_CASE("graphs.md: a program does not keep the file with its weights") {
  const TemporaryDirectory directory;
  const std::string path = directory.path() + "/w.safetensors";
  const std::vector<float> weights = count_up(6);
  write_safetensors(path, {{"hidden.weight", {{DType::kF32, {2, 3}}, std::as_bytes(std::span(weights))}}})
      .throw_if_error();
  const Program program = [&] {
    GraphBuilder graph("weights");
    const Safetensors file = Safetensors::read(path).value();
    const Safetensors::Entry entry = file.get("hidden.weight").value();
    const Tensor w = graph.constant_shared(entry.type, entry.shared_bytes());
    graph.output("y", w * graph.input("x", DType::kF32, {2, 3}));
    return compile(graph.finish().value()).value();
  }();
  std::filesystem::remove(path);
  Session session = Session::create(program).value();
  const std::vector<float> x(6, 3.f);
  std::vector<float> y(6);
  session.run({bind("x", x)}, {bind("y", y)}).throw_if_error();
  for (std::size_t i = 0; i < y.size(); ++i) CHECK(y[i] == 3 * weights[i]);
}

TEST_CASE("graphs.md: a scope precedes the names in it") {
  GraphBuilder graph("names");
  const Tensor x = graph.input("x", DType::kF32, {2, 2}), wq = graph.input("wq", DType::kF32, {2, 2});
  const auto layer = graph.scope("layer3");
  const Tensor q = matmul(x, wq).named("q");  // layer3/q; a second one would be layer3/q_1
  graph.output("y", q + matmul(q, wq).named("q"));
  const std::string text = to_text(graph.finish().value());
  CHECK(text.find("%layer3/q = ") != std::string::npos);
  CHECK(text.find("%layer3/q_1 = ") != std::string::npos);
}

}  // namespace
}  // namespace millrace
