// SPDX-License-Identifier: Apache-2.0
// The composites that a text may name: a row each.
#include "graph/text/composites.h"

#include "graph/text/composite_call.h"
#include "millrace/graph/text.h"

namespace millrace {

template <class E>
using Words = std::vector<std::pair<std::string_view, E>>;
static Words<DepthOrder> names_of(DepthOrder) {
  return {{"block_first", DepthOrder::kBlockFirst}, {"channel_first", DepthOrder::kChannelFirst}};
}
static Words<ResizeMode> names_of(ResizeMode) {
  return {{"nearest", ResizeMode::kNearest}, {"linear", ResizeMode::kLinear}};
}
static Words<ResizeCoordinates> names_of(ResizeCoordinates) {
  return {{"half_pixel", ResizeCoordinates::kHalfPixel},
          {"align_corners", ResizeCoordinates::kAlignCorners},
          {"asymmetric", ResizeCoordinates::kAsymmetric}};
}

using Names = std::span<const std::string_view>;

struct CompositeRow {
  std::string_view name;
  std::vector<std::string_view> names;  // of the parameters that are neither tensors nor structs
  OperandCount operands;
  std::string_view results;
  std::vector<std::string_view> (*fields)(Names);
  Result<std::vector<Tensor>> (*build)(Names, std::span<const Tensor>, const FieldSource&);
};

namespace {

template <class Call>
std::vector<std::string_view> fields_of(Names names) {
  std::vector<std::string_view> fields;
  Call(names).visit([&](std::string_view name, const auto&) { fields.push_back(name); });
  return fields;
}

template <class Call, auto kFunction>
Result<std::vector<Tensor>> build(Names names, std::span<const Tensor> operands, const FieldSource& source) {
  Call call(names);
  call.take(operands);
  MILLRACE_TRY(FieldsReader(source, call).read());
  Result<std::vector<Tensor>> results = call.call(kFunction);
  if (!results.ok()) operands[0].builder()->fail(results.status());
  return results.ok() ? *std::move(results) : std::vector<Tensor>();
}

template <class Function, auto kFunction>
CompositeRow row(std::string_view name, std::vector<std::string_view> names) {
  using Call = typename CallOfFunction<Function>::Type;
  return {name, std::move(names), Call::kOperands, Call::kResults, fields_of<Call>, build<Call, kFunction>};
}

Tensor masked_attention(std::span<const Tensor> operands, AttentionOptions options) {
  if (operands.size() == 4) options.mask = operands[3];
  return attention(operands[0], operands[1], operands[2], options);
}

Tensor biased_conv1d(std::span<const Tensor> operands, Conv1dAttributes attributes) {
  return operands.size() == 3 ? conv1d(operands[0], operands[1], operands[2], attributes)
                              : conv1d(operands[0], operands[1], attributes);
}
/// The op conv2d has two operands.
Tensor biased_conv2d(Tensor x, Tensor weights, Tensor bias, Conv2dAttrs attributes) {
  return conv2d(x, weights, bias, std::move(attributes));
}

/// The op topk has one operand.
ValuesAndIndices topk_with_indices(Tensor x, Tensor indices, TopKAttrs attributes) {
  SizeExpr k = attributes.k;
  return topk(x, indices, std::move(k), std::move(attributes));
}

struct Start {
  std::optional<SizeExpr> start = {};
  template <class V>
  void visit(V&& v) {
    v("start", start);
  }
};
/// The start is an attribute or the third operand.
Tensor update_slice_from(std::span<const Tensor> operands, std::int64_t axis, Start attribute) {
  const bool is_operand = operands.size() == 3;
  if (is_operand == attribute.start.has_value()) {
    return operands[0].builder()->fail(invalid_argument(
        fmt::format("{} starts, expected one; give an operand or the attribute start", is_operand ? 2 : 0)));
  }
  return is_operand ? update_slice(operands[0], operands[1], axis, operands[2])
                    : update_slice(operands[0], operands[1], axis, *attribute.start);
}

CompositeRow with_operands(CompositeRow row, OperandCount operands) {
  row.operands = operands;
  return row;
}

// The lambda, in place of the function's address, so that a call may leave out what has a default.
#define MILLRACE_COMPOSITE_AS(function, type, ...) \
  row<type, []<class... A>(A... a)                 \
        requires(requires { function(a...); })     \
      { return function(a...); }>(#function, {__VA_ARGS__})
#define MILLRACE_COMPOSITE(function, ...) MILLRACE_COMPOSITE_AS(function, decltype(&function), __VA_ARGS__)

const std::vector<CompositeRow>& rows() {
  using Tensors = std::span<const Tensor>;
  static const std::vector<CompositeRow> kRows = {
      MILLRACE_COMPOSITE(softmax, "axis"),
      MILLRACE_COMPOSITE(log_softmax, "axis"),
      MILLRACE_COMPOSITE(logsumexp, "axes", "keep_dims"),
      MILLRACE_COMPOSITE(l2_normalize, "axis", "epsilon"),
      MILLRACE_COMPOSITE(relu),
      MILLRACE_COMPOSITE(elu, "alpha"),
      MILLRACE_COMPOSITE(gelu),
      MILLRACE_COMPOSITE(gelu_tanh),
      MILLRACE_COMPOSITE(silu),
      MILLRACE_COMPOSITE(mish),
      MILLRACE_COMPOSITE(clamp, "low", "high"),
      MILLRACE_COMPOSITE(is_inf),
      MILLRACE_COMPOSITE(where),
      MILLRACE_COMPOSITE(matmul),
      MILLRACE_COMPOSITE(broadcast_to, "shape"),
      MILLRACE_COMPOSITE(layer_norm, "epsilon"),
      MILLRACE_COMPOSITE(rms_norm, "epsilon"),
      MILLRACE_COMPOSITE(group_norm, "groups", "epsilon"),
      MILLRACE_COMPOSITE(instance_norm, "epsilon"),
      MILLRACE_COMPOSITE(batch_norm, "epsilon"),
      MILLRACE_COMPOSITE(one_hot, "depth", "dtype"),
      MILLRACE_COMPOSITE(trilu, "upper", "diagonal"),
      MILLRACE_COMPOSITE(gather_nd),
      MILLRACE_COMPOSITE(scatter_nd),
      MILLRACE_COMPOSITE(scatter_elements, "axis"),
      MILLRACE_COMPOSITE(searchsorted, "right"),
      MILLRACE_COMPOSITE(cumulative_argmax, "axis"),
      MILLRACE_COMPOSITE_AS(nonzero, IndicesAndCount(*)(Tensor, SizeExpr), "bound"),
      MILLRACE_COMPOSITE_AS(non_max_suppression, IndicesAndCount(*)(Tensor, Tensor, SizeExpr, double, double), "bound",
                            "most_overlap", "least_score"),
      MILLRACE_COMPOSITE_AS(unique, UniqueResults(*)(Tensor, SizeExpr), "bound"),
      MILLRACE_COMPOSITE(split, "sizes", "axis"),
      MILLRACE_COMPOSITE(split_evenly, "num_parts", "axis"),
      MILLRACE_COMPOSITE(squeeze, "axes"),
      MILLRACE_COMPOSITE(unsqueeze, "axes"),
      MILLRACE_COMPOSITE(tile, "repeats"),
      MILLRACE_COMPOSITE(flip, "axes"),
      MILLRACE_COMPOSITE(roll, "shift", "axis"),
      MILLRACE_COMPOSITE(pad_reflect, "low", "high"),
      MILLRACE_COMPOSITE(pad_edge, "low", "high"),
      MILLRACE_COMPOSITE(depth_to_space, "block", "order"),
      MILLRACE_COMPOSITE(space_to_depth, "block"),
      MILLRACE_COMPOSITE(global_avg_pool),
      MILLRACE_COMPOSITE(global_max_pool),
      MILLRACE_COMPOSITE(max_pool1d),
      MILLRACE_COMPOSITE(avg_pool1d),
      with_operands(row<decltype(&biased_conv1d), biased_conv1d>("conv1d", {}), {2, 3}),
      row<decltype(&biased_conv2d), biased_conv2d>("conv2d", {}),
      MILLRACE_COMPOSITE(resize, "axes", "sizes", "mode", "coordinates"),
      MILLRACE_COMPOSITE(quantize_linear, "axis"),
      MILLRACE_COMPOSITE(dequantize_linear, "axis"),
      MILLRACE_COMPOSITE(rotary_embedding, "interleaved"),
      MILLRACE_COMPOSITE(random_bits, "shape"),
      MILLRACE_COMPOSITE(random_uniform, "shape"),
      MILLRACE_COMPOSITE(multinomial, "num_samples"),
      MILLRACE_COMPOSITE_AS(stack, Tensor(*)(Tensors, std::int64_t), "axis"),
      MILLRACE_COMPOSITE_AS(einsum, Tensor(*)(std::string_view, Tensors), "equation"),
      row<decltype(&topk_with_indices), topk_with_indices>("topk", {}),
      with_operands(row<decltype(&update_slice_from), update_slice_from>("update_slice", {"axis"}), {2, 3}),
      // The mask is an operand that may be left out.
      with_operands(row<decltype(&masked_attention), masked_attention>("attention", {}), {3, 4}),
  };
  return kRows;
}

#undef MILLRACE_COMPOSITE
#undef MILLRACE_COMPOSITE_AS

/// "%x, %y"; "%x, ..." where there may be more.
std::string operands_text(OperandCount count) {
  constexpr std::string_view kNames[] = {"%x", "%y", "%z", "%u", "%v"};
  std::string text;
  for (std::size_t i = 0; i < count.least; ++i) text += fmt::format("{}{}", i == 0 ? "" : ", ", kNames[i]);
  return count.most > count.least ? text + ", ..." : text;
}

Status check_count(OperandCount count, std::size_t found, std::string_view name) {
  if (count.contains(found)) return {};
  std::string expected = fmt::format("{}", count.least);
  if (count.most == SIZE_MAX) {
    expected += " or more";
  } else if (count.most > count.least) {
    expected += fmt::format(" to {}", count.most);
  }
  return invalid_argument(
      fmt::format("{} operand{}, expected {}; pass what {} takes", found, found == 1 ? "" : "s", expected, name));
}

/// A builder's message without the node's number, which is none of the text's, and without the composite's name.
Status without_node(const Status& status, std::string_view name) {
  std::string_view message = status.message();
  const std::size_t end = message.find(" = ");
  if (message.starts_with('%') && end != std::string_view::npos) message.remove_prefix(end + 3);
  const std::string prefix = fmt::format("{}: ", name);
  if (message.starts_with(prefix)) message.remove_prefix(prefix.size());
  return {status.code(), std::string(message)};
}

/// Appends the nodes of the builder's graph to `graph`. Its inputs stand for `operands`.
std::vector<Value> append_nodes(Graph& graph, const GraphBuilder& builder, std::span<const Value> operands,
                                std::span<const Tensor> results) {
  IdVector<NodeId, NodeId> moved;
  const auto value_of = [&](Value value) {
    const std::size_t index = index_of(value.node);
    return index < operands.size() ? operands[index] : Value{moved[value.node], value.result};
  };
  const IdVector<NodeId, Node>& nodes = builder.graph().nodes;
  for (std::uint32_t i = 0; i < nodes.size(); ++i) {
    moved.push_back(NodeId(graph.nodes.size()));
    if (i < operands.size() || builder.is_taken(NodeId{i})) continue;
    Node copy = nodes[NodeId{i}];
    for (Value& operand : copy.operands) operand = value_of(operand);
    graph.nodes.push_back(std::move(copy));
  }
  std::vector<Value> values;
  for (const Tensor& result : results) values.push_back(value_of(result.value()));
  return values;
}

}  // namespace

const CompositeRow* find_composite(std::string_view name) {
  const auto found = std::ranges::find(rows(), name, &CompositeRow::name);
  return found == rows().end() ? nullptr : &*found;
}

bool takes_operands(const CompositeRow& row, std::size_t num_operands) { return row.operands.contains(num_operands); }

void consider_composites(NearName& near) {
  for (const CompositeRow& row : rows()) near.consider(row.name);
}

Result<std::vector<Value>> append_composite(Graph& graph, const CompositeRow& row, std::span<const Value> operands,
                                            const FieldSource& source, std::size_t begin) {
  const auto refuse = [&](const Status& status) {
    return source.text.error(begin, fmt::format("{}: {}", row.name, status.message()));
  };
  if (const Status count = check_count(row.operands, operands.size(), row.name); !count.ok()) return refuse(count);
  GraphBuilder builder;
  std::vector<Tensor> tensors;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const TensorType& type = graph.type(operands[i]);
    tensors.push_back(builder.input(fmt::format("{}", i), type.dtype, type.shape));
  }
  MILLRACE_TRY_ASSIGN(const std::vector<Tensor> results, row.build(row.names, tensors, source));
  if (!builder.status().ok()) return refuse(without_node(builder.status(), row.name));
  return append_nodes(graph, builder, operands, results);
}

std::vector<CompositeForm> composite_forms() {
  std::vector<CompositeForm> forms;
  for (const CompositeRow& row : rows()) {
    const std::string fields = list_text(row.fields(row.names));
    forms.push_back(
        {std::string(row.name), fmt::format("{} = {}({}){}", row.results, row.name, operands_text(row.operands),
                                            fields.empty() ? "" : fmt::format(" {{{}}}", fields))});
  }
  return forms;
}

}  // namespace millrace
