// SPDX-License-Identifier: Apache-2.0
// `millrace import`: writes an ONNX model as a graph, whose weights stay in the model's files.
#include <CLI/CLI.hpp>
#include <memory>

#include <fmt/format.h>

#include "millrace/base/printable.h"
#include "millrace/graph/onnx.h"
#include "millrace/graph/text.h"
#include "tools/millrace/command.h"
#include "tools/millrace/dims.h"
#include "tools/millrace/graph_arguments.h"
#include "tools/millrace/onnx_values.h"

namespace millrace::tool {
namespace {

struct Arguments {
  std::string file, output;
  std::vector<std::string> dims, values, data_folders;
  bool copy_weights = false;
};

/// The values of --dim, by dim_param. Facts about a symbol are written after its first appearance in any of the values.
Result<std::map<std::string, SizeExpr>> parse_sizes(const std::vector<std::string>& arguments) {
  std::map<std::string, SizeExpr> sizes;
  std::map<std::string, Dim> symbols;
  for (const std::string& argument : arguments) {
    const auto [name, text] = split_assignment(argument);
    const Result<SizeExpr> size = parse_size_expr(text, symbols);
    if (!size.ok()) {
      return invalid_argument(fmt::format("--dim {}: {}", printable(argument), size.status().message()));
    }
    if (!sizes.emplace(name, *size).second) {
      return invalid_argument(
          fmt::format("--dim {}: '{}' already has a size; give each once", printable(argument), printable(name)));
    }
  }
  return sizes;
}

Status import(const Arguments& arguments) {
  OnnxOptions options;
  options.data_folders = arguments.data_folders;
  MILLRACE_TRY_ASSIGN(options.dims, parse_sizes(arguments.dims));
  MILLRACE_TRY_ASSIGN(options.values, parse_onnx_values(arguments.file, arguments.values));
  MILLRACE_TRY_ASSIGN(const OnnxModel model, import_onnx(arguments.file, options));
  const std::vector<MappedFile> none;
  MILLRACE_TRY(write_graph(model.graph, arguments.output, arguments.copy_weights ? none : model.files));
  std::string text = fmt::format("{}: inputs {}, outputs {}, nodes {}\n", printable(arguments.output),
                                 model.inputs.size(), model.outputs.size(), model.graph.nodes.size());
  for (const std::string& note : model.notes) text += fmt::format("note: {}\n", note);
  return write_text("", text);
}

}  // namespace

Action add_import(CLI::App& app) {
  const auto arguments = std::make_shared<Arguments>();
  app.add_option("FILE", arguments->file, "The ONNX model.")->type_name("")->required();
  app.add_option("-o,--output", arguments->output,
                 "Write the graph there, as text. Its large constants stay in the\n"
                 "model's files, which must not be moved.")
      ->type_name("FILE")
      ->required();
  app.add_option("--dim", arguments->dims,
                 "The size of a named dim of the model: a number, or a symbol\n"
                 "with facts. May be repeated.")
      ->type_name("NAME=SIZE")
      ->allow_extra_args(false)
      ->check(is_assignment);
  app.add_option("--set", arguments->values,
                 "The value of an input, which the graph then omits: elements, or a\n"
                 "NumPy file. May be repeated.")
      ->type_name("INPUT=VALUE|@FILE")
      ->allow_extra_args(false)
      ->check(is_assignment);
  app.add_flag("--copy-weights", arguments->copy_weights,
               "Copy large constants to FILE.safetensors, so that the graph does not\nneed the model's files.");
  app.add_option("--data-folder", arguments->data_folders,
                 "A folder, apart from the model's own, that may hold its external data.\nMay be repeated.")
      ->type_name("DIR")
      ->allow_extra_args(false);
  return [arguments] { return import(*arguments); };
}

}  // namespace millrace::tool
