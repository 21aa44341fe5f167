// SPDX-License-Identifier: Apache-2.0
// Expands the composites that a text calls, by the rows of composite_table.inc.
#include "graph/text/composites.h"

#include <algorithm>

#include <fmt/format.h>

#include "graph/text/composite_call.h"
#include "ops/attributes_text.h"

namespace millrace {

template <class E>
using Words = std::vector<std::pair<std::string_view, E>>;
static Words<DepthOrder> names_of(DepthOrder) {
  return {{"block_first", DepthOrder::kBlockFirst}, {"channel_first", DepthOrder::kChannelFirst}};
}
static Words<ScatterReduction> names_of(ScatterReduction) {
  return {{"replace", ScatterReduction::kReplace},
          {"add", ScatterReduction::kAdd},
          {"mul", ScatterReduction::kMul},
          {"min", ScatterReduction::kMin},
          {"max", ScatterReduction::kMax}};
}
static Words<ResizeMode> names_of(ResizeMode) {
  return {{"nearest", ResizeMode::kNearest}, {"linear", ResizeMode::kLinear}};
}
static Words<ResizeCoordinates> names_of(ResizeCoordinates) {
  return {{"half_pixel", ResizeCoordinates::kHalfPixel},
          {"align_corners", ResizeCoordinates::kAlignCorners},
          {"asymmetric", ResizeCoordinates::kAsymmetric}};
}

namespace {

/// Parses the parameters of a row: "groups, epsilon = 1e-05, bound: n". After " = " comes the default;
/// after ": " come words that say what an absent parameter means.
std::vector<Parameter> parse_parameters(std::string_view text) {
  std::vector<Parameter> parameters;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(", "), text.size());
    const std::string_view part = text.substr(0, end);
    const std::size_t equals = part.find(" = "), colon = part.find(": ");
    Parameter& parameter = parameters.emplace_back(Parameter{part.substr(0, std::min(equals, colon))});
    if (equals != part.npos) {
      parameter.default_text = part.substr(equals + 3);
    } else if (colon != part.npos) {
      parameter.absent = part.substr(colon + 2);
    }
    text.remove_prefix(std::min(end + 2, text.size()));
  }
  return parameters;
}

/// Takes a field's default from the row if the row lists the field, otherwise from the struct's own initialiser.
struct FormsOfFields {
  const CompositeRow& row;
  std::vector<AttributeForm> forms = {};

  template <class T>
  void operator()(std::string_view name, const T& field) {
    AttributeForm& form = forms.emplace_back(AttributeForm{std::string(name)});
    const auto found = std::ranges::find(row.parameters, name, &Parameter::name);
    if (found == row.parameters.end()) {
      if constexpr (requires { FieldText()(field); }) form.default_text = FieldText()(field);
    } else if (!found->absent.empty()) {
      form.default_text = found->absent;
      form.is_in_words = true;
    } else {
      form.default_text = found->default_text;
    }
  }
};

template <class Call>
std::vector<AttributeForm> attributes_of(const CompositeRow& row) {
  FormsOfFields fields{row};
  Call(row.parameters).visit(fields);
  return std::move(fields.forms);
}

template <class Call, auto kFunction>
Result<std::vector<Tensor>> build(const CompositeRow& row, std::span<const TensorOrNumber> operands,
                                  const FieldSource& source) {
  Call call(row.parameters);
  call.take(operands);
  MILLRACE_TRY(FieldsReader(source, call).read());
  if (const Status status = call.complete(source); !status.ok()) {
    GraphBuilder& graph = *std::get<Tensor>(operands[0]).builder();
    graph.fail({status.code(), fmt::format("{}: {}", graph.next_text(row.name), status.message())});
    return std::vector<Tensor>();
  }
  return call.call(kFunction);
}

template <auto kFunction>
CompositeRow row(std::string_view name, std::string_view parameters, std::string_view meaning,
                 std::string_view example) {
  using Call = CompositeCall<decltype(kFunction)>;
  return {name,    parse_parameters(parameters), Call::kOperands,     Call::kReturnsList,    meaning,
          example, Call::takes_number,           attributes_of<Call>, build<Call, kFunction>};
}

