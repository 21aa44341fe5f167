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
/// "26 % of the peak, 120 GFLOP/s": how near to its limit the rate is that comes nearest. A rate above its limit, which
/// was measured, too, says what that means instead.
std::string share_text(const Rates& reached, const Rates& limits);

/// What one thread of this machine reaches. Source: Williams, Waterman & Patterson, "Roofline", CACM 52(4), 2009.
class Roofline {
 public:
  /// Precondition: this host runs code of that level.
  explicit Roofline(IsaLevel level) : level_(level) {}

  /// Multiplications and additions of f32 per second, in registers alone.
  double peak_flops();
  /// Bytes per second of the faster of reading and copying, where as many bytes are moved again and again: what is in a
  /// cache moves faster than memory. Measured for the next power of two.
  double bytes_per_second(double bytes);

 private:
  IsaLevel level_;
  double peak_flops_ = 0;                     // once measured
  std::map<std::size_t, double> bandwidths_;  // by bytes
};

}  // namespace millrace::tool
