// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/base/shape.h"
#include "millrace/base/shared_bytes.h"

namespace millrace {

/// Writes the fields of a protocol buffer, one after the other. Knows nothing of the messages.
class MessageWriter {
 public:
  MessageWriter& integer(std::uint32_t number, std::int64_t value);
  MessageWriter& real(std::uint32_t number, float value);
  MessageWriter& text(std::uint32_t number, std::string_view bytes);
  MessageWriter& message(std::uint32_t number, const MessageWriter& inner) { return text(number, inner.bytes()); }
  /// A tag and nothing else, for files that are wrong.
  MessageWriter& tag(std::uint64_t number, unsigned wire_type);
  MessageWriter& raw(std::string_view bytes);
  MessageWriter& varint(std::uint64_t value);

  const std::string& bytes() const { return bytes_; }
  SharedBytes file() const;

 private:
  std::string bytes_;
};

/// An attribute of a node, encoded.
MessageWriter onnx_int(std::string_view name, std::int64_t value);
MessageWriter onnx_float(std::string_view name, float value);
MessageWriter onnx_text(std::string_view name, std::string_view value);
MessageWriter onnx_ints(std::string_view name, const std::vector<std::int64_t>& values);
MessageWriter onnx_graph(std::string_view name, const MessageWriter& graph);
/// An attribute of a function's node that takes the value of the call's attribute.
MessageWriter onnx_reference(std::string_view name, std::string_view of, std::int64_t type);

struct TestNode {
  std::string op;
  std::vector<std::string> inputs, outputs;
  std::vector<MessageWriter> attributes = {};
  std::string name = "", domain = "", overload = "";
};
MessageWriter encode(const TestNode&);

/// A dim is a number, a name, or neither (an empty text).
struct TestDim {
  TestDim(std::int64_t value) : value(value) {}
  TestDim(const char* name) : name(name), value(-1) {}
  std::string name;
  std::int64_t value;
};
/// ValueInfoProto of a tensor. `type` is a TensorProto.DataType.
MessageWriter onnx_value(std::string_view name, std::int64_t type, const std::vector<TestDim>& dims);
/// TensorProto with raw elements.
MessageWriter onnx_tensor(std::string_view name, std::int64_t type, const std::vector<std::int64_t>& dims,
                          std::string_view raw);
MessageWriter onnx_tensor(std::string_view name, const std::vector<std::int64_t>& dims,
                          const std::vector<float>& elements);
MessageWriter onnx_tensor(std::string_view name, const std::vector<std::int64_t>& dims,
                          const std::vector<std::int64_t>& elements);

struct TestGraph {
  std::vector<TestNode> nodes;
  std::vector<MessageWriter> inputs, outputs, initializers = {};
};
MessageWriter encode(const TestGraph&);

/// A model with one set of ops of the default domain.
MessageWriter onnx_model(const TestGraph& graph, std::int64_t version = 18);

inline constexpr std::int64_t kOnnxFloat = 1, kOnnxInt64 = 7, kOnnxString = 8, kOnnxBool = 9;

}  // namespace millrace