// One function per name, because C++ overloads have no single signature.

Tensor masked_attention(Tensor query, Tensor key, Tensor value, std::optional<Tensor> mask, AttentionOptions options) {
  options.mask = mask.value_or(Tensor());
  return attention(query, key, value, options);
}
Tensor biased_conv1d(Tensor x, Tensor weights, std::optional<Tensor> bias, Conv1dAttributes attributes) {
  return bias ? conv1d(x, weights, *bias, attributes) : conv1d(x, weights, attributes);
}
Tensor biased_conv2d(Tensor x, Tensor weights, Tensor bias, Conv2dAttrs attributes) {
  return conv2d(x, weights, bias, std::move(attributes));
}
IndicesAndCount bounded_nonzero(Tensor x, std::optional<SizeExpr> bound) {
  return bound ? nonzero(x, *bound) : nonzero(x);
}
UniqueResults bounded_unique(Tensor x, std::optional<SizeExpr> bound) { return bound ? unique(x, *bound) : unique(x); }
IndicesAndCount bounded_suppression(Tensor boxes, Tensor scores, std::optional<SizeExpr> bound, double max_overlap,
                                    double min_score) {
  if (!bound) bound = scores.shape().rank() == 0 ? 1 : scores.shape()[0];
  return non_max_suppression(boxes, scores, *bound, max_overlap, min_score);
}
Tensor where_or_number(Tensor condition, TensorOrNumber if_true, TensorOrNumber if_false) {
  return call_beside_number([](auto... x) -> decltype(where(x...)) { return where(x...); }, TensorOrNumber(condition),
                            if_true, if_false);
}
/// topk with two operands. With one operand, topk is an op.
ValuesAndIndices topk_with_indices(Tensor x, Tensor indices, TopKAttrs attributes) {
  SizeExpr k = attributes.k;
  return topk(x, indices, std::move(k), std::move(attributes));
}
Tensor stack_all(std::span<const Tensor> tensors, std::int64_t axis) { return stack(tensors, axis); }
Tensor einsum_of_all(std::span<const Tensor> operands, std::string_view equation) { return einsum(equation, operands); }
Tensor update_slice_from(Tensor x, Tensor update, std::optional<Tensor> start_operand, std::int64_t axis,
                         std::optional<SizeExpr> start) {
  if (start_operand.has_value() == start.has_value()) {
    return x.builder()->fail(
        invalid_argument(fmt::format("{}: {} starts, expected one; give an operand or the attribute start",
                                     x.builder()->next_text("update_slice"), start ? 2 : 0)));
  }
  return start ? update_slice(x, update, axis, *start) : update_slice(x, update, axis, *start_operand);
}

}  // namespace

std::span<const CompositeRow> composite_rows() {
  static const std::vector<CompositeRow> kRows = {
#define MILLRACE_COMPOSITE(name, parameters, meaning, example) row<name>(#name, parameters, meaning, example),
#define MILLRACE_COMPOSITE_AS(name, function, parameters, meaning, example) \
  row<function>(#name, parameters, meaning, example),
#include "graph/text/composite_table.inc"
  };
  return kRows;
}

const CompositeRow* find_composite(std::string_view name) {
  const std::span<const CompositeRow> rows = composite_rows();
  const auto found = std::ranges::find(rows, name, &CompositeRow::name);
  return found == rows.end() ? nullptr : &*found;
}

Result<std::vector<Value>> append_composite(Graph& graph, const CompositeRow& row, const CallOperands& operands,
                                            const FieldSource& source, const OperationPlace& place) {
  const std::string problem = operand_count_problem(parse_call_example(row.example), row.operands, operands.count());
  if (!problem.empty()) return place.refuse(problem);
  return append_built(graph, operands, place,
                      [&](std::span<const TensorOrNumber> built) { return row.build(row, built, source); });
}

}  // namespace millrace
