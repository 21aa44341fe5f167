// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/text/reader.h"
#include "millrace/base/shape.h"
#include "millrace/graph/graph.h"
#include "millrace/graph/safetensors.h"

namespace millrace {

/// The elements of a constant, or the initial ones of a variable; null for other nodes.
const SharedBytes* elements_of(const Node&);
/// Whether a constant or a variable has too many elements to list.
bool is_large(const TensorType&);

/// "0.5, -1, nan"; bytes_text if an element is not a valid value of the dtype (possible only for bool).
std::string listed_text(const TensorType&, std::span<const std::byte> data);
/// "bytes \"0000003f\"".
std::string bytes_text(std::span<const std::byte> data);
/// "1, 2, 3, 4, 5, 6, 7, 8, ... 4 more".
std::string shortened_text(const TensorType&, std::span<const std::byte> data);
/// Shortens each large constant, and each large initial value of a variable, to the elements that shortened_text shows.
/// verify() refuses such a graph.
void shorten_constants(Graph&);

/// Skips a constant's elements. Stops before the closing ')'.
Status skip_elements(TextReader&);
/// Reads the output of listed_text or bytes_text, or one element that stands for all. Stops before the closing ')'.
Result<std::vector<std::byte>> read_elements(TextReader&, const TensorType&);

/// The files that hold constants of one text. Each is read once.
class ConstantFiles {
 public:
  explicit ConstantFiles(std::string directory) : directory_(std::move(directory)) {}

  struct Constant {
    TensorType type;
    SharedBytes bytes;
    bool needs_type = false;  // `bytes` is the file from an offset on; the text still has to say how much of it
  };
  /// Reads "(\"w.npy\")", "(\"w.safetensors\", \"entry\")" or "(\"model.onnx\", 4096)".
  Result<Constant> read(TextReader&);

 private:
  Result<Constant> load(const std::string& file, const std::string* entry);
  Result<Constant> load_from(const std::string& file, std::uint64_t offset);
  std::string directory_;
  std::map<std::string, Safetensors> opened_;
  std::map<std::string, SharedBytes> mapped_;
};

}  // namespace millrace
