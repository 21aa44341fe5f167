// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <sys/types.h>

namespace millrace {

struct ReplaceFileOptions {
  /// The exact permissions; by default 0666 minus the umask.
  std::optional<mode_t> mode = {};
  /// Waits until the content is on disk, so that a power failure leaves either the old file or the new one.
  bool sync = false;
};

/// Replaces `path` atomically with a file made of the parts, one after the other: readers see either the old file or
/// the new one. A symbolic link at `path` is replaced, not followed. The temporary file is in the same directory,
/// because rename needs that. Its name is random and must not exist yet, so that another writer to the directory cannot
/// plant a link or a file there. Returns 0 or the errno of the failure; on failure `path` is unchanged and no temporary
/// is left.
int replace_file(const std::string& path, std::span<const std::span<const std::byte>> parts,
                 const ReplaceFileOptions& options = {});

/// Whether a directory entry of this name is a temporary of replace_file, left by a running or a killed writer.
bool is_replacement_name(std::string_view name);

/// Writes all the bytes, calling write(2) as often as needed. Returns 0 or an errno.
int write_all(int descriptor, std::span<const std::byte> bytes);

}  // namespace millrace
