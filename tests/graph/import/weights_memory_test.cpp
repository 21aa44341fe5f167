// SPDX-License-Identifier: Apache-2.0
// The memory of weights: the file's pages while it is read, and the program's copy.
#include <fstream>
#include <malloc.h>
#include <map>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "millrace/millrace.h"
#include "tests/jit/cache/temporary_directory.h"
#include "tests/support/graphs/run_graph.h"
#include "tests/support/process_memory.h"

namespace millrace {
namespace {

constexpr std::int64_t kSide = 1024, kNumWeights = 16;
constexpr std::int64_t kWeightBytes = kNumWeights * kSide * kSide * 4;

std::string name_of(std::int64_t weight) { return fmt::format("w{}", weight); }

/// w_i is filled with i + 1.
void write_weights(const std::string& path) {
  std::map<std::string, Safetensors::Entry> entries;
  std::vector<std::vector<float>> values;
  for (std::int64_t i = 0; i < kNumWeights; ++i) values.emplace_back(kSide * kSide, static_cast<float>(i + 1));
  for (std::int64_t i = 0; i < kNumWeights; ++i) {
    const std::span<const float> elements = values[static_cast<std::size_t>(i)];
    entries[name_of(i)] = {{DType::kF32, {kSide, kSide}}, std::as_bytes(elements)};
  }
  REQUIRE(write_safetensors(path, entries).ok());
}

/// x plus all the weights.
Graph sum_of_weights(const Safetensors& file) {
  GraphBuilder graph("sum");
  Tensor sum = graph.input("x", DType::kF32, {kSide, kSide});
  for (std::int64_t i = 0; i < kNumWeights; ++i) {
    const Safetensors::Entry entry = file.get(name_of(i)).value();
    sum = sum + graph.constant_shared(entry.type, entry.shared_bytes());
  }
  graph.output("y", sum);
  return graph.finish().value();
}

Program compile_for_host(Graph graph) {
  CompileOptions options;
  options.context = test::test_context();
  options.targets = {"cpu:baseline"};
  return compile(std::move(graph), options).value();
}

Program compile_weights(const std::string& path) {
  const Safetensors file = Safetensors::read(path).value();
  return compile_for_host(sum_of_weights(file));
}

/// Loads LLVM, whose code alone takes 50 MB, if no cache has the kernel.
void compile_something(std::int64_t num_elements) {
  GraphBuilder graph("something");
  const Tensor x = graph.input("x", DType::kF32, {num_elements});
  graph.output("y", x + x);
  compile_for_host(graph.finish().value());
}

/// The memory that the process has of LLVM's read-only pages, from /proc/self/smaps.
std::int64_t llvm_code_bytes() {
  std::ifstream file("/proc/self/smaps");
  std::int64_t bytes = 0;
  bool is_code = false;
  for (std::string line; std::getline(file, line);) {
    const bool begins_mapping = line.find('-') < line.find(' ');
    if (begins_mapping) is_code = line.find(" r-xp ") != line.npos && line.find("libLLVM") != line.npos;
    if (is_code && line.starts_with("Rss:")) bytes += std::stoll(line.substr(4)) * 1024;
  }
  return bytes;
}

}  // namespace

TEST_CASE("a program with many weights keeps none of LLVM's pages, and the next one still compiles") {
  const TemporaryDirectory directory;
  const std::string path = directory.path() + "/w.safetensors";
  write_weights(path);
  compile_something(8);
  const std::int64_t before = llvm_code_bytes();
  CHECK(before > std::int64_t{4} << 20);
  const Program program = compile_weights(path);
  CHECK(llvm_code_bytes() < before / 16);
  compile_something(9);
  CHECK(llvm_code_bytes() > before / 16);
}

TEST_CASE("weights of a file take twice their size while a program is compiled, and once afterwards") {
  const TemporaryDirectory directory;
  const std::string path = directory.path() + "/w.safetensors";
  write_weights(path);
  compile_something(8);
  malloc_trim(0);
  if (!test::forget_peak()) {
    MESSAGE("left out: this system does not let /proc/self/clear_refs be written");
    return;
  }
  const std::int64_t before = test::status_bytes("VmRSS");
  const Program program = compile_weights(path);
  constexpr std::int64_t kOther = std::int64_t{8} << 20;  // code, text and memory that malloc keeps
  CHECK(test::status_bytes("VmHWM") - before < 2 * kWeightBytes + kOther);
  CHECK(test::status_bytes("VmRSS") - before < kWeightBytes + kOther);

  const std::vector<float> x(kSide * kSide, 0.5f);
  std::vector<float> y(x.size());
  Session session = Session::create(program).value();
  REQUIRE(session.run({bind(x)}, {bind(y)}).ok());
  CHECK(y == std::vector<float>(y.size(), 0.5f + kNumWeights * (kNumWeights + 1) / 2));
}

}  // namespace millrace
