// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace millrace {
[[noreturn]] void check_failed(const char* file, int line, const char* condition);
}

/// Checks an invariant that this library promised itself. On failure, prints the place and the condition and aborts, in
/// every build. Never use it for a caller's mistake, which is a Status.
#define MILLRACE_CHECK(condition) \
  (static_cast<bool>(condition) ? (void)0 : ::millrace::check_failed(__FILE__, __LINE__, #condition))
