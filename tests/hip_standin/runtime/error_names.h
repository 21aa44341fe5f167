// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "hal/hip/api.h"

namespace millrace::hip_standin {

/// "hipErrorOutOfMemory".
const char* name_of(hip::Error);

}  // namespace millrace::hip_standin
