// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "millrace/hal/executor.h"

namespace millrace::test {

/// Executors that an application may well give.
enum class ExecutorKind : std::uint8_t {
  kSerial,      // one range after another on the calling thread
  kReverse,     // the same from the last to the first
  kThreadEach,  // a new thread for each range, at the same time; the calling thread only waits
};

/// Its concurrency() is the given number.
std::shared_ptr<Executor> make_executor(ExecutorKind, std::uint32_t concurrency);

}  // namespace millrace::test
