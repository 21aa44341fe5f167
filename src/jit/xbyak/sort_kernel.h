// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "hal/host/routines/sort/sort_rows.h"
#include "millrace/hal/target_spec.h"
#include "millrace/jit/sort_descriptor.h"

namespace millrace {

/// Refuses targets without 256-bit vectors, and rows too long for the indices in keys.
Status check_lanes_sort(const SortDescriptor&, const TargetSpec&);

/// The size arguments that SortRowsSizes describes.
std::vector<SizeExpr> size_arguments_of(const SortDescriptor&);

/// Whether each part of the result is written as soon as it is sorted. This needs a single, contiguous result that the
/// keys hold.
bool writes_sorted(const SortDescriptor&);

/// The parameters of every sort, without microkernels.
SortRowsParameters sort_parameters(const SortDescriptor&);

}  // namespace millrace
