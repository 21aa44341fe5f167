// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "millrace/hal/command_list.h"
#include "millrace/hal/executable.h"

namespace millrace {

/// The checks that every driver makes before it records a list: validate(list), and that the list and the executable
/// have the same kernels. The executable may be null if the list has no kernels.
Status check_record(const CommandList&, const Executable*);

}  // namespace millrace
