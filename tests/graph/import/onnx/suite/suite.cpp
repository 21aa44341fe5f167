// SPDX-License-Identifier: Apache-2.0
#include "tests/graph/import/onnx/suite/suite.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include <fmt/format.h>

#include "graph/import/onnx/decode.h"
#include "tests/graph/import/onnx/suite/suite_data.h"
#include "tests/support/graphs/run_graph.h"

namespace millrace::test {
namespace {

namespace fs = std::filesystem;

struct Excluded {
  std::string_view name;
  Cause cause;
};
constexpr Excluded kExcluded[] = {
#define MILLRACE_EXCLUDED(name, cause) {name, Cause::cause},
#include "tests/graph/import/onnx/suite/excluded_tests.inc"
};

constexpr std::string_view kInexactRecords[] = {
#define MILLRACE_INEXACT(name) name,
#include "tests/graph/import/onnx/suite/inexact_records.inc"
};

/// Whether the graph has all inputs but those whose values are given: none became a dim.
bool has_inputs(const OnnxModel& model, const DataSet& data, const std::vector<std::string>& given) {
  return std::ranges::all_of(data.inputs, [&](const NamedTensor& input) {
    return std::ranges::find(given, input.name) != given.end() ||
           std::ranges::find(model.inputs, input.name) != model.inputs.end();
  });
}

struct Imported {
  Result<OnnxModel> model;
  std::vector<std::string> given;
};

Imported import_test(const std::string& path, const DataSet& data) {
  const auto import = [&](const std::vector<std::string>& given) {
    Imported imported{import_onnx(path, options_with(data, given)), given};
    if (imported.model.ok() && !has_inputs(*imported.model, data, given)) {
      imported.model = unimplemented("an input decides shapes");
    }
    return imported;
  };
  Imported first = import({});
  if (first.model.ok()) return first;
  for (const std::vector<std::string>& set : given_sets(data)) {
    if (set.empty()) continue;
    Imported imported = import(set);
    if (!imported.model.ok()) continue;
    for (const std::string& name : set) {  // leaves out those that are not needed
      std::vector<std::string> fewer = imported.given;
      std::erase(fewer, name);
      Imported again = import(fewer);
      if (again.model.ok()) imported = std::move(again);
    }
    return imported;
  }
  return first;
}

}  // namespace

std::string suite_folder() {
  const char* folder = std::getenv("MILLRACE_ONNX_TESTS");
  return folder != nullptr ? folder : "/usr/share/libonnx-testdata/data";
}

std::vector<SuiteTest> suite_tests(const std::vector<std::string>& folders) {
  std::vector<SuiteTest> tests;
  for (const std::string& folder : folders) {
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(fs::path(suite_folder()) / folder, error)) {
      if (!fs::exists(entry.path() / "model.onnx")) continue;
      tests.push_back({folder + "/" + entry.path().filename().native(), entry.path().native()});
    }
  }
  std::ranges::sort(tests, {}, &SuiteTest::name);
  return tests;
}

Cause cause_of(std::string_view test) {
  for (const auto& [name, cause] : kExcluded) {
    if (name.ends_with('*') ? test.starts_with(name.substr(0, name.size() - 1)) : test == name) return cause;
  }
  return Cause::kNone;
}

SuiteOutcome run_suite_test(const SuiteTest& test, const CompileOptions& options) {
  SuiteOutcome outcome;
  const std::string path = test.folder + "/model.onnx";
  const auto ends_with = [&](SuiteResult result, const std::string& message) {
    outcome.result = result;
    outcome.reason = result == SuiteResult::kRefused ? short_reason(message) : message;
    return outcome;
  };
  const Result<SharedBytes> bytes = read_bytes(path);
  if (!bytes.ok()) return ends_with(SuiteResult::kFailed, bytes.status().message());
  const auto model = decode_model(fmt::format("onnx '{}'", path), *bytes);
  if (!model.ok()) return ends_with(SuiteResult::kRefused, model.status().message());
  if (!(*model)->graph) return ends_with(SuiteResult::kFailed, "the model has no graph");
  const GraphProto& graph = *(*model)->graph;
  outcome.op = graph.node.size() == 1 ? std::string(graph.node[0].op_type) : "several";
  for (const fs::path& folder : data_set_folders(test.folder)) {
    const Result<DataSet> data = read_data_set(folder, input_names(graph));
    if (!data.ok()) {  // such as sequences and texts: the importer should refuse them too
      const Status status = import_onnx(path).status();
      return status.ok() ? ends_with(SuiteResult::kFailed, data.status().message())
                         : ends_with(SuiteResult::kRefused, status.message());
    }
    const Imported imported = import_test(path, *data);
    outcome.given = imported.given;
    if (!imported.model.ok()) return ends_with(SuiteResult::kRefused, imported.model.status().message());
    const std::string misfit = data_problem(*imported.model, *data);
    if (!misfit.empty()) return ends_with(SuiteResult::kRefused, misfit);
    const Result<Program> program = compile(imported.model->graph, options);
    if (!program.ok()) return ends_with(SuiteResult::kFailed, "compile: " + program.status().message());
    const std::string problem = run_problem(*program, {*data, imported.model->inputs});
    if (problem.empty()) continue;
    if (cause_of(test.name) == Cause::kRandom && problem.starts_with("output 0 element ")) {
      return ends_with(SuiteResult::kOtherNumbers, problem);
    }
    const bool agrees_within_ulp = std::ranges::find(kInexactRecords, test.name) != std::end(kInexactRecords) &&
                                   run_problem(*program, {*data, imported.model->inputs, {}, true}).empty();
    return ends_with(agrees_within_ulp ? SuiteResult::kInexactRecord : SuiteResult::kFailed, problem);
  }
  return outcome;
}

CompileOptions suite_options() {
  CompileOptions options;
  options.context = test_context();
  options.device = "cpu:threads=1";
  return options;
}

}  // namespace millrace::test
