// SPDX-License-Identifier: Apache-2.0
// Turns --input and --dim into the tensors of a run, with messages in terms of the command line.
#include "tools/millrace/run_arguments.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <map>
#include <memory>
#include <unistd.h>

#include <fmt/format.h>

#include "millrace/base/printable.h"
#include "tools/millrace/dims.h"
#include "tools/millrace/generate.h"

namespace millrace::tool {
namespace {

/// "8x32000".
std::optional<std::vector<std::int64_t>> parse_shape(std::string_view text) {
  std::vector<std::int64_t> extents;
  while (true) {
    std::int64_t extent = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), extent);
    if (error != std::errc() || extent < 0) return {};
    extents.push_back(extent);
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    if (text.empty()) return extents;
    if (text.front() != 'x') return {};
    text.remove_prefix(1);
  }
}

Result<InputSource> parse_source(const std::string& argument, const std::string& value) {
  InputSource source{.argument = argument};
  if (value.front() == '@' && value.size() > 1) {
    MILLRACE_TRY_ASSIGN(source.file, NpyReader::open(value.substr(1)));
    return source;
  }
  const std::size_t comma = value.find(',');
  source.kind = value.substr(0, comma);
  if (std::ranges::find(kElementKinds, source.kind) == std::end(kElementKinds)) {
    return invalid_argument(fmt::format("--input {}: found '{}', expected @FILE.npy, zeros, ones, randn or arange",
                                        printable(argument), printable(source.kind)));
  }
  if (comma == std::string::npos) return source;
  source.shape = parse_shape(std::string_view(value).substr(comma + 1));
  if (source.shape) return source;
  return invalid_argument(fmt::format("--input {}: found '{}', expected a shape such as 8x32000", printable(argument),
                                      printable(value.substr(comma + 1))));
}

bool has_extents(const InputSource& source) { return source.file || source.shape; }

/// The types of a run's inputs, from the arguments alone. Inputs with extents of their own come first, because they
/// determine the sizes of the others.
class InputTypes {
 public:
  InputTypes(const SymbolValues& given, const SymbolValues& pinned) : given_(given), symbols_(given) {
    symbols_.insert(pinned.begin(), pinned.end());
  }

  Result<TensorType> of(const Argument& input, const InputSource& source) {
    return has_extents(source) ? with_extents(input, source) : from_symbols(input, source);
  }
  const SymbolValues& symbols() const { return symbols_; }

 private:
  Result<TensorType> with_extents(const Argument& input, const InputSource& source) {
    const TensorType& type = input.type;
    const TensorType found =
        source.file ? source.file->type() : TensorType{type.dtype, Shape({source.shape->begin(), source.shape->end()})};
    if (found.dtype != type.dtype || found.shape.rank() != type.shape.rank()) {
      return invalid_argument(fmt::format("--input {}: found {}, expected {}; give elements and axes that match",
                                          printable(source.argument), found.to_text(), type.to_text()));
    }
    for (std::size_t axis = 0; axis < type.shape.rank(); ++axis) {
      const std::optional<std::string> symbol = plain_symbol(type.shape[axis]);
      if (!symbol) continue;
      const std::int64_t extent = found.shape[axis].constant();
      symbols_.emplace(*symbol, extent);  // the run refuses a value that differs from an earlier input's
      if (const auto said = given_.find(*symbol); said != given_.end() && said->second != extent) {
        return invalid_argument(fmt::format("--input {}: found {}, whose {} is {}, but --dim says {}; leave out --dim",
                                            printable(source.argument), found.to_text(), *symbol, extent,
                                            said->second));
      }
    }
    return found;
  }

