// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "base/text/reader.h"
#include "millrace/graph/graph.h"

namespace millrace {

/// A value's name as it appears in a text.
struct ValueName {
  std::size_t begin = 0;
  std::vector<std::string> scopes;  // "decoder", "layer3" for "%decoder/layer3/q"
  std::string name;                 // "x", "7.1", "my input"
  std::string spelling;             // as written: "%x", "%7.1"; "%7" and "%\"7\"" are different values
  bool is_number = false;           // "%7", "%7.1": how to_text writes unnamed values
};

Result<ValueName> read_value_name(TextReader&);
/// Fails if the name has a scope.
Status expect_no_scope(const TextReader&, const ValueName&, std::string_view what);

/// The values defined so far in a text.
class ValueNames {
 public:
  Status define(const TextReader&, const ValueName&, Value);
  /// Reads the name of a defined value.
  Result<Value> read(TextReader&) const;

 private:
  std::unordered_map<std::string, Value> values_;  // keyed by spelling
};

}  // namespace millrace
