// SPDX-License-Identifier: Apache-2.0
// Reads the elements of tensors from where a model stores them: raw bytes, lists of numbers, or a separate file.
#include "graph/import/onnx/read_tensor.h"

#include <cstring>
#include <limits>

#include <fmt/format.h>

#include "graph/import/onnx/element_types.h"
#include "graph/import/tensor_file.h"

namespace millrace {

Result<TensorType> read_type(const TensorProto& tensor, DType dtype, const std::string& path) {
  std::vector<std::uint64_t> dims;
  for (const std::int64_t dim : tensor.dims) {
    if (dim < 0) return data_loss(fmt::format("{}: found a dim of {}, expected 0 or more", path, dim));
    dims.push_back(static_cast<std::uint64_t>(dim));
  }
  MILLRACE_TRY_ASSIGN(Shape shape, shape_of(path, dims));
  return TensorType{dtype, std::move(shape)};
}

namespace {

/// Narrows the numbers of int32_data to the dtype. For f16 and bf16 they are the bits.
template <class T>
Status narrow(const std::vector<std::int32_t>& numbers, const std::string& path, std::vector<std::byte>& bytes) {
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const auto narrowed = static_cast<T>(numbers[i]);
    if (static_cast<std::int32_t>(narrowed) != numbers[i]) {
      return data_loss(fmt::format("{}: element {} is {}, which its type cannot hold", path, i, numbers[i]));
    }
    std::memcpy(bytes.data() + i * sizeof(T), &narrowed, sizeof(T));
  }
  return {};
}

template <class Number>
std::vector<std::byte> copy(const std::vector<Number>& numbers) {
  const auto bytes = std::as_bytes(std::span(numbers));
  return {bytes.begin(), bytes.end()};
}

/// The numbers of int32_data, narrowed to the dtype, as bytes.
Result<std::vector<std::byte>> narrow_to(DType dtype, const std::vector<std::int32_t>& numbers,
                                         const std::string& path) {
  std::vector<std::byte> bytes(numbers.size() * size_bytes(dtype));
  switch (dtype) {
    case DType::kI8:
      MILLRACE_TRY(narrow<std::int8_t>(numbers, path, bytes));
      break;
    case DType::kI16:
      MILLRACE_TRY(narrow<std::int16_t>(numbers, path, bytes));
      break;
    case DType::kBool:
      for (std::size_t i = 0; i < numbers.size(); ++i) bytes[i] = numbers[i] != 0 ? std::byte{1} : std::byte{0};
      break;
    case DType::kU8:
      MILLRACE_TRY(narrow<std::uint8_t>(numbers, path, bytes));
      break;
    default:  // u16, f16, bf16
      MILLRACE_TRY(narrow<std::uint16_t>(numbers, path, bytes));
  }
  return bytes;
}

/// The elements, from the field that ONNX uses for the dtype.
Result<SharedBytes> read_numbers(const TensorProto& tensor, DType dtype, const std::string& path) {
  const std::size_t num_lists = std::size_t{!tensor.float_data.empty()} + std::size_t{!tensor.int32_data.empty()} +
                                std::size_t{!tensor.int64_data.empty()} + std::size_t{!tensor.double_data.empty()} +
                                std::size_t{!tensor.uint64_data.empty()} + std::size_t{!tensor.string_data.empty()};
  std::vector<std::byte> bytes;
  if (dtype == DType::kF32) {
    bytes = copy(tensor.float_data);
  } else if (dtype == DType::kF64) {
    bytes = copy(tensor.double_data);
  } else if (dtype == DType::kI64) {
    bytes = copy(tensor.int64_data);
  } else if (dtype == DType::kU64) {
    bytes = copy(tensor.uint64_data);
  } else if (dtype == DType::kI32) {
    bytes = copy(tensor.int32_data);
  } else if (dtype == DType::kU32) {
    const std::vector<std::uint32_t> narrowed(tensor.uint64_data.begin(), tensor.uint64_data.end());
    if (!std::equal(narrowed.begin(), narrowed.end(), tensor.uint64_data.begin())) {
      return data_loss(fmt::format("{}: found an element above {}, the maximum of its type", path,
                                   std::numeric_limits<std::uint32_t>::max()));
    }
    bytes = copy(narrowed);
  } else {
    MILLRACE_TRY_ASSIGN(bytes, narrow_to(dtype, tensor.int32_data, path));
  }
  if (num_lists > (bytes.empty() ? 0u : 1u)) {
    return data_loss(fmt::format("{}: found elements in the field of another type, expected {}", path, to_text(dtype)));
  }
  return SharedBytes(std::move(bytes));
}

}  // namespace

