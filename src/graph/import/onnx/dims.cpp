// SPDX-License-Identifier: Apache-2.0
// Converts the dims that a model declares to sizes.
#include "graph/import/onnx/dims.h"

#include <algorithm>

#include <fmt/format.h>

#include "millrace/base/printable.h"

namespace millrace {
namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// The text with an underscore in place of each character that a symbol's name cannot contain.
std::string plain_symbol(std::string_view text) {
  constexpr std::size_t kMaxBytes = 200;
  std::string name;
  for (const char c : text.substr(0, kMaxBytes)) name += is_letter(c) || is_digit(c) || c == '.' ? c : '_';
  if (name.empty() || !is_letter(name[0]) || !Dim(name).check().ok()) name = "_" + name;
  return name;
}

}  // namespace

void OnnxDims::give(const std::map<std::string, SizeExpr>& dims) {
  given_ = dims;
  for (const auto& [dim_param, size] : dims) {
    std::map<std::string, Dim> symbols;
    if (!size.collect_symbols(symbols).ok()) continue;  // an input with that dim is refused
    for (const auto& [name, dim] : symbols) used_names_.insert(name);
  }
}

void OnnxDims::add_plain(std::string_view dim_param) {
  if (!Dim(std::string(dim_param)).check().ok()) return;
  plain_.emplace(dim_param);
  used_names_.emplace(dim_param);
}

Dim OnnxDims::fresh(std::string_view text) {
  const std::string wanted = plain_symbol(text);
  std::string name = wanted;
  while (!used_names_.insert(name).second) name = fmt::format("{}_{}", wanted, ++last_suffixes_[wanted]);
  return Dim(name);
}

SizeExpr OnnxDims::parse(std::string_view dim_param) {
  if (plain_.contains(dim_param)) return Dim(std::string(dim_param));
  std::map<std::string, Dim> symbols;
  const Result<SizeExpr> size = parse_size_expr(dim_param, symbols);
  const auto is_bound = [&](const auto& symbol) {
    return plain_.contains(symbol.first) && symbol.second == Dim(symbol.first);
  };
  if (size.ok() && size->lower_bound() >= 0 && std::ranges::all_of(symbols, is_bound)) return *size;
  const Dim dim = fresh(dim_param);
  if (dim.name() != dim_param) {
    notes_.push_back(fmt::format("dim '{}' is the symbol {}", printable(dim_param), dim.name()));
  }
  return dim;
}

Result<SizeExpr> OnnxDims::size_of(const DimensionProto& dim, std::string_view input, std::size_t axis) {
  if (dim.dim_value && dim.dim_param) return data_loss("has both a value and a name");
  if (dim.dim_value) {
    if (*dim.dim_value < -1) return data_loss(fmt::format("is {}, expected 0 or more", *dim.dim_value));
    if (*dim.dim_value >= 0) return SizeExpr(*dim.dim_value);
  }
  // Some exporters write -1 for an unknown dim.
  if (!dim.dim_param || dim.dim_param->empty()) return SizeExpr(fresh(fmt::format("{}_{}", input, axis)));
  used_params_.emplace(*dim.dim_param);
  const auto given = given_.find(std::string(*dim.dim_param));
  if (given != given_.end()) return given->second;
  const auto known = sizes_.find(*dim.dim_param);
  if (known != sizes_.end()) return known->second;
  return sizes_.emplace(*dim.dim_param, parse(*dim.dim_param)).first->second;
}

std::vector<std::string> OnnxDims::notes() const {
  std::vector<std::string> notes = notes_;
  for (const auto& [name, size] : given_) {
    if (!used_params_.contains(name)) notes.push_back(fmt::format("no input has a dim '{}'", printable(name)));
  }
  return notes;
}

}  // namespace millrace
