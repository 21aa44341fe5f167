// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace millrace::test {

/// From now on, call number `first` of malloc and its relatives fails, or all calls from that one on. Counts, from 0,
/// the calls of all threads except this one, and except those of the dynamic linker, which ends the process when it
/// finds no memory for a thread's variables.
void fail_malloc_of_other_threads(std::uint64_t first, bool and_all_after);
void stop_failing();

/// The number of calls counted since fail_malloc_of_other_threads().
std::uint64_t num_mallocs_of_other_threads();

}  // namespace millrace::test
