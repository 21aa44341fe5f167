// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdio>
#include <functional>

#include "millrace/graph/compile.h"

namespace millrace::tool {

/// One line on a terminal that is rewritten while a program compiles, and erased at the end. A compile shorter than
/// kPatience shows nothing; neither does output that is not a terminal.
class ProgressLine {
 public:
  static constexpr std::chrono::milliseconds kPatience{300};
  using Clock = std::function<std::chrono::nanoseconds()>;

  explicit ProgressLine(std::FILE* file, Clock clock = steady_time);
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  ~ProgressLine();
  void show(const CompileProgress& progress);

 private:
  static std::chrono::nanoseconds steady_time() { return std::chrono::steady_clock::now().time_since_epoch(); }
  void write(const std::string& text);

  std::FILE* const file_;
  const Clock clock_;
  const bool is_terminal_;
  const std::chrono::nanoseconds start_;
  bool is_shown_ = false;
};

}  // namespace millrace::tool
