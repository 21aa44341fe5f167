// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>

#include "millrace/base/check.h"
#include "tests/hip_standin/control.h"

namespace millrace::hip_standin {

const char kLibrary[] = MILLRACE_HIP_STANDIN;
const char kRequiredLibrary[] = MILLRACE_HIP_STANDIN_REQUIRED;
const char kLackingLibrary[] = MILLRACE_HIP_STANDIN_LACKING;

Control& open_control(const char* path) {
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  MILLRACE_CHECK(library != nullptr);
  const auto function = reinterpret_cast<ControlFunction>(dlsym(library, kControlName));
  MILLRACE_CHECK(function != nullptr);
  return *function();
}

}  // namespace millrace::hip_standin
