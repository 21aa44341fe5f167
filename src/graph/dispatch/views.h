// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "millrace/graph/graph.h"
#include "millrace/jit/loop_kernel.h"

namespace millrace {

/// A view that reading kernels look through by composing index maps: transpose, broadcast, slice.
bool is_index_view(const Node&);
/// A view that shares its operand's storage: reshape.
bool is_storage_view(const Node&);

/// Where element `indices` of the view's result is in its operand. Precondition: is_index_view(node).
std::vector<AffineIndex> look_through(const Graph&, const Node& view, const std::vector<AffineIndex>& indices);

}  // namespace millrace
