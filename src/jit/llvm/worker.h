// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "millrace/base/status.h"

namespace millrace {

/// The work of one call into the module. The caller and the working thread share it, because either may outlive the
/// other.
class LlvmWork {
 public:
  virtual ~LlvmWork() = default;
  /// Names the work in the message of a fatal error, such as "kernel 'relu'".
  virtual std::string name() const = 0;
  virtual void run() = 0;
};

/// Runs the work on a thread of its own and waits for it. Returns kResourceExhausted without calling LLVM if little
/// memory is left. On a fatal LLVM error (report_fatal_error), whose handler must not return, the thread stays in the
/// handler for the rest of the process, and this function returns kInternal with LLVM's text. If memory runs out inside
/// LLVM, the thread ends, its objects are leaked, and this function returns kResourceExhausted. In both cases LLVM's
/// state is then unknown: every later call fails immediately with the same status, and calls in progress get a few
/// seconds to finish. Abandoned work may continue, so it must not refer to anything that the caller owns.
Status run_on_llvm_thread(std::shared_ptr<LlvmWork> work);

}  // namespace millrace
