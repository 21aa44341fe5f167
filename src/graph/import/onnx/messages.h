// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "graph/import/onnx/tensor_messages.h"
#include "millrace/base/shared_bytes.h"

namespace millrace {

struct GraphProto;

struct ValueInfoProto {
  std::string_view name;
  std::unique_ptr<TypeProto> type;
  static constexpr const char* kName = "ValueInfoProto";
  template <class V>
  void visit(V&& v) {
    v(1, "name", name);
    v(2, "type", type);
    v(3, "doc_string", IgnoredText());
    v(4, "metadata_props", Ignored<std::vector<StringStringEntryProto>>());
  }
};

/// AttributeProto.AttributeType.
enum class AttributeType : std::int32_t {
  kUndefined = 0,
  kFloat = 1,
  kInt = 2,
  kString = 3,
  kTensor = 4,
  kGraph = 5,
  kFloats = 6,
  kInts = 7,
  kStrings = 8,
  kTensors = 9,
  kGraphs = 10,
  kSparseTensor = 11,
  kSparseTensors = 12,
  kTypeProto = 13,
  kTypeProtos = 14,
};

struct AttributeProto {
  std::string_view name, ref_attr_name;
  std::int32_t type = 0;  // an AttributeType, or any other number that the file has
  std::optional<float> f;
  std::optional<std::int64_t> i;
  std::optional<std::string_view> s;
  std::unique_ptr<TensorProto> t;
  std::unique_ptr<GraphProto> g;
  std::unique_ptr<SparseTensorProto> sparse_tensor;
  std::unique_ptr<TypeProto> tp;
  std::vector<float> floats;
  std::vector<std::int64_t> ints;
  std::vector<std::string_view> strings;
  std::vector<TensorProto> tensors;
  std::vector<GraphProto> graphs;
  std::vector<SparseTensorProto> sparse_tensors;
  std::vector<TypeProto> type_protos;
  static constexpr const char* kName = "AttributeProto";
  template <class V>
  void visit(V&& v) {
    v(1, "name", name);
    v(2, "f", f);
    v(3, "i", i);
    v(4, "s", s);
    v(5, "t", t);
    v(6, "g", g);
    v(7, "floats", floats);
    v(8, "ints", ints);
    v(9, "strings", strings);
    v(10, "tensors", tensors);
    v(11, "graphs", graphs);
    v(13, "doc_string", IgnoredText());
    v(14, "tp", tp);
    v(15, "type_protos", type_protos);
    v(20, "type", type);
    v(21, "ref_attr_name", ref_attr_name);
    v(22, "sparse_tensor", sparse_tensor);
    v(23, "sparse_tensors", sparse_tensors);
  }
};

// How nodes are spread over devices, which does not affect the results.
struct SimpleShardedDimProto {
  static constexpr const char* kName = "SimpleShardedDimProto";
  template <class V>
  void visit(V&& v) {
    v(1, "dim_value", IgnoredInteger());
    v(2, "dim_param", IgnoredText());
    v(3, "num_shards", IgnoredInteger());
  }
};
struct ShardedDimProto {
  static constexpr const char* kName = "ShardedDimProto";
  template <class V>
  void visit(V&& v) {
    v(1, "axis", IgnoredInteger());
    v(2, "simple_sharding", Ignored<std::vector<SimpleShardedDimProto>>());
  }
};
struct IntIntListEntryProto {
  static constexpr const char* kName = "IntIntListEntryProto";
  template <class V>
  void visit(V&& v) {
    v(1, "key", IgnoredInteger());
    v(2, "value", Ignored<std::vector<std::int64_t>>());
  }
};
struct ShardingSpecProto {
  static constexpr const char* kName = "ShardingSpecProto";
  template <class V>
  void visit(V&& v) {
    v(1, "tensor_name", IgnoredText());
    v(2, "device", Ignored<std::vector<std::int64_t>>());
    v(3, "index_to_device_group_map", Ignored<std::vector<IntIntListEntryProto>>());
    v(4, "sharded_dim", Ignored<std::vector<ShardedDimProto>>());
  }
};
struct NodeDeviceConfigurationProto {
  static constexpr const char* kName = "NodeDeviceConfigurationProto";
  template <class V>
  void visit(V&& v) {
    v(1, "configuration_id", IgnoredText());
    v(2, "sharding_spec", Ignored<std::vector<ShardingSpecProto>>());
    v(3, "pipeline_stage", IgnoredInteger());
  }
};
struct DeviceConfigurationProto {
  static constexpr const char* kName = "DeviceConfigurationProto";
  template <class V>
  void visit(V&& v) {
    v(1, "name", IgnoredText());
    v(2, "num_devices", IgnoredInteger());
    v(3, "device", Ignored<std::vector<std::string_view>>());
  }
};

struct NodeProto {
  std::vector<std::string_view> input, output;  // an empty name is an omitted operand or result
  std::string_view name, op_type, domain, overload;
  std::vector<AttributeProto> attribute;
  static constexpr const char* kName = "NodeProto";
  template <class V>
  void visit(V&& v) {
    v(1, "input", input);
    v(2, "output", output);
    v(3, "name", name);
    v(4, "op_type", op_type);
    v(5, "attribute", attribute);
    v(6, "doc_string", IgnoredText());
    v(7, "domain", domain);
    v(8, "overload", overload);
    v(9, "metadata_props", Ignored<std::vector<StringStringEntryProto>>());
    v(10, "device_configurations", Ignored<std::vector<NodeDeviceConfigurationProto>>());
  }
};

struct TensorAnnotation {
  static constexpr const char* kName = "TensorAnnotation";
  template <class V>
  void visit(V&& v) {
    v(1, "tensor_name", IgnoredText());
    v(2, "quant_parameter_tensor_names", Ignored<std::vector<StringStringEntryProto>>());
  }
};

struct GraphProto {
  std::vector<NodeProto> node;
  std::string_view name;
  std::vector<TensorProto> initializer;
  std::vector<SparseTensorProto> sparse_initializer;
  std::vector<ValueInfoProto> input, output, value_info;
  static constexpr const char* kName = "GraphProto";
  template <class V>
  void visit(V&& v) {
    v(1, "node", node);
    v(2, "name", name);
    v(5, "initializer", initializer);
    v(10, "doc_string", IgnoredText());
    v(11, "input", input);
    v(12, "output", output);
    v(13, "value_info", value_info);
    v(14, "quantization_annotation", Ignored<std::vector<TensorAnnotation>>());
    v(15, "sparse_initializer", sparse_initializer);
    v(16, "metadata_props", Ignored<std::vector<StringStringEntryProto>>());
  }
};

struct OperatorSetIdProto {
  std::string_view domain;
  std::int64_t version = 0;
  static constexpr const char* kName = "OperatorSetIdProto";
  template <class V>
  void visit(V&& v) {
    v(1, "domain", domain);
    v(2, "version", version);
  }
};

struct FunctionProto {
  std::string_view name, domain, overload;
  std::vector<std::string_view> input, output, attribute;
  std::vector<AttributeProto> attribute_proto;  // attributes with default values
  std::vector<NodeProto> node;
  std::vector<OperatorSetIdProto> opset_import;
  static constexpr const char* kName = "FunctionProto";
  template <class V>
  void visit(V&& v) {
    v(1, "name", name);
    v(4, "input", input);
    v(5, "output", output);
    v(6, "attribute", attribute);
    v(7, "node", node);
    v(8, "doc_string", IgnoredText());
    v(9, "opset_import", opset_import);
    v(10, "domain", domain);
    v(11, "attribute_proto", attribute_proto);
    v(12, "value_info", Ignored<std::vector<ValueInfoProto>>());
    v(13, "overload", overload);
    v(14, "metadata_props", Ignored<std::vector<StringStringEntryProto>>());
  }
};

struct TrainingInfoProto {
  static constexpr const char* kName = "TrainingInfoProto";
  template <class V>
  void visit(V&& v) {
    v(1, "initialization", Ignored<std::optional<GraphProto>>());
    v(2, "algorithm", Ignored<std::optional<GraphProto>>());
    v(3, "initialization_binding", Ignored<std::vector<StringStringEntryProto>>());
    v(4, "update_binding", Ignored<std::vector<StringStringEntryProto>>());
  }
};

struct ModelProto {
  SharedBytes file;  // the bytes that the views point into
  std::int64_t ir_version = 0;
  std::vector<OperatorSetIdProto> opset_import;
  std::optional<GraphProto> graph;
  std::vector<FunctionProto> functions;
  std::vector<TrainingInfoProto> training_info;
  static constexpr const char* kName = "ModelProto";
  template <class V>
  void visit(V&& v) {
    v(1, "ir_version", ir_version);
    v(2, "producer_name", IgnoredText());
    v(3, "producer_version", IgnoredText());
    v(4, "domain", IgnoredText());
    v(5, "model_version", IgnoredInteger());
    v(6, "doc_string", IgnoredText());
    v(7, "graph", graph);
    v(8, "opset_import", opset_import);
    v(14, "metadata_props", Ignored<std::vector<StringStringEntryProto>>());
    v(20, "training_info", training_info);
    v(25, "functions", functions);
    v(26, "configuration", Ignored<std::vector<DeviceConfigurationProto>>());
  }
};

}  // namespace millrace
