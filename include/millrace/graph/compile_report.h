// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/base/size_expr.h"

namespace millrace {

struct PassReport {
  std::string_view name;
  std::chrono::nanoseconds time{};
  std::size_t nodes_before = 0;
  std::size_t nodes_after = 0;
};

struct KernelReport {
  std::string name;
  std::chrono::nanoseconds time{};   // spent generating its code or finding it in the cache
  std::chrono::nanoseconds begin{};  // since the start of the phase `code`; kernels overlap if threads generate them
};

/// A value that depends only on constants, but for which PassOptions::max_prepared_bytes has no room left, so each run
/// computes it again.
struct UnpreparedConstant {
  std::string name;  // the name of its node: "%weights = mul", "layer3/dequantize_linear"
  std::uint64_t size_bytes = 0;
};

/// What compiling did, for people to read.
struct CompileReport {
  /// The phases, in order. With several targets, each target has its own times, except for the shared phases before
  /// lowering and the total.
  std::chrono::nanoseconds total{}, passes{}, forming{}, lowering{}, scheduling{}, code{}, load{};
  std::vector<PassReport> pass_reports;
  std::vector<KernelReport> kernel_reports;
  std::size_t num_regions = 0, num_kernels = 0, num_dispatches = 0;
  SizeExpr slab_bytes = 0;  // memory for all transients; an upper bound if sizes are symbolic
  std::uint64_t constant_bytes = 0;
  std::uint64_t prepared_bytes = 0;  // the part of constant_bytes that loading computes
  std::vector<UnpreparedConstant> unprepared;
  std::uint64_t variable_bytes = 0;  // per session
};

}  // namespace millrace
