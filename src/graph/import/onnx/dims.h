// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "graph/import/onnx/tensor_messages.h"
#include "millrace/base/shape.h"
#include "millrace/base/status.h"

namespace millrace {

/// The sizes that the dims of a model's inputs stand for.
class OnnxDims {
 public:
  /// Adds what the caller gives, by dim_param. Symbols that are made later have other names than those in `dims`.
  void give(const std::map<std::string, SizeExpr>& dims);
  /// Adds a dim_param that is the whole dim of some input. If it is a symbol's name, that input binds the symbol.
  void add_plain(std::string_view dim_param);
  /// The size of a dim of input `input`. A dim_param is, in this order: what the caller gives; a symbol of that name; a
  /// formula of such symbols, as in "past + 1"; a symbol of a similar name. A dim without a value or a name becomes a
  /// symbol that is named after the input and the axis.
  Result<SizeExpr> size_of(const DimensionProto&, std::string_view input, std::size_t axis);
  /// A new symbol, which no other dim has. Its name begins with `text`, as far as a symbol's name allows.
  Dim fresh(std::string_view text);
  /// One line for each dim_param whose symbol has another name, and for each name of the caller's that no input has.
  std::vector<std::string> notes() const;

 private:
  SizeExpr parse(std::string_view dim_param);

  std::map<std::string, SizeExpr> given_;
  std::set<std::string, std::less<>> plain_, used_names_, used_params_;
  std::map<std::string, std::size_t> last_suffixes_;    // by the name without its suffix
  std::map<std::string, SizeExpr, std::less<>> sizes_;  // by dim_param
  std::vector<std::string> notes_;
};

}  // namespace millrace
