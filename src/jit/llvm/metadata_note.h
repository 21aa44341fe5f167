// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

#include "millrace/base/status.h"

namespace millrace {

/// lld places the metadata notes of the joined objects one after the other. AMD's loader merges them, but other readers
/// take the first and miss kernels. This replaces them by one note for all kernels, in the place of the first, and
/// shrinks the section and the note segment to it. The bytes after it become 0. Fails with kInternal.
Status join_metadata_notes(std::span<std::byte> linked_object);

}  // namespace millrace
