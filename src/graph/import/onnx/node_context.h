// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/import/onnx/import_state.h"
#include "graph/import/onnx/value.h"

namespace millrace {

/// A node, as the function that imports its op sees it. Messages state only the reason: the node's path is put before
/// them. The function must read every operand and attribute; otherwise the node is refused, so that nothing is ignored
/// silently.
class OnnxNodeContext {
 public:
  OnnxNodeContext(OnnxImport& import, const OnnxScope& scope, const NodeProto& node, std::size_t index,
                  std::int64_t version, std::vector<const OnnxValue*> operands);

  GraphBuilder& graph() { return import_.graph; }
  std::string_view op() const { return node_.op_type; }
  std::string_view name() const { return node_.name; }
  /// The version of the op's domain that the model imports. An op keeps its meaning until a version that changes it.
  std::int64_t version() const { return version_; }

  // Operands, by index. An operand is missing if its name is empty or its index is past the last one.
  std::size_t num_operands() const { return operands_.size(); }
  bool has(std::size_t operand);
  /// Omitted if the operand is missing.
  const OnnxValue& value(std::size_t operand);
  Result<Tensor> tensor(std::size_t operand);
  /// An empty Tensor if the operand is missing.
  Result<Tensor> optional_tensor(std::size_t operand);
  /// All operands from `first` on. None of them may be missing.
  Result<std::vector<Tensor>> tensors(std::size_t first = 0);
  Result<TensorType> type(std::size_t operand);
  /// The elements as sizes: for shapes, counts and the like. Fails if they are known only at run time.
  Result<OnnxSizes> sizes(std::size_t operand);
  /// Like sizes(), but the elements may be fractions: floats that are exact with a denominator up to 4096.
  Result<OnnxSizes> fractions(std::size_t operand);
  /// The one element of an operand, as a size.
  Result<SizeExpr> size(std::size_t operand);
  /// The elements as numbers, which must be known: for axes and the like.
  Result<std::vector<std::int64_t>> integers(std::size_t operand);
  Result<std::int64_t> integer(std::size_t operand);
  Result<double> number(std::size_t operand);
  Result<OnnxConstant> constant(std::size_t operand);
  /// The elements if they are known; an empty optional if they are computed at run time or the operand is missing.
  Result<std::optional<OnnxConstant>> known(std::size_t operand) { return known(value(operand)); }
  /// The same for a value that is not an operand.
  Result<std::optional<OnnxConstant>> known(const OnnxValue& value);
  Result<OnnxSequence> sequence(std::size_t operand);
  /// TensorProto.DataType of the operand; 0 if it is missing or a sequence. For operands whose elements no dtype holds.
  std::int64_t element_type(std::size_t operand);
  /// A constant whose element type is not a dtype, converted to a dtype that holds its values: i8, u8, or f32 for
  /// floats of 8 bits or less. Other constants are returned as they are.
  Result<OnnxConstant> unpacked(std::size_t operand);
  /// The bytes of a constant of 4-bit or 2-bit elements, several to a byte, with the first one in the lowest bits.
  Result<SharedBytes> packed(std::size_t operand);
  /// Whether every operand is missing, a list of sizes, or a small constant of integers or bools. The op can then
  /// compute with sizes and need not build a tensor.
  bool are_all_sizes();

  // Attributes, by name. The second argument is the value if the node has none; without it, the attribute is required.
  bool has_attribute(std::string_view name);
  Result<std::int64_t> integer_attribute(std::string_view name, std::optional<std::int64_t> otherwise = {});
  Result<bool> flag_attribute(std::string_view name, std::optional<bool> otherwise = {});
  /// ONNX stores an f32; `otherwise` is rounded to f32 too.
  Result<double> number_attribute(std::string_view name, std::optional<double> otherwise = {});
  Result<std::string_view> text_attribute(std::string_view name, std::optional<std::string_view> otherwise = {});
  /// Empty if the node has none.
  Result<std::optional<std::vector<std::int64_t>>> integers_attribute(std::string_view name);
  Result<std::optional<std::vector<double>>> numbers_attribute(std::string_view name);
  Result<std::optional<std::vector<std::string_view>>> texts_attribute(std::string_view name);
  Result<OnnxValue> tensor_attribute(std::string_view name);
  /// A sparse tensor, written in full.
  Result<OnnxValue> sparse_attribute(std::string_view name);
  Result<const GraphProto*> graph_attribute(std::string_view name);
  Result<DType> dtype_attribute(std::string_view name, std::optional<DType> otherwise = {});
  /// An axis of a tensor of that rank. A negative one is converted to count from the first.
  Result<std::int64_t> axis_attribute(std::string_view name, std::size_t rank,
                                      std::optional<std::int64_t> otherwise = {});
  /// Every attribute of the node, for custom ops. Fails if one is a graph, a type or a list of tensors.
  Result<std::map<std::string, OnnxAttribute>> all_attributes();
  /// Accepts an attribute that does not change the result.
  void ignore_attribute(std::string_view name) { find_attribute(name); }
  void ignore_operand(std::size_t operand) { has(operand); }

