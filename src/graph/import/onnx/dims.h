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

/// Converts the dims of a model's inputs to sizes.
class OnnxDims {
 public:
  /// Adds the caller's sizes, by dim_param. Symbols that are made later do not reuse the names of symbols in `dims`.
  void give(const std::map<std::string, SizeExpr>& dims);
  /// Adds the dim_param of an input's dim. If it is a valid name of a symbol, that input binds the symbol.
  void add_plain(std::string_view dim_param);
  /// The size of a dim of input `input`. A dim_param becomes the first of these that is possible: the caller's size; a
  /// symbol of that name; a formula of such symbols, as in "past + 1"; a symbol of a similar name. A dim without a
  /// value or a name becomes a symbol that is named after the input and the axis.
  Result<SizeExpr> size_of(const DimensionProto&, std::string_view input, std::size_t axis);
  /// A new symbol, which no other dim has. Its name begins with `text`, with '_' for each character that is not
  /// allowed.
  Dim fresh(std::string_view text);
  /// One line for each dim_param whose symbol has another name, and for each of the caller's names that no input has.
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
