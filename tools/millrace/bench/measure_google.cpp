// SPDX-License-Identifier: Apache-2.0
// Runs the rows of `millrace bench` in Google Benchmark, and adds to its JSON what each row measured.
#include <algorithm>
#include <iterator>
#include <sstream>
#include <unistd.h>

#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "millrace/base/file.h"
#include "millrace/base/printable.h"
#include "tools/millrace/bench/measure.h"
#include "tools/millrace/graph_arguments.h"

namespace millrace::tool {
namespace {

using Json = nlohmann::ordered_json;

/// Google Benchmark's text about the machine. If that library was built with assertions, as Debian's is, it warns
/// "Library was built as DEBUG. Timings may be affected." That warning is wrong and is removed: the timed loop is
/// inlined here, so only assertions of this build take time in it. If this build has them, a warning says so.
std::string about_the_machine(const std::string& text) {
  std::string kept;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("***WARNING*** Library was built as DEBUG")) kept += line + "\n";
  }
#ifndef NDEBUG
  kept += "***WARNING*** millrace was built with assertions, which take time.\n";
#endif
  return kept;
}

/// Collects the table and the JSON as texts: Google Benchmark would write both without checking for errors.
class TextReporter final : public benchmark::BenchmarkReporter {
 public:
  TextReporter()
      : console_(isatty(STDOUT_FILENO) == 1 ? benchmark::ConsoleReporter::OO_Color
                                            : benchmark::ConsoleReporter::OO_None) {
    SetOutputStream(&table_);  // for --benchmark_list_tests
    console_.SetOutputStream(&table_);
    json_.SetOutputStream(&json_text_);
  }
  bool ReportContext(const Context& context) override {
    std::ostringstream machine;
    console_.SetErrorStream(&machine);
    const bool goes_on = console_.ReportContext(context) && json_.ReportContext(context);
    console_.SetErrorStream(&GetErrorStream());
    write_notice(about_the_machine(machine.str()));
    return goes_on;
  }
  void ReportRuns(const std::vector<Run>& runs) override {
    console_.ReportRuns(runs);
    json_.ReportRuns(runs);
  }
  void Finalize() override {
    console_.Finalize();
    json_.Finalize();
  }
  std::string table() const { return table_.str(); }
  std::string json() const { return json_text_.str(); }

 private:
  std::ostringstream table_, json_text_;
  benchmark::ConsoleReporter console_;
  benchmark::JSONReporter json_;
};

/// A name can hold any bytes, but names of benchmarks are written to JSON, which is UTF-8.
std::string as_utf8(const std::string& name) {
  return Json::parse(Json(name).dump(-1, ' ', false, Json::error_handler_t::replace)).get<std::string>();
}

/// The command's own flags and those for Google Benchmark, combined.
struct Flags {
  std::vector<std::string> words;  // for Google Benchmark
  std::string json_file;
  bool prints_json = false;
};

Result<Flags> read_flags(const MeasureOptions& options) {
  // These flags override the environment's BENCHMARK_FILTER and BENCHMARK_LIST_TESTS.
  Flags flags{{"millrace", fmt::format("--benchmark_min_time={}", options.min_seconds), "--benchmark_filter=.",
               "--benchmark_list_tests=false"},
              options.json_file};
  for (const std::string& flag : options.flags) {
    const std::size_t equals = std::min(flag.find('='), flag.size());
    const std::string name = flag.substr(0, equals), value = flag.substr(std::min(equals + 1, flag.size()));
    if (name == "--benchmark_out") {
      flags.json_file = value;
    } else if (name == "--benchmark_out_format" && value != "json") {
      return invalid_argument(fmt::format("bench: found {}, expected json; leave this flag out", flag));
    } else if (name == "--benchmark_format" && value != "json" && value != "console") {
      return invalid_argument(fmt::format("bench: found {}, expected console or json; choose one", flag));
    } else if (name == "--benchmark_format") {
      flags.prints_json = value == "json";
    } else if (name != "--benchmark_out_format") {
      flags.words.push_back(flag);
    }
  }
  return flags;
}

Status initialize(Flags& flags) {
  static std::vector<std::string> words;  // Google Benchmark keeps pointers to them
  static std::vector<char*> argv;
  words = flags.words;
  for (std::string& word : words) argv.push_back(word.data());
  int argc = static_cast<int>(std::ssize(argv));
  benchmark::Initialize(&argc, argv.data());
  if (argc == 1) return {};
  return invalid_argument(
      fmt::format("bench: found {}, expected a flag of Google Benchmark with a valid value; 'millrace bench "
                  "--benchmark_help' lists them",
                  argv[1]));
}

