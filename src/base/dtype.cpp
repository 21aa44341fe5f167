// SPDX-License-Identifier: Apache-2.0
// Looks up a dtype by its name, for the parsers of graphs and attributes.
#include "millrace/base/dtype.h"

namespace millrace {

std::optional<DType> parse_dtype(std::string_view text) {
  for (const DType dtype : kAllDTypes) {
    if (to_text(dtype) == text) return dtype;
  }
  return std::nullopt;
}

}  // namespace millrace
