// SPDX-License-Identifier: Apache-2.0
#include "tests/structure/compiler.h"

#include <cstdio>

#include <fmt/format.h>

namespace millrace::structure {

CompilerRun compile_alone(const std::filesystem::path& include_dir, const std::string& source) {
  const std::string command = fmt::format(
      "printf '%s' '{}' | '{}' -std=c++20 -Wall -Wextra -Wpedantic -Werror -fsyntax-only -I '{}' -MD -MF - -MT x "
      "-x c++ - 2>&1",
      source, MILLRACE_CXX, include_dir.string());
  FILE* pipe = popen(command.c_str(), "r");
  if (!pipe) return {false, "cannot start " + command};
  CompilerRun run = {false, {}};
  char chunk[4096];
  while (const std::size_t size = fread(chunk, 1, sizeof(chunk), pipe)) run.output.append(chunk, size);
  run.succeeded = pclose(pipe) == 0;
  // The path of the checkout is not part of an include.
  const std::string here = include_dir.string();
  for (std::size_t at; (at = run.output.find(here)) != std::string::npos;) run.output.erase(at, here.size());
  return run;
}

}  // namespace millrace::structure