  Result<TensorType> from_symbols(const Argument& input, const InputSource& source) const {
    std::vector<SizeExpr> extents;
    for (const SizeExpr& size : input.type.shape.dims()) {
      if (const std::optional<std::string> unknown = unknown_symbol(size, symbols_)) {
        return invalid_argument(
            fmt::format("--input {0}: found {1}, whose {2} is unknown; say --dim {2}=N, or give "
                        "a shape, as in {3}=zeros,8x32000",
                        printable(source.argument), input.type.to_text(), *unknown, printable(input.name)));
      }
      MILLRACE_TRY_ASSIGN(const std::int64_t extent, size.evaluate(symbols_));
      if (extent < 0) {
        return invalid_argument(fmt::format("--input {}: found {}, whose {} is {}, expected 0 or more; say other sizes",
                                            printable(source.argument), input.type.to_text(), size.to_text(), extent));
      }
      extents.emplace_back(extent);
    }
    return TensorType{input.type.dtype, Shape(std::move(extents))};
  }

  const SymbolValues& given_;  // from --dim
  SymbolValues symbols_;
};

std::vector<std::byte> bytes_for(const TensorType& type) {
  return std::vector<std::byte>(static_cast<std::size_t>(size_bytes(type).constant()));
}

Extents extents_of(const TensorType& type) {
  std::vector<std::int64_t> extents;
  for (const SizeExpr& size : type.shape.dims()) extents.push_back(size.constant());
  return Extents(extents);
}

}  // namespace

std::vector<TensorBinding> RunArguments::bind_inputs() const {
  std::vector<TensorBinding> bindings;
  for (const NpyView& input : inputs) bindings.push_back(bind(std::span(input.bytes), extents_of(input.type)));
  return bindings;
}

std::vector<TensorBinding> RunArguments::bind_outputs() {
  std::vector<TensorBinding> bindings;
  for (NpyArray& output : outputs) bindings.push_back(bind(output.bytes, extents_of(output.type)));
  return bindings;
}

std::vector<DimBinding> RunArguments::bind_dims() const {
  std::vector<DimBinding> bindings;
  for (const std::string& name : named_dims) bindings.push_back({name, symbols.at(name)});
  return bindings;
}

void add_inputs(CLI::App& app, InputArguments& arguments) {
  app.add_option("--input", arguments.inputs,
                 "An input: a NumPy file, or zeros, ones, randn or arange,\n"
                 "with a shape (randn,8x32000) or with the graph's own.\n"
                 "May be repeated.")
      ->type_name("NAME=@FILE|KIND")
      ->allow_extra_args(false)
      ->check(is_assignment);
  add_dims(app, arguments.dims);
}

Result<RunMaker> RunMaker::create(const Graph& graph, const InputArguments& arguments, std::size_t num_runs) {
  MILLRACE_TRY_ASSIGN(const auto known, collect_symbols(graph));
  MILLRACE_TRY_ASSIGN(Signature signature, Signature::of(graph));
  MILLRACE_TRY_ASSIGN(SymbolValues given, parse_dims(known, arguments.dims));
  RunMaker maker(std::move(signature));
  for (const std::string& argument : arguments.inputs) MILLRACE_TRY(maker.add_source(argument));
  MILLRACE_TRY(maker.require_sources());
  MILLRACE_TRY(maker.resolve(given, pinned_values(known)));
  MILLRACE_TRY(maker.require_memory(num_runs));
  MILLRACE_TRY(maker.map_files());
  return maker;
}

Status RunMaker::add_source(const std::string& argument) {
  const auto [name, value] = split_assignment(argument);
  const std::vector<Argument>& inputs = signature_.inputs();
  if (std::ranges::find(inputs, name, &Argument::name) == inputs.end()) {
    return not_found(fmt::format("--input {}: the graph has no input '{}'; it has: {}", printable(argument),
                                 printable(name), names_text(inputs)));
  }
  if (sources_.contains(name)) {
    return invalid_argument(
        fmt::format("--input {}: '{}' is already given; give each input once", printable(argument), printable(name)));
  }
  MILLRACE_TRY_ASSIGN(sources_[name], parse_source(argument, value));
  return {};
}

