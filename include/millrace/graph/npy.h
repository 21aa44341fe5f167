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

/// An array of a NumPy file, its elements in row-major order.
struct NpyArray {
  TensorType type;
  std::vector<std::byte> bytes;
};

/// Reads what numpy.save writes: versions 1 to 3 of the format, little-endian, in C or Fortran order, of each dtype
/// that Millrace has. NumPy has no bf16; as the ml_dtypes package writes it, it is 2 bytes of no type ('<V2'). Errors
/// name the file: every size is checked before use. Source: NEP 1 and numpy.lib.format in NumPy's documentation.
Result<NpyArray> read_npy(const std::string& path);
/// `name` is used in messages.
Result<NpyArray> parse_npy(const std::string& name, std::span<const std::byte> file);

/// The same in two steps: what the array is, before memory is taken for its elements.
class NpyReader {
 public:
  /// Reads the header. Fails too when a file with a size has another than the header tells.
  static Result<NpyReader> open(const std::string& path);
  const TensorType& type() const { return type_; }
  /// Reads the elements. Precondition: called once.
  Result<NpyArray> read();

 private:
  friend Result<NpyArray> read_npy(const std::string&);
  NpyReader(std::string where, FileReader file) : where_(std::move(where)), file_(std::move(file)) {}
  Result<NpyArray> read_elements();

  std::string where_;
  FileReader file_;
  TensorType type_;
  bool is_fortran_order_ = false;
};

/// Writes row-major elements as version 1 in C order. A file that was there is replaced when all is written.
Status write_npy(const std::string& path, const TensorType&, std::span<const std::byte> bytes);

}  // namespace millrace
