// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "tests/support/random/sort_trial.h"

namespace millrace::test {

/// How many trials there are of each program.
inline constexpr std::size_t kRunsPerSort = 8;

/// Trials of one random sort or TopK: of any dtype, axis and results, static or dynamic, of sizes around the thresholds
/// of the code, with hard_rows() of every kind. Equal seeds give equal trials.
std::vector<SortTrial> make_random_sorts(std::uint64_t seed);

/// Checks these on every ISA level of the host that has vectors, and in part on the baseline. Nothing, or which failed
/// and the smallest trial that still does.
std::string check_random_sorts(std::uint64_t seed);

}  // namespace millrace::test
