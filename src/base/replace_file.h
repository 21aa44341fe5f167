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
  /// Exactly these permissions; what the umask leaves of 0666 when nothing is said.
  std::optional<mode_t> mode = {};
  /// Waits until the content is on the disk, so that a power failure leaves the old file or the new one.
  bool sync = false;
};

/// Puts a file with this content, the parts one after the other, in the place of `path`, in one step: readers see the
/// old file or the new one. A symbolic link at `path` is replaced, not followed.
/// The temporary file stands in the same directory, as rename needs it. Its name is random and it must be new, so that
/// nobody who may write there too can put a link or a file of theirs in its way.
/// Returns 0, or the errno of what failed; then `path` is as it was, and no temporary is left.
int replace_file(const std::string& path, std::span<const std::span<const std::byte>> parts,
                 const ReplaceFileOptions& options = {});

/// Whether a directory entry of this name is a temporary of replace_file: of a writer at work, or of one that was
/// killed.
bool is_replacement_name(std::string_view name);

/// All of it, however often write(2) has to be called. Returns 0 or an errno.
int write_all(int descriptor, std::span<const std::byte> bytes);

}  // namespace millrace
