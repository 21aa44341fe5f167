// SPDX-License-Identifier: Apache-2.0
// The option --set: values of a model's inputs.
#include "tools/millrace/onnx_values.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>

#include <fmt/format.h>

#include "millrace/base/printable.h"
#include "millrace/graph/npy.h"
#include "tools/millrace/dims.h"

namespace millrace::tool {
namespace {

std::vector<std::string> split_list(const std::string& text) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

template <class T>
std::optional<T> parse_element(const std::string& text) {
  if constexpr (std::is_same_v<T, bool>) {
    if (text == "true" || text == "1") return true;
    return text == "false" || text == "0" ? std::optional(false) : std::nullopt;
  } else {
    using Parsed = std::conditional_t<std::is_integral_v<T>, T, double>;
    Parsed value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) return {};
    return static_cast<T>(value);
  }
}

template <class T>
Result<std::vector<std::byte>> parse_elements(const std::string& where, const std::vector<std::string>& parts) {
  std::vector<std::byte> bytes(parts.size() * sizeof(T));
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::optional<T> element = parse_element<T>(parts[i]);
    if (!element) {
      return invalid_argument(fmt::format("{}: found '{}', expected an element of {}, such as {}", where,
                                          printable(parts[i]), to_text(dtype_of<T>),
                                          std::is_same_v<T, bool> ? "true" : "1"));
    }
    std::memcpy(bytes.data() + i * sizeof(T), &*element, sizeof(T));
  }
  return bytes;
}

/// The shape of a list that is given for an input: the declared shape if its dims are numbers. If the declared shape is
/// one dim without a number, a list of any length fits.
Result<Shape> shape_for(const std::string& where, const Argument& input, std::size_t count) {
  const Shape& declared = input.type.shape;
  const auto size = static_cast<std::int64_t>(count);
  if (!declared.is_static() && declared.rank() == 1) return Shape{size};
  if (declared.is_static() && declared.num_elements().is(size)) return declared;
  return invalid_argument(fmt::format("{}: found {} element{}, expected {} for {}; or give a file, as {}=@FILE", where,
                                      count, count == 1 ? "" : "s", declared.num_elements().to_text(),
                                      input.type.to_text(), printable(input.name)));
}

Result<OnnxConstant> parse_value(const std::string& where, const Argument& input, const std::string& text) {
  if (text.starts_with('@')) {
    MILLRACE_TRY_ASSIGN(NpyReader reader, NpyReader::open(text.substr(1)));
    MILLRACE_TRY_ASSIGN(NpyView array, reader.map());
    return OnnxConstant{std::move(array.type), std::move(array.bytes)};
  }
  const std::vector<std::string> parts = split_list(text);
  MILLRACE_TRY_ASSIGN(Shape shape, shape_for(where, input, parts.size()));
  MILLRACE_TRY_ASSIGN(std::vector<std::byte> bytes,
                      visit_dtype(input.type.dtype, [&]<class T>() { return parse_elements<T>(where, parts); }));
  return OnnxConstant{{input.type.dtype, std::move(shape)}, std::move(bytes)};
}

}  // namespace

Result<std::map<std::string, OnnxConstant>> parse_onnx_values(const std::string& path,
                                                              const std::vector<std::string>& arguments) {
  std::map<std::string, OnnxConstant> values;
  if (arguments.empty()) return values;
  MILLRACE_TRY_ASSIGN(const std::vector<Argument> inputs, onnx_inputs(path));
  for (const std::string& argument : arguments) {
    const auto [name, text] = split_assignment(argument);
    const std::string where = fmt::format("--set {}", printable(argument));
    const auto input = std::ranges::find(inputs, name, &Argument::name);
    if (input == inputs.end()) {
      PrintableNames names;
      for (const Argument& other : inputs) names.add(other.name);
      return not_found(fmt::format("{}: unknown input '{}'; the model has: {}", where, printable(name), names.text()));
    }
    MILLRACE_TRY_ASSIGN(OnnxConstant value, parse_value(where, *input, text));
    if (!values.emplace(name, std::move(value)).second) {
      return invalid_argument(
          fmt::format("{}: '{}' already has a value; give each input once", where, printable(name)));
    }
  }
  return values;
}

}  // namespace millrace::tool
