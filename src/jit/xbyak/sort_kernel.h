// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "hal/host/routines/sort/sort_rows.h"
#include "millrace/hal/target_spec.h"
#include "millrace/jit/sort_descriptor.h"

namespace millrace {

/// Refuses what the lanes do not hold.
Status check_lanes_sort(const SortDescriptor&, const TargetSpec&);

/// See SortRowsSizes.
std::vector<SizeExpr> size_arguments_of(const SortDescriptor&);

/// Whether the one result is written part by part: it is contiguous, and keys hold it.
bool writes_sorted(const SortDescriptor&);

/// What holds for every sort, without microkernels.
SortRowsParameters sort_parameters(const SortDescriptor&);

}  // namespace millrace
