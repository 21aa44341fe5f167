// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

#include "millrace/base/status.h"

namespace millrace {

/// lld puts the metadata notes of the objects that it joins behind each other. AMD's loader merges them, other readers
/// take the first and miss kernels: this leaves one note of all kernels, in the place of the first. What is left of the
/// section behind it is zeros, and no longer part of it or of the segment of notes.
Status join_metadata_notes(std::span<std::byte> linked_object);

}  // namespace millrace