  // Results.
  std::size_t num_results() const { return node_.output.size(); }
  /// Whether the model names the result.
  bool wants(std::size_t result) const { return result < num_results() && !node_.output[result].empty(); }
  /// The tensor, or the builder's mistake if the tensor is invalid. Needed before code looks at the shape of a tensor
  /// that it built.
  Result<Tensor> built(Tensor tensor);
  /// A value as a tensor of the graph, for values that are not operands.
  Result<Tensor> materialize(const OnnxValue& value);

  /// Makes dims equal where broadcasting needs it; a dim that is the number 1 stays. If two dims are different
  /// expressions, each run checks that they are equal. If one of the tensors has both dims, along two axes, the dims
  /// are independent: each run then repeats the other tensor if its dim is 1.
  Status match_dims(std::initializer_list<Tensor*> tensors);
  /// Makes dim `axis` of the tensor equal to `size`, in the same way.
  Status match_dim(Tensor& tensor, std::size_t axis, const SizeExpr& size);

  /// Imports a graph attribute here, with these values as its inputs, and returns its outputs.
  Result<std::vector<OnnxValue>> import_body(std::string_view attribute, const GraphProto& body,
                                             std::vector<OnnxValue> inputs);

  /// Tells the user of a decision, in OnnxModel::notes. The text follows the node's path.
  void note(std::string_view text);

  /// Subtracts `count` from the number of elements that the importer may still compute for the model, because a few
  /// bytes can describe any number of them. Fails if fewer are left.
  Status reserve_elements(std::uint64_t count);

  // Errors. The reason "found 3, expected 1 or 2" becomes "graph.node[4] (Conv 'c').attribute 'group': found 3, ...".
  Status attribute_error(std::string_view name, const std::string& reason) const;
  Status operand_error(std::size_t operand, const std::string& reason) const;

  /// Fails if the function left an operand or an attribute of the node unread.
  Status check_all_read() const;

 private:
  std::string path() const { return node_path(scope_, node_, index_); }
  const AttributeProto* find_attribute(std::string_view name);
  /// The scope whose values a graph in the attribute reads: the node's, or that of the call that gives the attribute.
  const OnnxScope& scope_of(std::string_view attribute) const;
  /// The attribute of that type; null if the node has none. `holds` tells whether its field for that type is set.
  template <class Holds>
  Result<const AttributeProto*> typed_attribute(std::string_view name, AttributeType type, bool is_required,
                                                Holds holds);
  Status missing_attribute(std::string_view name) const;
  Status not_known(std::size_t operand);
  void mark_sized_input(std::size_t operand);
  /// Makes dim `axis` of the tensor equal to `size`: a run repeats the elements along it if the extent is 1, and fails
  /// if the extent is neither 1 nor `size`.
  Status spread_dim(Tensor& tensor, std::size_t axis, const SizeExpr& size);
  /// Calls spread_dim() for each dim of `part`, counted from the last, that differs from the same dim of `whole` but
  /// equals another dim of `whole`.
  Status spread_dims(Tensor& part, const Tensor& whole);

  OnnxImport& import_;
  const OnnxScope& scope_;
  const NodeProto& node_;
  std::size_t index_;  // of the node in its graph
  std::int64_t version_;
  std::vector<const OnnxValue*> operands_;  // the scope owns them
  std::vector<bool> are_operands_read_, are_attributes_read_;
};

/// The axis counted from the first, or an empty optional if a tensor of that rank has no such axis.
std::optional<std::int64_t> find_axis(std::int64_t axis, std::size_t rank);

}  // namespace millrace
