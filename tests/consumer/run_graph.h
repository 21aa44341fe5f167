// SPDX-License-Identifier: Apache-2.0
// The code of an application outside this repository, which sees only public headers and one library.
#pragma once

#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

#include "millrace/millrace.h"

namespace consumer {

using namespace millrace;

/// y = max(2x + 1, 0), through a context without a disk cache, so that the code generator has to be found and opened.
inline Status run_graph() {
  GraphBuilder graph("consumer");
  const Tensor x = graph.input("x", DType::kF32, {4});
  graph.output("y", relu(x * 2.0 + 1.0));
  MILLRACE_TRY_ASSIGN(Graph built, graph.finish());
  MILLRACE_TRY_ASSIGN(const Program program,
                      compile(std::move(built), {.context = make_default_context({.cache_directory = ""})}));
  MILLRACE_TRY_ASSIGN(Session session, Session::create(program));

  const std::array<float, 4> in = {-1, 0, 0.5f, 3};
  std::array<float, 4> out = {};
  MILLRACE_TRY(session.run({bind("x", in)}, {bind("y", out)}));
  if (out != std::array<float, 4>{0, 1, 2, 7}) return internal_error("consumer: wrong result");
  return {};
}

/// The file of the LLVM module in this process; empty if it is not loaded.
inline std::string opened_module() {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.ends_with("/libmillrace_llvm.so")) return line.substr(line.find('/'));
  }
  return {};
}

/// Prints the module that was used, or why it fails.
inline int run_and_tell() {
  const Status status = run_graph();
  std::printf("%s\n", status.ok() ? opened_module().c_str() : status.message().c_str());
  return status.ok() ? EXIT_SUCCESS : EXIT_FAILURE;
}

}  // namespace consumer
