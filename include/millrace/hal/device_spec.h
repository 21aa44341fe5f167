// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/base/status.h"

namespace millrace {

/// The device that a user asks for, as text: "cpu", "cpu:avx2,threads=4", "sim:gfx1100,seed=3", "trace(cpu)". A spec is
/// a driver's name with words and options, or a wrapper's name with another spec in parentheses. TargetSpec is the
/// counterpart for generated code.
struct DeviceSpec {
  /// An option: "seed=3".
  struct Option {
    std::string key, value;
    friend bool operator==(const Option&, const Option&) = default;
  };
  std::string driver = {};              // "cpu"; for a wrapper, "trace"
  std::vector<std::string> words = {};  // "avx2", in their order
  std::vector<Option> options = {};     // each key once
  std::string inner = {};               // for a wrapper: the text in parentheses

  /// Fails if a part is empty, duplicate or out of place, and names the part. Does not check that the driver exists, or
  /// that it accepts the words and options.
  static Result<DeviceSpec> parse(std::string_view text);
  std::string to_text() const;
  friend bool operator==(const DeviceSpec&, const DeviceSpec&) = default;
};

}  // namespace millrace
