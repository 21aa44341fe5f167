// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/text/reader.h"
#include "millrace/jit/loop_kernel.h"

namespace millrace {

/// Like parse_loop_kernel, for a kernel inside another text: reads up to the kernel's last brace.
Result<LoopKernel> read_loop_kernel(TextReader& text);

}  // namespace millrace
