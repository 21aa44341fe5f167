// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "graph/import/onnx/tensor_messages.h"
#include "millrace/base/mapped_file.h"
#include "millrace/base/shared_bytes.h"
#include "millrace/base/status.h"

namespace millrace {

/// Finds and maps the files that hold a model's external tensors. Each file is mapped once.
class ExternalData {
 public:
  /// `model_path` is empty for a model in memory.
  ExternalData(std::string model_path, std::vector<std::string> folders)
      : model_path_(std::move(model_path)), folders_(std::move(folders)) {}
  /// The bytes that the tensor's external_data describe. `path` names the tensor in messages.
  Result<SharedBytes> read(const TensorProto&, const std::string& path);
  /// The files that were mapped.
  std::vector<MappedFile> files() const;

 private:
  Result<SharedBytes> map(const std::string& location, const std::string& path);

  std::string model_path_;
  std::vector<std::string> folders_;
  std::map<std::string, MappedFile> files_;  // by location
};

}  // namespace millrace
