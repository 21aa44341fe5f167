// SPDX-License-Identifier: Apache-2.0
// Encodes ONNX models for tests, byte by byte: independent of the decoder.
#include "tests/graph/import/onnx/model_writer.h"

#include <cstring>

namespace millrace {

MessageWriter& MessageWriter::varint(std::uint64_t value) {
  while (value >= 0x80) {
    bytes_ += static_cast<char>(value | 0x80);
    value >>= 7;
  }
  bytes_ += static_cast<char>(value);
  return *this;
}

MessageWriter& MessageWriter::tag(std::uint64_t number, unsigned wire_type) { return varint(number << 3 | wire_type); }

MessageWriter& MessageWriter::raw(std::string_view bytes) {
  bytes_ += bytes;
  return *this;
}

MessageWriter& MessageWriter::integer(std::uint32_t number, std::int64_t value) {
  return tag(number, 0).varint(static_cast<std::uint64_t>(value));
}

MessageWriter& MessageWriter::real(std::uint32_t number, float value) {
  char bits[sizeof value];
  std::memcpy(bits, &value, sizeof value);
  return tag(number, 5).raw({bits, sizeof bits});
}

MessageWriter& MessageWriter::text(std::uint32_t number, std::string_view bytes) {
  return tag(number, 2).varint(bytes.size()).raw(bytes);
}

SharedBytes MessageWriter::file() const { return SharedBytes(std::as_bytes(std::span(bytes_))); }

MessageWriter onnx_int(std::string_view name, std::int64_t value) {
  return MessageWriter().text(1, name).integer(3, value).integer(20, 2);
}

MessageWriter onnx_float(std::string_view name, float value) {
  return MessageWriter().text(1, name).real(2, value).integer(20, 1);
}

MessageWriter onnx_text(std::string_view name, std::string_view value) {
  return MessageWriter().text(1, name).text(4, value).integer(20, 3);
}

MessageWriter onnx_ints(std::string_view name, const std::vector<std::int64_t>& values) {
  MessageWriter attribute = MessageWriter().text(1, name).integer(20, 7);
  for (const std::int64_t value : values) attribute.integer(8, value);
  return attribute;
}

MessageWriter onnx_graph(std::string_view name, const MessageWriter& graph) {
  return MessageWriter().text(1, name).message(6, graph).integer(20, 5);
}

MessageWriter onnx_reference(std::string_view name, std::string_view of, std::int64_t type) {
  return MessageWriter().text(1, name).integer(20, type).text(21, of);
}

MessageWriter encode(const TestNode& node) {
  MessageWriter message;
  for (const std::string& input : node.inputs) message.text(1, input);
  for (const std::string& output : node.outputs) message.text(2, output);
  message.text(3, node.name).text(4, node.op).text(7, node.domain);
  if (!node.overload.empty()) message.text(8, node.overload);
  for (const MessageWriter& attribute : node.attributes) message.message(5, attribute);
  return message;
}

MessageWriter onnx_value(std::string_view name, std::int64_t type, const std::vector<TestDim>& dims) {
  MessageWriter shape;
  for (const TestDim& dim : dims) {
    MessageWriter encoded;
    if (dim.value >= 0) encoded.integer(1, dim.value);
    if (!dim.name.empty()) encoded.text(2, dim.name);
    shape.message(1, encoded);
  }
  const MessageWriter tensor = MessageWriter().integer(1, type).message(2, shape);
  return MessageWriter().text(1, name).message(2, MessageWriter().message(1, tensor));
}

MessageWriter onnx_tensor(std::string_view name, std::int64_t type, const std::vector<std::int64_t>& dims,
                          std::string_view raw) {
  MessageWriter tensor;
  for (const std::int64_t dim : dims) tensor.integer(1, dim);
  return tensor.integer(2, type).text(8, name).text(9, raw);
}

template <class T>
static std::string_view raw_of(const std::vector<T>& elements) {
  return {reinterpret_cast<const char*>(elements.data()), elements.size() * sizeof(T)};
}

MessageWriter onnx_tensor(std::string_view name, const std::vector<std::int64_t>& dims,
                          const std::vector<float>& elements) {
  return onnx_tensor(name, kOnnxFloat, dims, raw_of(elements));
}

MessageWriter onnx_tensor(std::string_view name, const std::vector<std::int64_t>& dims,
                          const std::vector<std::int64_t>& elements) {
  return onnx_tensor(name, kOnnxInt64, dims, raw_of(elements));
}

MessageWriter encode(const TestGraph& graph) {
  MessageWriter message;
  for (const TestNode& node : graph.nodes) message.message(1, encode(node));
  message.text(2, "test");
  for (const MessageWriter& tensor : graph.initializers) message.message(5, tensor);
  for (const MessageWriter& input : graph.inputs) message.message(11, input);
  for (const MessageWriter& output : graph.outputs) message.message(12, output);
  return message;
}

MessageWriter onnx_model(const TestGraph& graph, std::int64_t version) {
  return MessageWriter()
      .integer(1, 8)
      .message(8, MessageWriter().text(1, "").integer(2, version))
      .message(7, encode(graph));
}

}  // namespace millrace
