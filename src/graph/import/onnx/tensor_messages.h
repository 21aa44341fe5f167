// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

namespace millrace {

// The messages of onnx.proto (onnx 1.23, IR version 14). Texts and raw elements are views of the file. `visit` names
// each field once, with its number; a field with another number is refused. Ignored<T> stands for a field that is
// decoded and dropped, because it does not affect what the model computes.

template <class T>
struct Ignored {};
using IgnoredText = Ignored<std::string_view>;
using IgnoredInteger = Ignored<std::int64_t>;

struct TypeProto;

struct StringStringEntryProto {
  std::string_view key, value;
  static constexpr const char* kName = "StringStringEntryProto";
  template <class V>
  void visit(V&& v) {
    v(1, "key", key);
    v(2, "value", value);
  }
};

struct SegmentProto {
  std::int64_t begin = 0, end = 0;
  static constexpr const char* kName = "TensorProto.Segment";
  template <class V>
  void visit(V&& v) {
    v(1, "begin", begin);
    v(2, "end", end);
  }
};

struct TensorProto {
  std::vector<std::int64_t> dims;
  std::int32_t data_type = 0;
  std::optional<SegmentProto> segment;
  std::vector<float> float_data;
  std::vector<std::int32_t> int32_data;
  std::vector<std::string_view> string_data;
  std::vector<std::int64_t> int64_data;
  std::string_view name;
  std::optional<std::string_view> raw_data;
  std::vector<double> double_data;
  std::vector<std::uint64_t> uint64_data;
  std::vector<StringStringEntryProto> external_data;
  std::int32_t data_location = 0;  // 1: external
  static constexpr const char* kName = "TensorProto";
  template <class V>
  void visit(V&& v) {
    v(1, "dims", dims);
    v(2, "data_type", data_type);
    v(3, "segment", segment);
    v(4, "float_data", float_data);
    v(5, "int32_data", int32_data);
    v(6, "string_data", string_data);
    v(7, "int64_data", int64_data);
    v(8, "name", name);
    v(9, "raw_data", raw_data);
    v(10, "double_data", double_data);
    v(11, "uint64_data", uint64_data);
    v(12, "doc_string", IgnoredText());
    v(13, "external_data", external_data);
    v(14, "data_location", data_location);
    v(16, "metadata_props", Ignored<std::vector<StringStringEntryProto>>());
  }
};

struct SparseTensorProto {
  std::unique_ptr<TensorProto> values, indices;
  std::vector<std::int64_t> dims;
  static constexpr const char* kName = "SparseTensorProto";
  template <class V>
  void visit(V&& v) {
    v(1, "values", values);
    v(2, "indices", indices);
    v(3, "dims", dims);
  }
};

struct DimensionProto {
  std::optional<std::int64_t> dim_value;
  std::optional<std::string_view> dim_param;
  static constexpr const char* kName = "TensorShapeProto.Dimension";
  template <class V>
  void visit(V&& v) {
    v(1, "dim_value", dim_value);
    v(2, "dim_param", dim_param);
    v(3, "denotation", IgnoredText());
  }
};

struct TensorShapeProto {
  std::vector<DimensionProto> dim;
  static constexpr const char* kName = "TensorShapeProto";
  template <class V>
  void visit(V&& v) {
    v(1, "dim", dim);
  }
};

/// TypeProto.Tensor, and TypeProto.SparseTensor, which has the same fields.
struct TensorTypeProto {
  std::int32_t elem_type = 0;
  std::optional<TensorShapeProto> shape;  // without one, not even the rank is known
  static constexpr const char* kName = "TypeProto.Tensor";
  template <class V>
  void visit(V&& v) {
    v(1, "elem_type", elem_type);
    v(2, "shape", shape);
  }
};

/// TypeProto.Sequence and TypeProto.Optional.
struct ElementTypeProto {
  std::unique_ptr<TypeProto> elem_type;
  static constexpr const char* kName = "TypeProto.Sequence";
  template <class V>
  void visit(V&& v) {
    v(1, "elem_type", elem_type);
  }
};

struct MapTypeProto {
  std::unique_ptr<TypeProto> value_type;
  static constexpr const char* kName = "TypeProto.Map";
  template <class V>
  void visit(V&& v) {
    v(1, "key_type", IgnoredInteger());
    v(2, "value_type", value_type);
  }
};

struct OpaqueTypeProto {
  static constexpr const char* kName = "TypeProto.Opaque";
  template <class V>
  void visit(V&& v) {
    v(1, "domain", IgnoredText());
    v(2, "name", IgnoredText());
  }
};

struct TypeProto {
  std::optional<TensorTypeProto> tensor_type, sparse_tensor_type;
  std::optional<ElementTypeProto> sequence_type, optional_type;
  std::optional<MapTypeProto> map_type;
  std::optional<OpaqueTypeProto> opaque_type;
  static constexpr const char* kName = "TypeProto";
  template <class V>
  void visit(V&& v) {
    v(1, "tensor_type", tensor_type);
    v(4, "sequence_type", sequence_type);
    v(5, "map_type", map_type);
    v(6, "denotation", IgnoredText());
    v(7, "opaque_type", opaque_type);
    v(8, "sparse_tensor_type", sparse_tensor_type);
    v(9, "optional_type", optional_type);
  }
};

}  // namespace millrace
