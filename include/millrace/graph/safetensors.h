// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "millrace/base/shape.h"
#include "millrace/base/shared_bytes.h"
#include "millrace/base/status.h"

namespace millrace {

/// A safetensors file. Format: u64 header length, JSON header, row-major little-endian data. Every offset, dtype and
/// size is checked before use. Errors name the file, the tensor and what is wrong.
///
/// A regular file is mapped: its elements are paged in when they are read, and need no memory of the process's own.
/// While the Safetensors or one of its shared_bytes lives, the file may be replaced or removed, but not truncated or
/// changed.
/// Source: the format's README at github.com/huggingface/safetensors.
class Safetensors {
 public:
  struct Entry {
    TensorType type;
    std::span<const std::byte> bytes;
    std::shared_ptr<const void> owner = {};  // keeps the bytes alive; null if the caller does
    /// The bytes with shared ownership, as GraphBuilder::constant_shared expects them. They are copied only if there is
    /// no owner.
    SharedBytes shared_bytes() const { return owner == nullptr ? SharedBytes(bytes) : SharedBytes(owner, bytes); }
  };
  static Result<Safetensors> read(const std::string& path);
  /// `name` stands for the file in messages.
  static Result<Safetensors> parse(std::string name, std::vector<std::byte> file);

  const std::map<std::string, Entry>& entries() const { return entries_; }
  /// Fails if there is no such entry; the message names the file and its entries.
  Result<Entry> get(const std::string& name) const;

 private:
  static Result<Safetensors> parse_file(const std::string& name, SharedBytes file);

  std::string name_;
  std::map<std::string, Entry> entries_;
};

/// Writes the entries in the order of their names. An existing file is replaced once everything is written.
Status write_safetensors(const std::string& path, const std::map<std::string, Safetensors::Entry>& entries);

}  // namespace millrace
