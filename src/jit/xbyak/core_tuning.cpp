// SPDX-License-Identifier: Apache-2.0
#include "jit/xbyak/core_tuning.h"

namespace millrace {

CoreTuning host_tuning() {
  static const CoreTuning kTuning = [] {
    __builtin_cpu_init();
    return CoreTuning{.has_one_minimum_port = __builtin_cpu_is("intel") != 0};
  }();
  return kTuning;
}

std::string_view to_text(const CoreTuning& tuning) {
  return tuning.has_one_minimum_port ? "cores with one port for minima" : "any core";
}

}  // namespace millrace
