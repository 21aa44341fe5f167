// SPDX-License-Identifier: Apache-2.0
// What an application outside this repository does; it sees public headers and one library.
#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "millrace/millrace.h"

using namespace millrace;

namespace {

/// y = max(2x + 1, 0), through a context without a disk cache, so that the code generator has to be found and opened.
Status run(const CompileOptions& options) {
  GraphBuilder graph("consumer");
  const Tensor x = graph.input("x", DType::kF32, {4});
  graph.output("y", relu(x * 2.0 + 1.0));
  MILLRACE_TRY_ASSIGN(Graph built, graph.finish());
  MILLRACE_TRY_ASSIGN(const Program program, compile(std::move(built), options));
  MILLRACE_TRY_ASSIGN(Session session, Session::create(program));

  const std::array<float, 4> in = {-1, 0, 0.5f, 3};
  std::array<float, 4> out = {};
  const TensorBinding inputs[] = {bind(in)}, outputs[] = {bind(out)};
  MILLRACE_TRY(session.run(inputs, outputs));
  if (out != std::array<float, 4>{0, 1, 2, 7}) return internal_error("consumer: wrong result");
  return {};
}

}  // namespace

int main() {
  const Status status = run({.context = make_default_context({.cache_directory = ""})});
  if (status.ok()) return EXIT_SUCCESS;
  std::printf("%s\n", status.message().c_str());
  return EXIT_FAILURE;
}
