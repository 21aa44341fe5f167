// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "millrace/graph/program.h"
#include "millrace/hal/device.h"

namespace millrace::tool {

using TraceClock = std::chrono::steady_clock;

/// When a session's runs began, and when their commands ran.
struct RunTimes {
  struct Entry {
    TraceClock::time_point run_begin;
    SubmissionTimes times;
  };
  std::vector<Entry> runs;
};

struct TraceTimes {
  TraceClock::time_point start;          // reading the graph begins, and with it the trace
  TraceClock::time_point inputs_begin;   // reading or making inputs begins
  TraceClock::time_point compile_begin;  // the phases in the program's report begin here
  TraceClock::time_point outputs_begin;  // writing or printing outputs begins
  TraceClock::time_point outputs_end;
};

/// A timeline in Chrome's JSON trace format, which Perfetto opens: reading and writing, the phases of compiling, and
/// every command that ran, with its bytes, flops and GB/s.
std::string chrome_trace(const Program&, const TraceTimes&, const RunTimes&, const SymbolValues&);

}  // namespace millrace::tool
