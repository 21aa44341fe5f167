// SPDX-License-Identifier: Apache-2.0
// One program for every number of rows and every k: sizes are symbols with facts, which a run binds and checks.
#include <cstdio>
#include <vector>

#include "millrace/millrace.h"

using namespace millrace;

int main() try {
  const SizeExpr rows = Dim("rows").at_least(1).at_most(1024);  // given by the extents of x
  const SizeExpr k = Dim("k").at_most(8);                       // in no input: bound by name, needs a maximum
  GraphBuilder graph("best");
  const Tensor x = graph.input("x", DType::kF32, {rows, 8});
  graph.output("best", topk(softmax(x), k).values);
  Session session = Session::create(compile(graph.finish().value()).value()).value();

  for (const std::int64_t n : {1, 3}) {
    std::vector<float> in(static_cast<std::size_t>(n) * 8), best(static_cast<std::size_t>(n) * 2);
    for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<float>(i * i % 7);
    session.run({bind("x", in, {n, 8})}, {bind("best", best)}, {{"k", 2}}).throw_if_error();
    for (std::size_t i = 0; i < best.size(); i += 2) std::printf("%.4f %.4f\n", best[i], best[i + 1]);
  }
  // A broken promise is an error that names it, before anything runs.
  const Status refused = session.run({bind("x", std::span<float>(), {0, 8})}, {bind("best", std::span<float>())});
  std::puts(refused.message().c_str());
} catch (const StatusError& error) {
  std::puts(error.what());
  return 1;
}
