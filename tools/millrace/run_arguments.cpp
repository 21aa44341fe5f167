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

/// One --input: a file, or a kind of elements with a shape or without.
struct InputSource {
  std::string argument;  // as it was said
  std::string file = {};
  std::string kind = {};
  std::optional<std::vector<std::int64_t>> shape = {};
};

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
    source.file = value.substr(1);
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

class InputMaker {
 public:
  InputMaker(const Program& program, SymbolValues values, std::uint64_t seed)
      : program_(program), symbols_(std::move(values)), given_(symbols_), seed_(seed) {}

  Status read_arguments(const std::vector<std::string>& arguments) {
    for (const std::string& argument : arguments) {
      const auto [name, value] = split_assignment(argument);
      if (std::ranges::find(program_.inputs(), name, &Program::Argument::name) == program_.inputs().end()) {
        return not_found(fmt::format("--input {}: the graph has no input '{}'; it has: {}", argument, name, names()));
      }
      MILLRACE_TRY_ASSIGN(InputSource source, parse_source(argument, value));
      if (!sources_.emplace(name, std::move(source)).second) {
        return invalid_argument(fmt::format("--input {}: '{}' is given already; give each input once", argument, name));
      }
    }
    return {};
  }

  /// First those that have extents of their own, which tell the sizes of the others.
  Result<std::vector<NpyArray>> make() {
    std::vector<NpyArray> arrays(program_.inputs().size());
    for (const bool has_extents : {true, false}) {
      for (std::size_t i = 0; i < arrays.size(); ++i) {
        const Program::Argument& input = program_.inputs()[i];
        const auto source = sources_.find(input.name);
        if (source == sources_.end()) {
          return invalid_argument(
              fmt::format("input '{0}' of {1} is given nothing; say --input {0}=@FILE.npy, or zeros, "
                          "ones, randn or arange for the file",
                          input.name, input.type.to_text()));
        }
        const bool tells = !source->second.file.empty() || source->second.shape.has_value();
        if (tells != has_extents) continue;
        MILLRACE_TRY_ASSIGN(arrays[i], tells ? with_extents(input, source->second) : generated(input, source->second));
      }
    }
    return arrays;
  }

  const SymbolValues& symbols() const { return symbols_; }

 private:
  std::string names() const {
    std::string text;
    for (const Program::Argument& input : program_.inputs()) text += (text.empty() ? "" : ", ") + input.name;
    return text.empty() ? "none" : text;
  }

  Result<NpyArray> with_extents(const Program::Argument& input, const InputSource& source) {
    NpyArray array;
    if (!source.file.empty()) {
      MILLRACE_TRY_ASSIGN(array, read_npy(source.file));
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

  Result<NpyArray> generated(const Program::Argument& input, const InputSource& source) {
    std::vector<SizeExpr> extents;
    for (const SizeExpr& size : input.type.shape.dims()) {
      if (const std::optional<std::string> unknown = unknown_symbol(size, symbols_)) {
        return invalid_argument(
            fmt::format("--input {0}: found {1}, whose {2} nothing tells; say --dim {2}=N, or give "
                        "a shape, as in {3}=zeros,8x32000",
                        source.argument, input.type.to_text(), *unknown, input.name));
      }
      MILLRACE_TRY_ASSIGN(const std::int64_t extent, size.evaluate(symbols_));
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

  const Program& program_;
  SymbolValues symbols_;
  const SymbolValues given_;  // by --dim
  std::uint64_t seed_;
  std::map<std::string, InputSource> sources_;
};

/// Those that inputs tell, and those that a run binds by name.
std::map<std::string, Dim> symbols_of(const Program& program) {
  std::map<std::string, Dim> symbols;
  for (const Dim& dim : program.named_dims()) symbols.emplace(dim.name(), dim);
  for (const Program::Argument& input : program.inputs()) {
    for (const SizeExpr& size : input.type.shape.dims()) MILLRACE_CHECK(size.collect_symbols(symbols).ok());
  }
  return symbols;
}

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

std::vector<DimBinding> RunArguments::bind_dims(const Program& program) const {
  std::vector<DimBinding> bindings;
  for (const Dim& dim : program.named_dims()) {
    if (const auto value = symbols.find(dim.name()); value != symbols.end()) {
      bindings.push_back({dim.name(), value->second});
    }
  }
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

Result<RunArguments> make_run_arguments(const Program& program, const InputArguments& arguments, std::uint64_t seed) {
  MILLRACE_TRY_ASSIGN(SymbolValues values, parse_dims(symbols_of(program), arguments.dims));
  InputMaker maker(program, std::move(values), seed);
  MILLRACE_TRY(maker.read_arguments(arguments.inputs));
  RunArguments run;
  MILLRACE_TRY_ASSIGN(run.inputs, maker.make());
  run.symbols = maker.symbols();
  std::vector<Extents> extents;
  for (const TensorBinding& binding : run.bind_inputs()) extents.push_back(binding.extents);
  for (const Dim& dim : program.named_dims()) {
    if (run.symbols.contains(dim.name())) continue;
    return invalid_argument(fmt::format("the size {} is told by no input; say --dim {}=N", dim.to_text(), dim.name()));
  }
  const Result<std::vector<TensorType>> types = program.output_types(extents, run.bind_dims(program));
  if (const Status status = types.status(); !status.ok()) {
    constexpr std::string_view kWho = "output types: ";  // of no interest to a person
    return Status(status.code(), status.message().substr(status.message().starts_with(kWho) ? kWho.size() : 0));
  }
  for (const TensorType& type : *types) {
    run.outputs.push_back({type, std::vector<std::byte>(static_cast<std::size_t>(size_bytes(type).constant()))});
  }
  return run;
}

}  // namespace millrace::tool
