// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "millrace/base/status.h"

namespace millrace {

/// What one call of the module asks of LLVM. The call and the thread that does the work share it: either may leave the
/// other behind.
class LlvmWork {
 public:
  virtual ~LlvmWork() = default;
  /// "kernel 'relu'", for the message of a fatal error.
  virtual std::string name() const = 0;
  virtual void run() = 0;
};

/// Has a thread of its own do the work, and waits for it. When LLVM meets a fatal error (report_fatal_error), which its
/// handler must not return from, that thread stays in the handler for the rest of the process, and this returns
/// kInternal with LLVM's text; without memory, kResourceExhausted. LLVM is then in a state that nobody knows: every
/// later call fails at once with the same text, and those under way at that time may still end well within a few
/// seconds. Work that is left behind may go on: nothing of it may be the caller's.
Status run_on_llvm_thread(std::shared_ptr<LlvmWork> work);

}  // namespace millrace
