// SPDX-License-Identifier: Apache-2.0
// Reads types in graphs, and checks them against the limits of tensors and the inferred types.
#include "graph/text/read_type.h"

#include <fmt/format.h>

#include "millrace/ops/op_def.h"

namespace millrace {

Status check_limits(const TextReader& text, std::size_t begin, const TensorType& type) {
  const std::string problem = broken_limit(type);
  return problem.empty() ? Status() : text.error(begin, "the type " + problem);
}

Status read_same_type(TextReader& text, std::map<std::string, Dim>& symbols, const TensorType& found,
                      std::string_view what) {
  const std::size_t begin = text.position();
  MILLRACE_TRY_ASSIGN(const TensorType type, read_type(text, symbols));
  if (type == found) return {};
  return text.error(begin, fmt::format("found {}, expected {}, the result of {}; correct the type or leave it out",
                                       type.to_text(), found.to_text(), what));
}

}  // namespace millrace
