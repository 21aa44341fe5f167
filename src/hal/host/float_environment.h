// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <xmmintrin.h>

namespace millrace {

/// While it lives: rounding to nearest, subnormals kept, and no traps. Kernels are defined in that environment, and an
/// application may have set another one for its thread. Costs two reads of MXCSR if nothing needs to change.
class DefaultFloatEnvironment {
 public:
  DefaultFloatEnvironment() : saved_(_mm_getcsr()) {
    if ((saved_ & ~kSticky) != kDefault) _mm_setcsr(kDefault);
  }
  ~DefaultFloatEnvironment() {
    if ((saved_ & ~kSticky) != kDefault) _mm_setcsr(saved_);
  }
  DefaultFloatEnvironment(const DefaultFloatEnvironment&) = delete;
  DefaultFloatEnvironment& operator=(const DefaultFloatEnvironment&) = delete;

 private:
  static constexpr unsigned kDefault = 0x1f80;  // all exceptions masked, round to nearest, FTZ and DAZ off
  static constexpr unsigned kSticky = 0x003f;   // exception flags, which change nothing
  unsigned saved_;
};

}  // namespace millrace
