// SPDX-License-Identifier: Apache-2.0
#include "tests/support/kernels/kernel_file.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>

#include <fmt/format.h>

#include "base/text/number.h"
#include "base/text/reader.h"
#include "jit/lanes/lane_function.h"
#include "tests/support/kernels/kernel_round_trip.h"
#include "tests/support/kernels/run_kernel.h"
#include "tests/support/kernels/run_lanes.h"

namespace millrace::test {
namespace {

struct Directive {
  std::string word;    // "plan"
  std::string target;  // "cpu:avx2"
  std::string text;    // behind the colon
  std::size_t line = 0;
};

constexpr std::string_view kWords[] = {"verify", "error", "run", "plan", "must-contain"};
constexpr std::string_view kSeparator = "// ---";

/// One kernel of a file. The lines before it are empty, so that errors name the lines of the file.
struct Section {
  std::string text;
  std::vector<Directive> directives;
};

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = std::min(text.find_first_not_of(' '), text.size());
  return text.substr(begin, text.find_last_not_of(' ') + 1 - begin);
}

/// The directive in a line, if it has one. Other comments are for people.
std::optional<Directive> find_directive(std::string_view line, std::size_t number) {
  const std::size_t comment = line.find("// ");
  if (comment == std::string_view::npos) return {};
  line = trimmed(line.substr(comment + 3));
  for (const std::string_view word : kWords) {
    if (!line.starts_with(word)) continue;
    std::string_view rest = line.substr(word.size());
    if (rest.empty()) return Directive{std::string(word), "", "", number};
    if (rest[0] != ' ' && rest[0] != ':') continue;
    if (rest[0] == ' ') rest = trimmed(rest);
    const std::size_t end = rest.starts_with(':') ? 0 : rest.find(": ");
    if (end == std::string_view::npos || rest.substr(0, end).find(' ') != std::string_view::npos) continue;
    return Directive{std::string(word), std::string(rest.substr(0, end)), std::string(trimmed(rest.substr(end + 1))),
                     number};
  }
  return {};
}

std::vector<Section> read_sections(const std::string& text) {
  std::vector<Section> sections(1);
  std::size_t number = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = std::string_view(text).substr(begin, end - begin);
    begin = end + 1;
    ++number;
    if (line.starts_with(kSeparator)) sections.push_back({std::string(number - 1, '\n'), {}});
    sections.back().text += std::string(line) + "\n";
    if (std::optional<Directive> directive = find_directive(line, number)) {
      sections.back().directives.push_back(*std::move(directive));
    }
  }
  return sections;
}

/// The message of the parser as a directive of the line that it names: "8: found 'x', expected 'y'".
std::string parse_error(std::string_view message, std::string_view path, std::size_t expected_line) {
  message = message.substr(0, message.find('\n'));
  const std::string prefix = fmt::format("{}:{}:", path, expected_line);
  return std::string(message.starts_with(prefix) ? message.substr(prefix.size()) : message);
}

/// Without the prefix of each line: "kernel 'k': ", "loop kernel 'k': ".
std::string verify_error(const Kernel& kernel, const std::string& message) {
  const std::string name = fmt::format("kernel '{}': ", name_of(kernel));
  std::string stripped;
  for (std::size_t begin = 0; begin < message.size();) {
    const std::size_t end = std::min(message.find('\n', begin), message.size());
    std::string_view line = std::string_view(message).substr(begin, end - begin);
    for (const std::string& prefix : {name, "loop " + name}) {
      if (line.starts_with(prefix)) line.remove_prefix(prefix.size());
    }
    stripped += (stripped.empty() ? "" : "\n") + std::string(line);
    begin = end + 1;
  }
  return stripped;
}

/// The kinds of kernels' texts, by their first words.
Result<Kernel> parse_kernel(std::string_view text, std::string_view path) {
  TextReader reader(path, text);
  if (reader.take_word("loop_kernel")) {
    MILLRACE_TRY_ASSIGN(LoopKernel kernel, parse_loop_kernel(text, path));
    return Kernel(std::move(kernel));
  }
  MILLRACE_TRY_ASSIGN(MachineKernel kernel, parse_machine_kernel(text, path));
  return Kernel(std::move(kernel));
}

Status verify_kernel(const Kernel& kernel) {
  const auto* loop = std::get_if<LoopKernel>(&kernel);
  return loop != nullptr ? verify(*loop) : verify(std::get<MachineKernel>(kernel));
}

