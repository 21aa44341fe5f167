// SPDX-License-Identifier: Apache-2.0
// Draws the next token of a language model from the k best logits, with a temperature. The seed is an input, so that a
// run can be repeated. All of it is one program.
#include <array>
#include <cstdio>
#include <vector>

#include "millrace/millrace.h"

using namespace millrace;

int main() try {
  constexpr std::int64_t kVocabulary = 32000, kBest = 50;
  GraphBuilder graph("sampler");
  const Tensor logits = graph.input("logits", DType::kF32, {kVocabulary});
  const Tensor temperature = graph.input("temperature", DType::kF32, {});
  const Tensor seed = graph.input("seed", DType::kU64, {});
  const auto best = topk(logits / temperature, SizeExpr(kBest));
  const Tensor drawn = multinomial(best.values, seed, 1);  // which of the best
  graph.output("token", gather(best.indices, drawn, 0));
  Session session = Session::create(compile(graph.finish().value()).value()).value();

  std::vector<float> values(kVocabulary);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i * 7919 % 32003) / 100.0f;
  for (const float heat : {0.001f, 1.0f}) {
    std::printf("temperature %.3f:", heat);
    for (std::uint64_t draw = 0; draw < 8; ++draw) {
      std::array<std::int64_t, 1> token{}, again{};
      const TensorBinding inputs[] = {bind("logits", values), bind("temperature", heat), bind("seed", draw)};
      session.run(inputs, {bind("token", token)}).throw_if_error();
      session.run(inputs, {bind("token", again)}).throw_if_error();
      if (token != again) throw StatusError(internal_error("sampler: one seed gave two tokens"));
      std::printf(" %lld", static_cast<long long>(token[0]));
    }
    std::puts("");
  }
} catch (const StatusError& error) {
  std::puts(error.what());
  return 1;
}
