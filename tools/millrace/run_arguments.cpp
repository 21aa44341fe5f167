// SPDX-License-Identifier: Apache-2.0
#include "tools/millrace/run_arguments.h"

#include <algorithm>
#include <charconv>
#include <map>

#include <fmt/format.h>

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
    MILLRACE_TRY_ASSIGN(source.file, read_npy(value.substr(1)));
    return source;
  }
  const std::size_t comma = value.find(',');
  source.kind = value.substr(0, comma);
  if (std::ranges::find(kElementKinds, source.kind) == std::end(kElementKinds)) {
    return invalid_argument(
        fmt::format("--input {}: found '{}', expected @FILE.npy, zeros, ones, randn or arange", argument, source.kind));
  }
  if (comma == std::string::npos) return source;
  source.shape = parse_shape(std::string_view(value).substr(comma + 1));
  if (source.shape) return source;
  return invalid_argument(
      fmt::format("--input {}: found '{}', expected a shape such as 8x32000", argument, value.substr(comma + 1)));
}

bool has_extents(const InputSource& source) { return source.file || source.shape; }

/// The inputs of one run. Those that have extents of their own come first: they tell the sizes of the others.
class InputMaker {
 public:
  InputMaker(const SymbolValues& given, const SymbolValues& pinned, std::uint64_t seed)
      : given_(given), symbols_(given), seed_(seed) {
    symbols_.insert(pinned.begin(), pinned.end());
  }

  Result<NpyArray> make(const Argument& input, const InputSource& source) {
    return has_extents(source) ? with_extents(input, source) : generated(input, source);
  }
  const SymbolValues& symbols() const { return symbols_; }

 private:
  Result<NpyArray> with_extents(const Argument& input, const InputSource& source) {
    NpyArray array;
    if (source.file) {
      array = *source.file;
    } else {
      MILLRACE_TRY_ASSIGN(array,
                          filled({input.type.dtype, Shape({source.shape->begin(), source.shape->end()})}, source));
    }
    const TensorType& type = input.type;
    if (array.type.dtype != type.dtype || array.type.shape.rank() != type.shape.rank()) {
      return invalid_argument(fmt::format("--input {}: found {}, expected {}; give elements and axes like these",
                                          source.argument, array.type.to_text(), type.to_text()));
    }
    for (std::size_t axis = 0; axis < type.shape.rank(); ++axis) {
      const std::optional<std::string> symbol = plain_symbol(type.shape[axis]);
      if (!symbol) continue;
      const std::int64_t extent = array.type.shape[axis].constant();
      symbols_.emplace(*symbol, extent);  // another value of an input before is the run's to refuse
      if (const auto said = given_.find(*symbol); said != given_.end() && said->second != extent) {
        return invalid_argument(
            fmt::format("--input {}: found {}, whose {} is {}; --dim says {}; leave it to the input", source.argument,
                        array.type.to_text(), *symbol, extent, said->second));
      }
    }
    return array;
  }

  Result<NpyArray> generated(const Argument& input, const InputSource& source) {
    std::vector<SizeExpr> extents;
    for (const SizeExpr& size : input.type.shape.dims()) {
      if (const std::optional<std::string> unknown = unknown_symbol(size, symbols_)) {
        return invalid_argument(
            fmt::format("--input {0}: found {1}, whose {2} nothing tells; say --dim {2}=N, or give "
                        "a shape, as in {3}=zeros,8x32000",
                        source.argument, input.type.to_text(), *unknown, input.name));
      }
      MILLRACE_TRY_ASSIGN(const std::int64_t extent, size.evaluate(symbols_));
      if (extent < 0) {
        return invalid_argument(fmt::format("--input {}: found {}, whose {} is {}, expected 0 or more; say other sizes",
                                            source.argument, input.type.to_text(), size.to_text(), extent));
      }
      extents.emplace_back(extent);
    }
    return filled({input.type.dtype, Shape(std::move(extents))}, source);
  }

  Result<NpyArray> filled(TensorType type, const InputSource& source) {
    const SizeExpr bytes = size_bytes(type);
    constexpr std::int64_t kMostBytes = std::int64_t{1} << 40;
    if (bytes.constant() < 0 || bytes.constant() > kMostBytes) {
      return resource_exhausted(
          fmt::format("--input {}: {} has more than 2^40 bytes; say a smaller one", source.argument, type.to_text()));
    }
    NpyArray array{std::move(type), std::vector<std::byte>(static_cast<std::size_t>(bytes.constant()))};
    generate_elements(source.kind, array.type.dtype, seed_++, array.bytes);
    return array;
  }

  const SymbolValues& given_;  // by --dim
  SymbolValues symbols_;
  std::uint64_t seed_;
};