Result<SharedBytes> read_bytes(const TensorProto& tensor, DType dtype, const std::string& path, const SharedBytes& file,
                               ExternalData& external) {
  if (tensor.segment) {
    return unimplemented(fmt::format("{}: holds one segment of a tensor; save the model with whole tensors", path));
  }
  if (tensor.data_location == 1) return external.read(tensor, path);
  if (tensor.data_location != 0) {
    return data_loss(fmt::format("{}: found the data location {}, expected 0 or 1", path, tensor.data_location));
  }
  if (!tensor.raw_data) return read_numbers(tensor, dtype, path);
  return SharedBytes(file.owner(), std::as_bytes(std::span(*tensor.raw_data)));
}

Result<OnnxValue> read_tensor(const TensorProto& tensor, const std::string& path, const SharedBytes& file,
                              ExternalData& external) {
  const std::optional<DType> dtype = dtype_of_onnx(tensor.data_type);
  if (!dtype) return OnnxValue(OnnxForeign{&tensor});
  MILLRACE_TRY_ASSIGN(TensorType type, read_type(tensor, *dtype, path));
  MILLRACE_TRY_ASSIGN(SharedBytes bytes, read_bytes(tensor, *dtype, path, file, external));
  MILLRACE_TRY(check_file_size(path, type, bytes.size()));
  if (*dtype == DType::kBool && !are_bools({bytes.begin(), bytes.end()})) {
    bytes = to_bools({bytes.begin(), bytes.end()});
  }
  return OnnxValue(OnnxConstant{std::move(type), std::move(bytes)});
}

Result<OnnxValue> read_sparse_tensor(const SparseTensorProto& sparse, const std::string& path, const SharedBytes& file,
                                     ExternalData& external, std::uint64_t& element_room) {
  if (!sparse.values || !sparse.indices) {
    return data_loss(fmt::format("{}: has no {}", path, sparse.values ? "indices" : "values"));
  }
  TensorProto whole;
  whole.dims = sparse.dims;
  MILLRACE_TRY_ASSIGN(const OnnxValue read, read_tensor(*sparse.values, path + ".values", file, external));
  MILLRACE_TRY_ASSIGN(const OnnxValue at, read_tensor(*sparse.indices, path + ".indices", file, external));
  const OnnxConstant *values = read.constant(), *places = at.constant();
  if (values == nullptr || places == nullptr || places->type.dtype != DType::kI64) {
    return unimplemented(fmt::format("{}: found {} at indices of {}, expected numbers at indices of INT64", path,
                                     onnx_type_name(sparse.values->data_type),
                                     onnx_type_name(sparse.indices->data_type)));
  }
  MILLRACE_TRY_ASSIGN(TensorType type, read_type(whole, values->type.dtype, path));
  const std::int64_t count = type.shape.num_elements().constant();
  if (static_cast<std::uint64_t>(count) > element_room) {
    return unimplemented(fmt::format("{}: has {} elements, expected at most {}: sparse tensors are imported in full",
                                     path, count, element_room));
  }
  element_room -= static_cast<std::uint64_t>(count);
  const std::size_t size = size_bytes(type.dtype), num_values = values->bytes.size() / size;
  const std::size_t num_coordinates = places->type.shape.rank() == 2 ? sparse.dims.size() : 1;
  const std::vector<std::int64_t> coordinates = *integers_of(*places);
  if (coordinates.size() != num_values * num_coordinates) {
    return data_loss(fmt::format("{}: has {} indices, expected {} for {} values", path, coordinates.size(),
                                 num_values * num_coordinates, num_values));
  }
  std::vector<std::byte> bytes(static_cast<std::size_t>(count) * size);
  for (std::size_t i = 0; i < num_values; ++i) {
    std::int64_t element = 0;
    for (std::size_t d = 0; d < num_coordinates; ++d) {
      const std::int64_t extent = num_coordinates == 1 ? count : sparse.dims[d];
      const std::int64_t index = coordinates[i * num_coordinates + d];
      if (index < 0 || index >= extent) {
        return data_loss(fmt::format("{}: index {} of value {} is not in 0..{}", path, index, i, extent - 1));
      }
      element = element * extent + index;
    }
    std::memcpy(bytes.data() + static_cast<std::size_t>(element) * size, values->bytes.data() + i * size, size);
  }
  return OnnxValue(OnnxConstant{std::move(type), std::move(bytes)});
}

}  // namespace millrace
