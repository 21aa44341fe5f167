// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "millrace/graph/lowered_graph.h"
#include "millrace/hal/device.h"
#include "millrace/hal/transfer.h"

namespace millrace {

/// The constants of a schedule that have bytes, at the offsets that pack_transients gave them.
std::vector<UploadPart> parts_of_constants(const Schedule&);

/// Computes the prepared constants of `program` on the device, and stores them among its constants. `setup` is
/// LoweredGraph::setup, `images` its code. Its temporary memory is freed at the end.
Status run_setup(Device&, const LoweredGraph& setup, std::span<const ExecutableImage> images, const Schedule& program,
                 const Buffer& constants);

}  // namespace millrace
