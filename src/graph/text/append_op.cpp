// SPDX-License-Identifier: Apache-2.0
// Appends the ops that a text calls. Like calls of their C++ functions, these calls can broadcast operands and pass
// numbers in place of tensors.
#include "graph/text/append_op.h"

#include <algorithm>
#include <concepts>
#include <utility>

#include "base/guard_allocations.h"
#include "base/text/number.h"
#include "graph/infer.h"
#include "ops/call_example.h"

namespace millrace {
namespace {

/// The C++ function of an op, if it has an overload that takes a number in place of a tensor. Otherwise `call` is null.
struct OpFunction {
  std::vector<bool> takes_number;  // per operand: whether it may be a number
  Tensor (*call)(std::span<const TensorOrNumber> operands) = nullptr;
};

template <class Function, std::size_t kNumber, std::size_t... kOperand>
constexpr bool takes_number_at(std::index_sequence<kOperand...>) {
  return std::invocable<Function, std::conditional_t<kOperand == kNumber, Literal, Tensor>...>;
}

template <class Function, std::size_t... kOperand>
OpFunction make_function(std::index_sequence<kOperand...>) {
  using Operands = std::index_sequence<kOperand...>;
  OpFunction made{{takes_number_at<Function, kOperand>(Operands())...}};
  if constexpr ((takes_number_at<Function, kOperand>(Operands()) || ...)) {
    made.call = [](std::span<const TensorOrNumber> x) { return call_beside_number(Function(), x[kOperand]...); };
  }
  return made;
}

/// kNumOperands: the number of operands in the op's row.
template <int kNumOperands, class Function>
OpFunction make_function(Function) {
  return make_function<Function>(std::make_index_sequence<static_cast<std::size_t>(std::max(kNumOperands, 0))>());
}

std::vector<OpFunction> make_functions() {
  return {
#define MILLRACE_OP(name, operands, results, traits, attributes, meaning, example) \
  make_function<operands>([](auto... x) -> decltype(name(x...)) { return name(x...); }),
#include "millrace/ops/op_table.inc"
  };
}

const OpFunction& function_of(Op op) {
  static const std::vector<OpFunction> kFunctions = make_functions();
  return kFunctions[static_cast<std::size_t>(op)];
}

}  // namespace

bool takes_number(Op op, std::size_t operand) {
  const std::vector<bool>& takes = function_of(op).takes_number;
  return operand < takes.size() && takes[operand];
}

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

bool needs_function(const Graph& graph, Op op, const CallOperands& operands) {
  if (operands.number) return true;
  if (function_of(op).call == nullptr || operands.values.size() != 2) return false;
  const TensorType &x = graph.type(operands.values[0]), &y = graph.type(operands.values[1]);
  return x.dtype == y.dtype && x.shape != y.shape;
}

Result<std::vector<Value>> append_function(Graph& graph, Op op, const CallOperands& operands,
                                           const OperationPlace& place) {
  const std::size_t count = operands.count();
  if (!operand_count(op).contains(count) || operands.values.empty()) {  // fail with the op's own message
    return place.refuse(unguarded(infer_types(op, std::vector<TensorType>(count), NoAttrs{})).status().message());
  }
  return append_built(graph, operands, place,
                      [&](std::span<const TensorOrNumber> x) { return std::vector<Tensor>{function_of(op).call(x)}; });
}

}  // namespace millrace
