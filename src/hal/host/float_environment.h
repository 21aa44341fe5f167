// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <xmmintrin.h>

namespace millrace {

/// While an object of this class lives, its thread rounds to nearest, keeps subnormals, and traps no exceptions.
/// Kernels are defined for that environment, but an application may have set another one for its thread. Costs one read
/// of MXCSR if nothing needs to change.
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
  static constexpr unsigned kSticky = 0x003f;   // exception flags, which do not affect results
  unsigned saved_;
};

}  // namespace millrace