/// "n = 3, x = [1, 2, 3] -> y = [2, 4, 6], error: an index is outside its axis"
Result<KernelRun> read_run(TextReader& text, const Kernel& kernel) {
  KernelRun run;
  bool is_expected = false;
  while (!text.at_end()) {
    if (text.take("->")) is_expected = true;
    if (is_expected && text.take_word("error")) {
      text.take(":");
      run.error = text.rest();
      break;
    }
    const std::size_t begin = text.position();
    MILLRACE_TRY_ASSIGN(const std::string name, text.read_name("expected a name"));
    if (!text.take("=")) return text.unexpected("expected '='");
    if (!text.take("[")) {
      MILLRACE_TRY_ASSIGN(run.symbols[name], read_number<std::int64_t>(text));
    } else {
      const std::optional<DType> dtype = find_buffer_dtype(kernel, name);
      if (!dtype) return text.error(begin, "expected a buffer of the kernel");
      std::vector<Scalar>& elements = (is_expected ? run.expected : run.given)[name];
      while (!text.take("]")) {
        MILLRACE_TRY_ASSIGN(const std::uint64_t bits, visit_dtype(*dtype, [&]<class T>() -> Result<std::uint64_t> {
                              MILLRACE_TRY_ASSIGN(const T value, read_number<T>(text));
                              return Scalar::of(value).bits;
                            }));
        elements.push_back({*dtype, bits});
        text.take(",");
      }
    }
    text.take(",");
  }
  return run;
}

class SectionTest {
 public:
  SectionTest(const std::string& path, const Section& section) : path_(path), section_(section) {}

  std::string problems() {
    if (section_.directives.empty()) fail(1, "no directive; say what is expected, or verify");
    const bool has_error =
        std::ranges::find(section_.directives, "error", &Directive::word) != section_.directives.end();
    for (const Directive& directive : section_.directives) {
      if (has_error && directive.word != "error") fail(directive.line, "what has an error has no other directive");
    }
    if (TextReader(path_, section_.text).take_word("lanes")) return lane_problems();
    const Result<Kernel> kernel = parse_kernel(section_.text, path_);
    std::string error;
    if (!kernel.ok()) {
      error = parse_error(kernel.status().message(), path_, first_line("error"));
    } else {
      error = verify_error(*kernel, verify_kernel(*kernel).message());
    }
    check_error(error);
    if (error.empty() && problems_.empty()) check_kernel(*kernel);
    return problems_;
  }

 private:
  std::string lane_problems() {
    const Result<LaneFunction> function = parse_lane_function(section_.text, path_);
    if (!function.ok()) {
      check_error(parse_error(function.status().message(), path_, first_line("error")));
      return problems_;
    }
    check_error(verify(*function).message());
    const Result<LaneFunction> again = parse_lane_function(to_text(*function), "its text");
    if (!again.ok()) {
      fail(1, again.status().message());
    } else if (*again != *function) {
      fail(1, fmt::format("the text reads back as\n{}", to_text(*again)));
    }
    for (const Directive& directive : section_.directives) {
      if (directive.word == "run" && problems_.empty()) {
        TextReader text(path_, directive.text);
        if (const std::string problem = lane_run_problem(*function, text); !problem.empty()) {
          fail(directive.line, problem);
        }
      } else if (directive.word != "verify" && directive.word != "error") {
        fail(directive.line, fmt::format("'{}' is not for lane functions", directive.word));
      }
    }
    return problems_;
  }

  void check_error(std::string_view error) {
    std::string expected;
    for (const Directive& directive : section_.directives) {
      if (directive.word == "error") expected += (expected.empty() ? "" : "\n") + directive.text;
    }
    if (error != expected) fail(first_line("error"), fmt::format("found the error\n{}\nexpected\n{}", error, expected));
  }

  void fail(std::size_t line, std::string_view problem) {
    problems_ += fmt::format("{}:{}: {}\n", path_, line, problem);
  }
  /// That of the first such directive.
  std::size_t first_line(std::string_view word) const {
    const auto found = std::ranges::find(section_.directives, word, &Directive::word);
    return found == section_.directives.end() ? 1 : found->line;
  }

  void check_kernel(const Kernel& kernel) {
    if (const std::string problem = round_trip_problem(kernel); !problem.empty()) fail(1, problem);
    for (const Directive& directive : section_.directives) {
      if (directive.word == "run") check_run(kernel, directive);
      if (directive.word != "plan" && directive.word != "must-contain") continue;
      const Result<TargetSpec> target = TargetSpec::parse(directive.target);
      if (!target.ok()) {
        fail(directive.line, target.status().message());
        continue;
      }
      const std::optional<std::string> text =
          directive.word == "plan" ? plan_text(kernel, *target) : code_text(kernel, *target);
      if (text && text->find(directive.text) == std::string::npos) {
        fail(directive.line, fmt::format("'{}' is not in\n{}", directive.text, *text));
      }
    }
  }

  void check_run(const Kernel& kernel, const Directive& directive) {
    TextReader text(path_, directive.text);
    const Result<KernelRun> run = read_run(text, kernel);
    const std::string problem = run.ok() ? run_problem(kernel, *run) : run.status().message();
    if (!problem.empty()) fail(directive.line, problem);
  }

  const std::string& path_;
  const Section& section_;
  std::string problems_;
};

}  // namespace

std::vector<std::string> kernel_files() {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(MILLRACE_SOURCE_DIR "/tests/jit")) {
    if (entry.path().extension() == ".kernel") files.push_back(entry.path().string());
  }
  std::ranges::sort(files);
  return files;
}

std::string kernel_file_problems(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file.is_open()) return path + ": cannot be read\n";
  const std::string text(std::istreambuf_iterator<char>(file), {});
  std::string problems;
  for (const Section& section : read_sections(text)) problems += SectionTest(path, section).problems();
  return problems;
}

}  // namespace millrace::test
