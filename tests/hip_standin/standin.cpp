// SPDX-License-Identifier: Apache-2.0
#include "tests/hip_standin/standin.h"

#include <doctest/doctest.h>
#include <fmt/ranges.h>

#include "hal/hip/runtime.h"

namespace millrace {

hip_standin::Options two_architectures(std::uint64_t seed) {
  return {.devices = {{.architecture = "gfx1100"}, {.architecture = "gfx90a:sramecc+:xnack-"}},
          .seed = seed,
          .eagerness = hip_standin::Eagerness::kMixed};
}

HipStandin::HipStandin(const hip_standin::Options& options, const char* library)
    : control(hip_standin::open_control(library)), variant(library) {
  control.reset(options);
  hip::Runtime::forget_hung_devices();
}

HipStandin::~HipStandin() {
  CHECK(fmt::to_string(fmt::join(control.findings(), "\n")) == "");
  if (num_quarantined == 0) {
    CHECK(fmt::to_string(fmt::join(control.live_objects(), "\n")) == "");
  } else {
    CHECK(control.live_objects().size() == num_quarantined);
  }
  control.reset({});
}

Result<std::shared_ptr<HipDevice>> HipStandin::open(HipDeviceOptions options) const {
  options.library = variant;
  return create_hip_device(options);
}

std::string HipStandin::library() { return hip_standin::kLibrary; }

std::string HipStandin::spec(std::string_view rest) { return "hip:library=" + library() + std::string(rest); }

}  // namespace millrace
