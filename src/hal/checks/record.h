// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "millrace/hal/command_list.h"
#include "millrace/hal/executable.h"

namespace millrace {

/// The checks that every driver makes of a list before it records it: validate(), and that its kernels are the
/// executable's. The executable may be null if there are no kernels.
Status check_record(const CommandList&, const Executable*);

}  // namespace millrace
