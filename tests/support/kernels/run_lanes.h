// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/text/reader.h"
#include "jit/lanes/lane_function.h"

namespace millrace::test {

/// What is wrong with a run of a lane function as its text describes it; empty if nothing is. The function is
/// evaluated, and its code runs if the host has the level and the features.
///     arg0 = i32[1, 2, 3], arg2 = 3 -> arg1 = i32[2, 4, 6], returns 12
/// An integer is an argument, and a list is memory that an argument points to, aligned to a vector, with a vector of
/// spare behind it. Memory on the right alone begins with zeros. "returns arg1+12" expects a pointer.
std::string lane_run_problem(const LaneFunction&, TextReader& run);

}  // namespace millrace::test
