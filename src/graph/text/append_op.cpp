// SPDX-License-Identifier: Apache-2.0
#include "graph/text/append_op.h"

#include <algorithm>

#include "base/text/number.h"
#include "graph/infer.h"

namespace millrace {
namespace {

/// The C++ functions of an elementwise op of two operands.
struct BinaryFunctions {
  Tensor (*of_tensors)(Tensor, Tensor) = nullptr;
  Tensor (*of_tensor_and_number)(Tensor, Literal) = nullptr;
  Tensor (*of_number_and_tensor)(Literal, Tensor) = nullptr;
};

BinaryFunctions binary_functions(Op op) {
  switch (op) {
#define MILLRACE_OP(name, operands, results, traits, attributes, meaning, example)
#define MILLRACE_UNARY(name, rule, meaning)
#define MILLRACE_BINARY(name, traits, rule, meaning) \
  case Op::name:                                     \
    return {millrace::name, millrace::name, millrace::name};
#include "millrace/ops/op_table.inc"
    default:
      return {};
  }
}

}  // namespace

bool takes_number(Op op) { return binary_functions(op).of_tensors != nullptr; }

bool begins_number(TextReader& text) {
  const std::string_view rest = text.rest();
  if (rest.empty()) return false;
  if (rest[0] == '-' || rest[0] == '.' || (rest[0] >= '0' && rest[0] <= '9')) return true;
  constexpr std::string_view kWords[] = {"true", "false", "inf", "nan"};
  const std::string_view word = rest.substr(0, rest.find_first_of(" \t\r\n,()"));
  return std::ranges::find(kWords, word) != std::end(kWords);
}

Result<Literal> read_literal(TextReader& text) {
  if (text.take_word("true")) return Literal(true);
  if (text.take_word("false")) return Literal(false);
  const std::string_view rest = text.rest();
  const std::size_t begin = text.position();
  MILLRACE_TRY_ASSIGN(const Number value, read_any_number(text));
  const std::string_view written = rest.substr(0, text.position() - begin);
  return Literal(value, written.find_first_of(".eEin") != written.npos);
}

void complete_attributes(Attributes& attributes, const Graph& graph, std::span<const Value> operands) {
  if (auto* slice = std::get_if<SliceAttrs>(&attributes); slice != nullptr && slice->step.empty()) {
    slice->step.assign(slice->start.size(), 1);
  }
  if (auto* shape = std::get_if<ShapeAttrs>(&attributes); shape != nullptr && !operands.empty()) {
    shape->shape = with_found_dim(Shape(std::move(shape->shape)), graph.type(operands[0]).shape).dims();
  }
}

bool needs_broadcast(const Graph& graph, Op op, const CallOperands& operands) {
  if (operands.number) return true;
  if (!takes_number(op) || operands.values.size() != 2) return false;
  const TensorType &x = graph.type(operands.values[0]), &y = graph.type(operands.values[1]);
  return x.dtype == y.dtype && x.shape != y.shape;
}

Result<std::vector<Value>> append_broadcast(Graph& graph, Op op, const CallOperands& operands,
                                            const OperationPlace& place) {
  if (operands.count() != 2) {  // the op's own message
    return place.refuse(infer_types(op, std::vector<TensorType>(operands.count()), NoAttrs{}).status().message());
  }
  const BinaryFunctions functions = binary_functions(op);
  return append_built(graph, operands.values, place, [&](std::span<const Tensor> x) {
    Tensor result;
    if (!operands.number) {
      result = functions.of_tensors(x[0], x[1]);
    } else if (operands.number_position == 0) {
      result = functions.of_number_and_tensor(*operands.number, x[0]);
    } else {
      result = functions.of_tensor_and_number(x[0], *operands.number);
    }
    return std::vector<Tensor>{result};
  });
}

}  // namespace millrace
