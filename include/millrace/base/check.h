// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace millrace {
[[noreturn]] void check_failed(const char* file, int line, const char* condition);
}

/// An invariant that this library promised to itself. Prints place and condition and aborts, in every build.
/// Never for what a caller did: that is a Status.
#define MILLRACE_CHECK(condition) \
  (static_cast<bool>(condition) ? (void)0 : ::millrace::check_failed(__FILE__, __LINE__, #condition))
