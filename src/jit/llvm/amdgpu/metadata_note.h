// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

#include "millrace/base/status.h"

namespace millrace {

/// Replaces the metadata notes of a linked object by one note for all kernels. lld places the notes of its inputs one
/// after the other; AMD's loader merges them, but other readers read only the first note and miss kernels. The new note
/// replaces the first; the section and the note segment shrink to its size, and the bytes after it become 0. Fails with
/// kInternal.
Status join_metadata_notes(std::span<std::byte> linked_object);

}  // namespace millrace
