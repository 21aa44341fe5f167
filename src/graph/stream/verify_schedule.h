// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <fmt/format.h>

#include "millrace/graph/schedule.h"

namespace millrace {

/// Collects broken rules, one per line.
class ScheduleProblems {
 public:
  template <class... Args>
  void add(fmt::format_string<Args...> format, Args&&... args) {
    text_ += (text_.empty() ? "" : "\n") + fmt::format(format, std::forward<Args>(args)...);
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

// The parts of verify(Schedule), which lists the rules. No check relies on the passes that made the schedule.

/// The parts of each step exist and are consistent. The other checks require this one to pass.
void check_step_parts(const Schedule&, ScheduleProblems&);
/// Every step sees what it reads, steps keep the graph's order where it matters, and transients live as long as they
/// are used.
void check_step_order(const Schedule&, ScheduleProblems&);
/// Transients that live at the same time share no bytes.
void check_slab(const Schedule&, ScheduleProblems&);

}  // namespace millrace