Status RunMaker::require_sources() const {
  for (const Argument& input : signature_.inputs()) {
    if (sources_.contains(input.name)) continue;
    return invalid_argument(
        fmt::format("input '{0}' of {1} is not given; say --input {0}=@FILE.npy, or zeros, ones, randn or arange "
                    "instead",
                    printable(input.name), input.type.to_text()));
  }
  return {};
}

Status RunMaker::resolve(const SymbolValues& given, const SymbolValues& pinned) {
  InputTypes types(given, pinned);
  const std::vector<Argument>& inputs = signature_.inputs();
  input_types_.resize(inputs.size());
  for (const bool with_extents : {true, false}) {
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const InputSource& source = sources_.at(inputs[i].name);
      if (has_extents(source) != with_extents) continue;
      MILLRACE_TRY_ASSIGN(input_types_[i], types.of(inputs[i], source));
    }
  }
  symbols_ = types.symbols();
  std::vector<DimBinding> dims;
  for (const Dim& dim : signature_.named_dims()) {
    const auto value = symbols_.find(dim.name());
    if (value == symbols_.end()) {
      return invalid_argument(fmt::format("the size {} is unknown, because no input determines it; say --dim {}=N",
                                          dim.to_text(), dim.name()));
    }
    dims.push_back({dim.name(), value->second});
  }
  std::vector<Extents> extents;
  for (const TensorType& type : input_types_) extents.push_back(extents_of(type));
  MILLRACE_TRY_ASSIGN(output_types_, signature_.output_types(extents, dims));
  return {};
}

Status RunMaker::require_memory(std::size_t num_runs) const {
  const auto memory = static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
  double sum = 0;
  const auto add = [&](const TensorType& type) {
    sum += static_cast<double>(num_runs) * static_cast<double>(size_bytes(type).constant());
  };
  std::ranges::for_each(input_types_, add);
  std::ranges::for_each(output_types_, add);
  if (sum <= memory) return {};
  PrintableNames types;
  const auto name = [&](const std::vector<Argument>& arguments, const std::vector<TensorType>& of) {
    for (std::size_t i = 0; i < of.size(); ++i) {
      types.add(fmt::format("{}: {}", arguments[i].name, of[i].to_text()));
    }
  };
  name(signature_.inputs(), input_types_);
  name(signature_.outputs(), output_types_);
  return resource_exhausted(fmt::format(
      "inputs and outputs ({}){} take {:.3g} GiB, but this machine has {:.3g} GiB; say "
      "smaller sizes",
      types.text(), num_runs == 1 ? "" : fmt::format(", {} times,", num_runs), sum / 0x1p30, memory / 0x1p30));
}

Status RunMaker::map_files() {
  for (auto& [name, source] : sources_) {
    if (!source.file) continue;
    MILLRACE_TRY_ASSIGN(source.array, source.file->map());
    source.file.reset();
  }
  return {};
}

RunArguments RunMaker::make(std::uint64_t seed) const {
  RunArguments run;
  for (std::size_t i = 0; i < input_types_.size(); ++i) {
    const InputSource& source = sources_.at(signature_.inputs()[i].name);
    if (source.array) {
      run.inputs.push_back(*source.array);
      continue;
    }
    const TensorType& type = input_types_[i];
    const auto size = static_cast<std::size_t>(size_bytes(type).constant());
    run.inputs.push_back({type, generate_elements(source.kind, type.dtype, seed++, size)});
  }
  run.symbols = symbols_;
  for (const Dim& dim : signature_.named_dims()) run.named_dims.push_back(dim.name());
  for (const TensorType& type : output_types_) run.outputs.push_back({type, bytes_for(type)});
  return run;
}

std::string names_text(const std::vector<Argument>& arguments) {
  PrintableNames names;
  for (const Argument& argument : arguments) names.add(argument.name);
  return names.text();
}

}  // namespace millrace::tool
