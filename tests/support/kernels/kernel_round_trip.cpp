// SPDX-License-Identifier: Apache-2.0
#include "tests/support/kernels/kernel_round_trip.h"

#include <algorithm>
#include <random>

namespace millrace::test {
namespace {

Result<LoopKernel> parse_again(const LoopKernel&, std::string_view text) { return parse_loop_kernel(text); }
Result<MachineKernel> parse_again(const MachineKernel&, std::string_view text) { return parse_machine_kernel(text); }

bool is_equal(const LoopKernel& found, const LoopKernel& expected) { return found == expected; }
/// Text shows the type of a value where it is defined, so it has none for a number without a definition.
bool is_equal(MachineKernel found, const MachineKernel& expected) {
  found.types = expected.types;
  return found == expected;
}

template <class Form>
std::string form_problem(const Form& kernel) {
  const std::string text = to_text(kernel);
  const Result<Form> again = parse_again(kernel, text);
  if (!again.ok()) return again.status().message() + "\n" + text;
  if (to_text(*again) != text) return "the texts differ\n" + text + to_text(*again);
  return is_equal(*again, kernel) ? "" : "the kernels differ\n" + text;
}

template <class Form>
std::string mutated_problem(const Form& kernel, std::uint64_t seed, int num_mutations) {
  const std::string text = to_text(kernel);
  std::mt19937_64 random(seed);
  for (int i = 0; i < num_mutations; ++i) {
    std::string mutated = mutate_text(text, random());
    if (i % 3 == 0) mutated = mutate_text(std::move(mutated), random());
    const Result<Form> parsed = parse_again(kernel, mutated);
    if (!parsed.ok() || !verify(*parsed).ok()) continue;
    const std::string problem = form_problem(*parsed);
    if (!problem.empty()) return "parsed from\n" + mutated + problem;
  }
  return "";
}

/// Where the line that holds `position` begins, and where the next one does.
std::pair<std::size_t, std::size_t> line_around(const std::string& text, std::size_t position) {
  const std::size_t begin = position == 0 ? 0 : text.rfind('\n', position - 1) + 1;  // npos + 1 is 0
  return {begin, std::min(text.find('\n', position), text.size() - 1) + 1};
}

}  // namespace

std::string round_trip_problem(const LoopKernel& kernel) { return form_problem(kernel); }
std::string round_trip_problem(const MachineKernel& kernel) { return form_problem(kernel); }
std::string round_trip_problem(const PlannedKernel& kernel) {
  const auto* machine = std::get_if<MachineKernel>(&kernel.mapped);
  return machine == nullptr ? "" : form_problem(*machine);
}
std::string round_trip_problem(const Kernel& kernel) {
  if (const auto* loop = std::get_if<LoopKernel>(&kernel)) return form_problem(*loop);
  if (const auto* machine = std::get_if<MachineKernel>(&kernel)) return form_problem(*machine);
  return "";
}

std::string mutate_text(std::string text, std::uint64_t seed) {
  constexpr std::string_view kBytes = "%@#[]{}():,=+-*/.\"\\ \n0123456789xdefnmsy\xff";
  std::mt19937_64 random(seed);
  const std::size_t place = random() % std::max<std::size_t>(text.size(), 1);
  const char byte = kBytes[random() % kBytes.size()];
  const auto [begin, end] = line_around(text, place);
  switch (random() % 7) {
    case 0:
      text.erase(begin, end - begin);
      break;
    case 1:
      text.insert(begin, text.substr(begin, end - begin));
      break;
    case 2:
      text.resize(place);
      break;
    case 3:
      text.erase(place, 1);
      break;
    case 4:
      text.insert(place, 1, byte);
      break;
    default:
      text.replace(place, 1, 1, byte);
  }
  return text;
}

std::string mutated_text_problem(const Kernel& kernel, std::uint64_t seed, int num_mutations) {
  if (const auto* loop = std::get_if<LoopKernel>(&kernel)) return mutated_problem(*loop, seed, num_mutations);
  if (const auto* machine = std::get_if<MachineKernel>(&kernel)) return mutated_problem(*machine, seed, num_mutations);
  return "";
}

}  // namespace millrace::test
