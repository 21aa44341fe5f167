// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "millrace/hal/target_spec.h"

namespace millrace::tool {

struct Rates {
  double bytes_per_second = 0, flops_per_second = 0;
};
/// "26 % of the peak, 120 GFLOP/s", for the limit that the rates come closer to. If a rate is above its limit, the text
/// explains that instead: the limits are measured too, and may be too low.
std::string share_text(const Rates& reached, const Rates& limits);

/// The limits of one thread on this machine. Source: Williams, Waterman & Patterson, "Roofline", CACM 52(4), 2009.
class Roofline {
 public:
  /// Precondition: this host runs code of that level.
  explicit Roofline(IsaLevel level) : level_(level) {}

  /// f32 multiplications and additions per second, in registers only.
  double peak_flops();
  /// Bytes per second of reading or copying, whichever is faster, when this many bytes are moved repeatedly: data in a
  /// cache move faster than data in memory. Measured for the next power of two.
  double bytes_per_second(double bytes);

 private:
  IsaLevel level_;
  double peak_flops_ = 0;                     // 0 until measured
  std::map<std::size_t, double> bandwidths_;  // keyed by bytes
};

}  // namespace millrace::tool
