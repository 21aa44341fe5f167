// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace millrace {

/// Unmaps the pages of LLVM's code and constants that this process has touched, about 50 MB. They stay in the system's
/// page cache, and the next use maps them again. Does nothing if the module was never opened.
void release_llvm_pages();

}  // namespace millrace
