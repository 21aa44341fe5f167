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

/// Whether to verify the bodies of a schedule's loops and branches too, or rely on an earlier verification of them.
enum class ScheduleBodies : std::uint8_t { kVerify, kAreVerified };
Status verify(const Schedule&, ScheduleBodies);

// Parts of verify(Schedule), whose declaration lists the rules. No check relies on the passes that made the schedule.
// Precondition: all indices and byte ranges in the steps are valid.

/// Checks that every step reads only bytes that earlier steps have written, that steps keep the graph's order where it
/// matters, and that transients live as long as they are used.
void check_step_order(const Schedule&, ScheduleProblems&);
/// Checks that transients which live at the same time share no bytes.
void check_slab(const Schedule&, ScheduleProblems&);

}  // namespace millrace
