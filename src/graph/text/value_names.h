// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <unordered_map>

#include "base/text/reader.h"
#include "millrace/graph/graph.h"

namespace millrace {

/// A value's name where it stands in a text.
struct ValueName {
  std::size_t begin = 0;
  std::string name;        // "x", "7.1", "my input"
  std::string spelling;    // "%x", "%7.1", "%\"my input\"": "%7" and "%\"7\"" are two names
  bool is_number = false;  // "%7", "%7.1": what to_text writes for a value without a name
};

Result<ValueName> read_value_name(TextReader&);

/// The values of a text so far.
class ValueNames {
 public:
  Status define(const TextReader&, const ValueName&, Value);
  /// Reads the name of a value that is defined.
  Result<Value> read(TextReader&) const;

 private:
  std::unordered_map<std::string, Value> values_;  // by spelling
};

}  // namespace millrace
