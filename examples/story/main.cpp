// SPDX-License-Identifier: Apache-2.0
// Continues a text with a language model: greedy decoding, with the keys and values of earlier positions in variables.
//
//     story WEIGHTS TOKENIZER [PROMPT [STEPS [DEVICE]]]
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include <fmt/format.h>

#include "examples/story/decoder.h"
#include "examples/story/tokenizer.h"
#include "millrace/millrace.h"

namespace {

using namespace millrace;
using namespace story;

/// Prints the text as it grows. Returns how many steps it took.
Result<std::int64_t> tell(Session& session, const Tokenizer& tokenizer, std::string_view prompt, std::int64_t steps) {
  const std::vector<std::int64_t> given = tokenizer.encode(prompt);
  std::int64_t token = given.front(), position = 0;
  while (position < steps) {
    std::int64_t next = 0;
    MILLRACE_TRY(session.run({bind("token", token)}, {bind("next", next)}, {{"seen", position + 1}}));
    ++position;
    if (position < std::ssize(given)) next = given[static_cast<std::size_t>(position)];
    if (next == Tokenizer::kBegin || next == Tokenizer::kEnd) break;
    fmt::print("{}", tokenizer.decode(token, next));
    std::fflush(stdout);
    token = next;
  }
  fmt::print("\n");
  return position;
}

Status run(int count, char** arguments) {
  if (count < 3 || count > 6) {
    return invalid_argument(fmt::format("usage: {} WEIGHTS TOKENIZER [PROMPT [STEPS [DEVICE]]]", arguments[0]));
  }
  MILLRACE_TRY_ASSIGN(const Checkpoint weights, read_checkpoint(arguments[1]));
  const auto vocabulary = static_cast<std::size_t>(weights.sizes.vocabulary);
  MILLRACE_TRY_ASSIGN(const Tokenizer tokenizer, Tokenizer::read(arguments[2], vocabulary));
  const std::string_view prompt = count > 3 ? arguments[3] : "Once upon a time";
  const std::int64_t steps = count > 4 ? std::atoll(arguments[4]) : 256;
  if (steps < 1 || steps > weights.sizes.context) {
    return invalid_argument(fmt::format("story: {} steps, expected 1 to {}", steps, weights.sizes.context));
  }
  CompileOptions options;
  if (count > 5) options.device = arguments[5];
  MILLRACE_TRY_ASSIGN(Graph graph, build_decoder(weights));
  MILLRACE_TRY_ASSIGN(const Program program, compile(std::move(graph), options));
  MILLRACE_TRY_ASSIGN(Session session, Session::create(program));
  const auto begin = std::chrono::steady_clock::now();
  MILLRACE_TRY_ASSIGN(const std::int64_t taken, tell(session, tokenizer, prompt, steps));
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
  fmt::print(stderr, "{:.0f} tokens/s\n", static_cast<double>(taken) / time.count());
  return {};
}

}  // namespace

int main(int count, char** arguments) {
  const Status status = run(count, arguments);
  if (!status.ok()) fmt::print(stderr, "{}\n", status.message());
  return status.ok() ? 0 : 1;
}
