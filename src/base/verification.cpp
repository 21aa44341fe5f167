// SPDX-License-Identifier: Apache-2.0
// The VerificationCount that is open on this thread.
#include "base/verification.h"

namespace millrace {

thread_local VerificationCount* VerificationCount::current_ = nullptr;

}  // namespace millrace