void set_counters(benchmark::State& state, const Measurement& measurement) {
  using benchmark::Counter;
  state.counters["bytes/s"] = Counter(measurement.bytes, Counter::kIsIterationInvariantRate, Counter::kIs1000);
  if (measurement.flops > 0) {
    state.counters["flop/s"] = Counter(measurement.flops, Counter::kIsIterationInvariantRate, Counter::kIs1000);
  }
  for (const auto& [name, value] : measurement.counters) state.counters[name] = value;
}

/// `failure` receives the first failure of a run.
void add_row(const Measurement& measurement, Status& failure) {
  auto body = [&measurement, &failure, number = std::size_t{0}](benchmark::State& state) mutable {
    for (auto _ : state) {
      const Status status = measurement.run(number++);
      if (status.ok()) {
        if (measurement.seconds) state.SetIterationTime(measurement.seconds());
        continue;
      }
      if (failure.ok()) failure = status;
      state.SkipWithError(status.message().c_str());
      break;
    }
    set_counters(state, measurement);
  };
  auto* row = benchmark::RegisterBenchmark(as_utf8(measurement.name).c_str(), std::move(body));
  if (measurement.iterations) row->Iterations(*measurement.iterations);
  if (measurement.seconds) {
    row->UseManualTime();
  } else {
    row->UseRealTime();
  }
}

/// Google Benchmark writes NaN and Infinity (the variation of counters that are 0), which JSON does not have.
std::string without_nan(std::string text) {
  for (const std::string_view word : {": NaN", ": Infinity", ": -Infinity"}) {
    std::size_t at = 0;
    while ((at = text.find(word, at)) != std::string::npos) {
      // The word is a value if a key's closing quote precedes it. A quote inside a string follows a backslash.
      const bool is_value = at >= 2 && text[at - 1] == '"' && text[at - 2] != '\\';
      if (is_value) text.replace(at, word.size(), ": null");
      at += 2;
    }
  }
  return text;
}

/// Google Benchmark's JSON, with the facts of each row added.
std::string with_facts(const std::string& text, std::span<const Measurement> measurements) {
  Json json = Json::parse(without_nan(text));
  json["context"]["millrace_version"] = MILLRACE_VERSION;
  for (Json& row : json["benchmarks"]) {
    const std::string name = row["run_name"];
    // Google Benchmark appends suffixes such as "/real_time", and one name may be the beginning of another.
    const Measurement* found = nullptr;
    for (const Measurement& each : measurements) {
      const std::string known = as_utf8(each.name);
      if (name.starts_with(known + "/") && (found == nullptr || known.size() > as_utf8(found->name).size())) {
        found = &each;
      }
    }
    if (found == nullptr) continue;
    const MeasuredFacts& facts = found->facts;
    row["file"] = facts.file;
    row["graph"] = facts.graph;
    row["device"] = facts.device;
    row["target"] = facts.target;
    row["generator"] = facts.generator;
    row["dims"] = Json::object();
    for (const auto& [symbol, value] : facts.dims) row["dims"][symbol] = value;
  }
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

Status measure(std::span<const Measurement> measurements, const MeasureOptions& options) {
  MILLRACE_TRY_ASSIGN(Flags flags, read_flags(options));
  MILLRACE_TRY(initialize(flags));
  Status failure;
  for (const Measurement& measurement : measurements) add_row(measurement, failure);
  TextReporter reporter;
  const std::size_t num_rows = benchmark::RunSpecifiedBenchmarks(&reporter);
  benchmark::Shutdown();
  const bool has_json = num_rows > 0 && !reporter.json().empty();  // false if rows are only listed
  const std::string json = has_json ? with_facts(reporter.json(), measurements) : std::string();
  MILLRACE_TRY(write_standard_output(flags.prints_json ? json : reporter.table()));
  MILLRACE_TRY(failure);
  if (num_rows == 0)
    return not_found(
        "bench: --benchmark_filter matches no row; 'millrace bench FILE --benchmark_list_tests' lists them");
  if (flags.json_file.empty() || !has_json) return {};
  return write_file(fmt::format("'{}'", printable(flags.json_file)), flags.json_file, json);
}

}  // namespace millrace::tool
