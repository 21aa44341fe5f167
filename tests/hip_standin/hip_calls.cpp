// SPDX-License-Identifier: Apache-2.0
#include "tests/hip_standin/hip_calls.h"

#include <dlfcn.h>

#include "millrace/base/check.h"

namespace millrace::hip {

Calls open_calls(const char* path) {
  void* const library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  MILLRACE_CHECK(library != nullptr);
  Calls calls;
#define MILLRACE_HIP(need, result, name, parameters) \
  calls.name = reinterpret_cast<decltype(calls.name)>(dlsym(library, #name));
#include "hal/hip/functions.inc"
#undef MILLRACE_HIP
  return calls;
}

}  // namespace millrace::hip
