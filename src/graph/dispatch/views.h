// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "millrace/graph/graph.h"
#include "millrace/jit/loop_kernel.h"

namespace millrace {

/// Whether kernels can read through the node by composing index maps: transpose, broadcast, slice.
bool is_index_view(const Node&);
/// Whether the node is a view that shares its operand's storage: reshape.
bool is_storage_view(const Node&);

/// The attributes of an iota; null for other nodes. Its elements depend only on their indices, so that a kernel can
/// compute them where it reads them.
const IotaAttrs* iota_attributes(const Node&);

/// The operand indices of the view's element at `indices`. Precondition: is_index_view(node).
std::vector<AffineIndex> look_through(const Graph&, const Node& view, const std::vector<AffineIndex>& indices);

}  // namespace millrace
