// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace millrace::test {

/// Which of the calls of malloc and its relatives find no memory: `first` of those that count, from 0, or all from
/// there on. Those count that threads make which are not the one that said this, and that the dynamic linker does not
/// make: it ends the process when it finds no memory for a thread's variables.
void fail_malloc_of_other_threads(std::uint64_t first, bool and_all_after);
void stop_failing();

/// How many counted since fail_malloc_of_other_threads().
std::uint64_t num_mallocs_of_other_threads();

}  // namespace millrace::test
