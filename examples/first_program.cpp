// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cstdio>

#include "millrace/millrace.h"

using namespace millrace;

int main() try {
  GraphBuilder graph("first");
  Tensor x = graph.input("x", DType::kF32, {2, 5});
  auto [values, indices] = topk(softmax(gelu(x * 2 + 1)), 2);  // of each row
  graph.output("values", values);
  graph.output("indices", indices);
  Program program = compile(graph.finish().value()).value();

  Session session = Session::create(program).value();
  const std::array<float, 10> in = {0, 1, 2, 3, 3.5, 2, -1, 0, 1, 1.5};
  std::array<float, 4> top;
  std::array<std::int64_t, 4> where;
  session.run({bind("x", in)}, {bind("values", top), bind("indices", where)}).throw_if_error();
  for (int i = 0; i < 4; ++i) std::printf("row %d, column %d: %.4f\n", i / 2, static_cast<int>(where[i]), top[i]);
} catch (const StatusError& error) {
  std::puts(error.what());
  return 1;
}
