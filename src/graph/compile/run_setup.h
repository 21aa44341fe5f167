// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "millrace/graph/lowered_graph.h"
#include "millrace/hal/device.h"
#include "millrace/hal/transfer.h"

namespace millrace {

/// The constants of a schedule at the offsets that pack_transients gave them. Prepared constants, which have no bytes
/// before the setup runs, are left out.
std::vector<UploadPart> parts_of_constants(const Schedule&);

/// Computes the prepared constants of `program` on the device and stores them in `constants`, the buffer of all the
/// program's constants. `setup` is LoweredGraph::setup and `images` its code. Frees the setup's other memory at the
/// end.
Status run_setup(Device&, const LoweredGraph& setup, std::span<const ExecutableImage> images, const Schedule& program,
                 const Buffer& constants);

}  // namespace millrace