TensorBinding bind_array(NpyArray& array) {
  std::vector<std::int64_t> extents;
  for (const SizeExpr& size : array.type.shape.dims()) extents.push_back(size.constant());
  return bind(array.bytes, Extents(extents));
}

std::vector<TensorBinding> bind_arrays(std::vector<NpyArray>& arrays) {
  std::vector<TensorBinding> bindings;
  for (NpyArray& array : arrays) bindings.push_back(bind_array(array));
  return bindings;
}

}  // namespace

std::vector<TensorBinding> RunArguments::bind_inputs() { return bind_arrays(inputs); }
std::vector<TensorBinding> RunArguments::bind_outputs() { return bind_arrays(outputs); }

std::vector<DimBinding> RunArguments::bind_dims() const {
  std::vector<DimBinding> bindings;
  for (const std::string& name : named_dims) bindings.push_back({name, symbols.at(name)});
  return bindings;
}

void add_inputs(CLI::App& app, InputArguments& arguments) {
  app.add_option("--input", arguments.inputs,
                 "An input: a NumPy file, or zeros, ones, randn or arange,\n"
                 "with a shape (randn,8x32000) or with the graph's.\n"
                 "May be given again, for others.")
      ->type_name("NAME=@FILE|KIND")
      ->allow_extra_args(false)
      ->check(is_assignment);
  add_dims(app, arguments.dims);
}

Result<RunMaker> RunMaker::create(const Graph& graph, const InputArguments& arguments) {
  MILLRACE_TRY_ASSIGN(const auto known, collect_symbols(graph));
  MILLRACE_TRY_ASSIGN(Signature signature, Signature::of(graph));
  MILLRACE_TRY_ASSIGN(SymbolValues given, parse_dims(known, arguments.dims));
  RunMaker maker(std::move(signature), std::move(given), pinned_values(known));
  for (const std::string& argument : arguments.inputs) MILLRACE_TRY(maker.add_source(argument));
  MILLRACE_TRY(maker.require_sources());
  return maker;
}

Status RunMaker::add_source(const std::string& argument) {
  const auto [name, value] = split_assignment(argument);
  const std::vector<Argument>& inputs = signature_.inputs();
  if (std::ranges::find(inputs, name, &Argument::name) == inputs.end()) {
    return not_found(
        fmt::format("--input {}: the graph has no input '{}'; it has: {}", argument, name, names_text(inputs)));
  }
  if (sources_.contains(name)) {
    return invalid_argument(fmt::format("--input {}: '{}' is given already; give each input once", argument, name));
  }
  MILLRACE_TRY_ASSIGN(sources_[name], parse_source(argument, value));
  return {};
}

Status RunMaker::require_sources() const {
  for (const Argument& input : signature_.inputs()) {
    if (sources_.contains(input.name)) continue;
    return invalid_argument(
        fmt::format("input '{0}' of {1} is given nothing; say --input {0}=@FILE.npy, or zeros, ones, randn or arange "
                    "for the file",
                    input.name, input.type.to_text()));
  }
  return {};
}

Result<RunArguments> RunMaker::make(std::uint64_t seed) const {
  RunArguments run;
  InputMaker maker(given_, pinned_, seed);
  const std::vector<Argument>& inputs = signature_.inputs();
  run.inputs.resize(inputs.size());
  for (const bool tells : {true, false}) {
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const InputSource& source = sources_.at(inputs[i].name);
      if (has_extents(source) != tells) continue;
      MILLRACE_TRY_ASSIGN(run.inputs[i], maker.make(inputs[i], source));
    }
  }
  run.symbols = maker.symbols();
  for (const Dim& dim : signature_.named_dims()) {
    run.named_dims.push_back(dim.name());
    if (run.symbols.contains(dim.name())) continue;
    return invalid_argument(fmt::format("the size {} is told by no input; say --dim {}=N", dim.to_text(), dim.name()));
  }
  std::vector<Extents> extents;
  for (const TensorBinding& binding : run.bind_inputs()) extents.push_back(binding.extents);
  MILLRACE_TRY_ASSIGN(const std::vector<TensorType> types, signature_.output_types(extents, run.bind_dims()));
  for (const TensorType& type : types) {
    run.outputs.push_back({type, std::vector<std::byte>(static_cast<std::size_t>(size_bytes(type).constant()))});
  }
  return run;
}

std::string names_text(const std::vector<Argument>& arguments) {
  std::string text;
  for (const Argument& argument : arguments) text += (text.empty() ? "" : ", ") + argument.name;
  return text.empty() ? "none" : text;
}

}  // namespace millrace::tool
