// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "millrace/base/file.h"
#include "millrace/base/shape.h"
#include "millrace/base/status.h"

namespace millrace {

/// An array from a NumPy file, with its elements in row-major order.
struct NpyArray {
  TensorType type;
  std::vector<std::byte> bytes;
};

/// Like NpyArray, except that the bytes may belong to a mapped file.
struct NpyView {
  TensorType type;
  SharedBytes bytes;
};

/// Reads what numpy.save writes: format versions 1 to 3, little-endian, C or Fortran order, every dtype that Millrace
/// has. NumPy has no bf16; the ml_dtypes package writes it as the untyped 2-byte '<V2', which is read as bf16. Errors
/// name the file. Every size is checked before use. Source: NEP 1 and numpy.lib.format in NumPy's documentation.
Result<NpyArray> read_npy(const std::string& path);
/// Parses a file in memory. `name` stands for the file in messages.
Result<NpyArray> parse_npy(const std::string& name, std::span<const std::byte> file);

/// Reads a file in two steps, so that the type is known before memory is allocated for the elements.
class NpyReader {
 public:
  /// Reads the header. Also fails if the size of a regular file does not match its header.
  static Result<NpyReader> open(const std::string& path);
  const TensorType& type() const { return type_; }
  /// Reads the elements. Precondition: neither read() nor map() was called before.
  Result<NpyArray> read();
  /// Returns the elements without a copy if the file is a regular file in C order, by mapping it (FileReader::map).
  /// Otherwise reads them. Precondition: neither read() nor map() was called before.
  Result<NpyView> map();

 private:
  friend Result<NpyArray> read_npy(const std::string&);
  NpyReader(std::string where, FileReader file) : where_(std::move(where)), file_(std::move(file)) {}
  Result<NpyArray> read_elements();

  std::string where_;
  FileReader file_;
  TensorType type_;
  bool is_fortran_order_ = false;
};

/// Writes row-major elements as version 1 in C order. An existing file is replaced once everything is written.
Status write_npy(const std::string& path, const TensorType&, std::span<const std::byte> bytes);

}  // namespace millrace
