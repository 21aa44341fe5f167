// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/base/status.h"

namespace millrace {

/// The device that a user asks for, as text: "cpu", "cpu:avx2,threads=4", "sim:gfx1100,seed=3", "trace(cpu)". A
/// driver's name, then words and options; or a wrapper's name around another spec. What code is generated for is a
/// TargetSpec.
struct DeviceSpec {
  /// An option: "seed=3".
  struct Option {
    std::string key, value;
    friend bool operator==(const Option&, const Option&) = default;
  };
  std::string driver = {};              // "cpu"; of a wrapper "trace"
  std::vector<std::string> words = {};  // "avx2", in their order
  std::vector<Option> options = {};     // each key once
  std::string inner = {};               // of a wrapper: the text in parentheses

  /// Fails naming the part that is empty, double or out of place. Whether there is such a driver, and what it takes, it
  /// says itself.
  static Result<DeviceSpec> parse(std::string_view text);
  std::string to_text() const;
  friend bool operator==(const DeviceSpec&, const DeviceSpec&) = default;
};

}  // namespace millrace
