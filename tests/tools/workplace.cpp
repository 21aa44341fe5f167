// SPDX-License-Identifier: Apache-2.0
#include "tests/tools/workplace.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sys/wait.h>

#include <doctest/doctest.h>

namespace millrace::test {
namespace {

constexpr std::string_view kTop = R"(graph top(%x: f32[rows in 1..64, 10]) {
  %twice = add(%x, %x)
  %values, %indices = topk(%twice) {k = 3, axis = 1, largest = true, sorted = true}
  return values = %values, indices = %indices
}
)";
constexpr std::string_view kTwo = R"(graph two(%x: f32[rows in 1..64, 10]) {
  %twice = add(%x, %x)
  %values, %indices = topk(%twice) {k = 3, axis = 1, largest = true, sorted = true}
  return twice = %twice, values = %values, indices = %indices
}
)";
constexpr std::string_view kNet = R"(graph net(%x: f32[16x32], %w: f32[32x24]) {
  %product = dot(%x, %w) {x_contract = [1], y_contract = [0]}
  %h = tanh(%product)
  %best = reduce_max(%h) {axes = [0]}
  return h = %h, best = %best
}
)";
constexpr std::string_view kSome = R"(graph some(%x: f32[n in 8..100]) {
  %values, %indices = topk(%x) {k = k in 0..8, axis = 0}
  return values = %values
}
)";

const std::string& cache_directory() {
  static const TemporaryDirectory directory;
  return directory.path();
}

}  // namespace

Workplace::Workplace() {
  write("top.mr", kTop);
  write("two.mr", kTwo);
  write("net.mr", kNet);
  write("some.mr", kSome);
}

std::string Workplace::kernels() { return cache_directory() + "/millrace"; }

void Workplace::forget_kernels() {
  for (const auto& entry : std::filesystem::directory_iterator(cache_directory())) {
    std::filesystem::remove_all(entry.path());
  }
}

ToolRun Workplace::run(const std::string& arguments) const {
  return run_command("XDG_CACHE_HOME='" + cache_directory() + "' '" MILLRACE_TOOL "' " + arguments);
}

ToolRun Workplace::run_command(const std::string& command) const {
  // In front, so that the command may redirect otherwise.
  const int status =
      std::system(("cd '" + directory_.path() + "' && exec > .out 2> .error < /dev/null; " + command).c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, read(".out"), read(".error")};
}

std::string Workplace::error_of(const std::string& arguments, int exit_code) const {
  const ToolRun run = this->run(arguments);
  CHECK(run.exit_code == exit_code);
  CHECK(run.out == "");
  return run.error;
}

std::string Workplace::output_of(const std::string& arguments) const {
  ToolRun run = this->run(arguments);
  CHECK(run.error == "");
  CHECK(run.exit_code == 0);
  return std::move(run.out);
}

void Workplace::write(std::string_view name, std::string_view text) const {
  std::ofstream(path(name), std::ios::binary) << text;
}

std::string Workplace::read(std::string_view name) const {
  std::ifstream file(path(name), std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

}  // namespace millrace::test
