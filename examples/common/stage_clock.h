// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdio>
#include <string_view>

#include <fmt/format.h>

namespace common {

/// Prints how long each stage of a program takes, on standard error: "compile      843.0 ms".
class StageClock {
 public:
  /// Ends the stage, which began when the previous one ended, and returns its time in milliseconds.
  double end(std::string_view stage) {
    const auto now = std::chrono::steady_clock::now();
    const double time = std::chrono::duration<double, std::milli>(now - begin_).count();
    fmt::print(stderr, "{:8} {:8.1f} ms\n", stage, time);
    begin_ = std::chrono::steady_clock::now();
    return time;
  }

 private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

}  // namespace common
