// SPDX-License-Identifier: Apache-2.0
// Classifies the handwritten digits of digits.safetensors with the network whose weights are in the same file, on the
// CPU or on a given device, such as hip or sim:gfx1100.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include <fmt/format.h>

#include "examples/digits/digit_network.h"
#include "examples/digits/digit_set.h"
#include "examples/digits/draw.h"
#include "millrace/graph/compile_report.h"
#include "millrace/millrace.h"

namespace digits {
using namespace millrace;

namespace {

constexpr double kRequiredAccuracy = 0.97;
constexpr std::size_t kDrawn = 4;

using Milliseconds = std::chrono::duration<double, std::milli>;
using Microseconds = std::chrono::duration<double, std::micro>;

struct Classified {
  std::vector<Guesses> guesses;
  Microseconds median_time{};
};

Result<Classified> classify(const Program& program, const DigitSet& digits) {
  MILLRACE_TRY_ASSIGN(Session session, Session::create(program));
  Classified result;
  result.guesses.resize(digits.size());
  std::vector<Microseconds> times(digits.size());
  for (std::size_t i = 0; i < digits.size(); ++i) {
    Guesses& guesses = result.guesses[i];
    const auto start = std::chrono::steady_clock::now();
    MILLRACE_TRY(session.run({bind("images", digits.image(i))},
                             {bind("probabilities", guesses.probabilities), bind("classes", guesses.classes)}));
    times[i] = std::chrono::steady_clock::now() - start;
  }
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::ranges::nth_element(times, middle);
  result.median_time = *middle;
  return result;
}

void print_report(const Program& program) {
  const CompileReport& report = program.report();
  fmt::print("compiled in {:.1f} ms: passes {:.1f}, lowering {:.1f}, code {:.1f}, loading {:.1f}\n",
             Milliseconds(report.total).count(), Milliseconds(report.passes + report.forming).count(),
             Milliseconds(report.lowering + report.scheduling).count(), Milliseconds(report.code).count(),
             Milliseconds(report.load).count());
  fmt::print("{} dispatches of {} kernels; {} bytes of weights, {} bytes of temporary memory per run\n",
             report.num_dispatches, report.num_kernels, report.constant_bytes, report.slab_bytes.to_text());
  fmt::print("\nmemory plan\n{}\n", program.to_text(Stage::kPlan));
}

/// Prints digits for people to look at: the first few, then the first few mistakes.
void print_pictures(const DigitSet& digits, const std::vector<Guesses>& guesses) {
  std::vector<std::size_t> first, wrong;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (first.size() < kDrawn) first.push_back(i);
    if (guesses[i].classes[0] != digits.labels[i] && wrong.size() < kDrawn) wrong.push_back(i);
  }
  fmt::print("{}\n", draw(digits, guesses, first));
  if (!wrong.empty()) fmt::print("mistakes\n{}\n", draw(digits, guesses, wrong));
}

/// The share of the test images whose most probable class is right.
Result<double> run(const char* path, const char* device) {
  MILLRACE_TRY_ASSIGN(const Safetensors file, Safetensors::read(path));
  MILLRACE_TRY_ASSIGN(const DigitSet digits, read_test_split(file));
  MILLRACE_TRY_ASSIGN(Graph graph, build_digit_network(file, 1));
  CompileOptions options;
  options.device = device;
  MILLRACE_TRY_ASSIGN(const Program program, compile(std::move(graph), options));
  print_report(program);
  MILLRACE_TRY_ASSIGN(const Classified classified, classify(program, digits));
  print_pictures(digits, classified.guesses);

  std::size_t right = 0;
  for (std::size_t i = 0; i < digits.size(); ++i) right += classified.guesses[i].classes[0] == digits.labels[i];
  const double accuracy = static_cast<double>(right) / static_cast<double>(digits.size());
  fmt::print("{} of {} right: {:.2f} %; {:.1f} us per image (median)\n", right, digits.size(), 100 * accuracy,
             classified.median_time.count());
  return accuracy;
}

}  // namespace
}  // namespace digits

int main(int argc, char** argv) {
  if (argc != 2 && argc != 3) {
    fmt::print(stderr, "usage: {} digits.safetensors [DEVICE]\n", argv[0]);
    return EXIT_FAILURE;
  }
  const millrace::Result<double> accuracy = digits::run(argv[1], argc == 3 ? argv[2] : "cpu");
  if (!accuracy.ok()) {
    fmt::print(stderr, "{}\n", accuracy.status().message());
    return EXIT_FAILURE;
  }
  if (*accuracy < digits::kRequiredAccuracy) {
    fmt::print(stderr, "expected at least {:.0f} %\n", 100 * digits::kRequiredAccuracy);
    return EXIT_FAILURE;
  }
  return EXIT_SUCCESS;
}
