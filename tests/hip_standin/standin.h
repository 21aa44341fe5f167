// SPDX-License-Identifier: Apache-2.0
// HIP devices whose runtime is the stand-in.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "millrace/hal/hip_device.h"
#include "tests/hip_standin/control.h"

namespace millrace {

/// A GPU of each architecture that differs in its subgroups: of 32 threads, and of 64. Queued commands run soon or
/// late, by the seed.
hip_standin::Options two_architectures(std::uint64_t seed);

/// A fresh stand-in, and devices that use it. At its end there must be no finding and no live object, so devices and
/// their objects must be destroyed by then.
class HipStandin {
 public:
  /// `library` is one of the stand-in's variants.
  explicit HipStandin(const hip_standin::Options& = {}, const char* library = hip_standin::kLibrary);
  HipStandin(const HipStandin&) = delete;
  HipStandin& operator=(const HipStandin&) = delete;
  ~HipStandin();

  Result<std::shared_ptr<HipDevice>> open(HipDeviceOptions = {}) const;
  /// "hip:library=...", with `rest` behind it.
  static std::string spec(std::string_view rest = {});
  static std::string library();

  hip_standin::Control& control;
  const char* const variant;
  /// Objects that a lost device may keep.
  std::uint64_t num_quarantined = 0;
};

}  // namespace millrace
