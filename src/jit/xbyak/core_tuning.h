// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace millrace {

/// What code gains from knowing the cores that run it, beyond their level. Any core of the level runs it, and it
/// computes the same: a program that another machine saved may only be slower.
struct CoreTuning {
  /// Minima and maxima of 512 bits have one port, while logic has two: Intel's cores with AVX-512.
  bool has_one_minimum_port = false;
};

/// What is known of this machine's cores.
CoreTuning host_tuning();
/// "any core", "cores with one port for minima".
std::string_view to_text(const CoreTuning&);

}  // namespace millrace
