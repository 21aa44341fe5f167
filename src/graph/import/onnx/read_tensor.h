// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "graph/import/onnx/external_data.h"
#include "graph/import/onnx/value.h"

namespace millrace {

/// The tensor's elements: a view of the file or of its external data if they are raw, otherwise a copy. Elements of a
/// type that no dtype holds are returned as OnnxForeign. `path` names the tensor in messages.
Result<OnnxValue> read_tensor(const TensorProto&, const std::string& path, const SharedBytes& file,
                              ExternalData& external);
/// The tensor's shape, with that dtype.
Result<TensorType> read_type(const TensorProto&, DType, const std::string& path);
/// The tensor's bytes, read as elements of that dtype. The number of elements is not checked.
Result<SharedBytes> read_bytes(const TensorProto&, DType, const std::string& path, const SharedBytes& file,
                               ExternalData& external);
/// A sparse tensor written in full. Its number of elements is subtracted from `element_room`, because a few bytes of a
/// file can ask for any number of them.
Result<OnnxValue> read_sparse_tensor(const SparseTensorProto&, const std::string& path, const SharedBytes& file,
                                     ExternalData& external, std::uint64_t& element_room);

}  // namespace millrace
