// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

#include "base/text/reader.h"
#include "millrace/base/check.h"
#include "millrace/graph/functions.h"

namespace millrace {

/// The place of an operation in a text, for messages.
struct OperationPlace {
  const TextReader& text;
  std::size_t begin = 0;
  std::string_view name;

  /// "g.mr:2:8: softmax: <problem>", followed by its line.
  Status refuse(std::string_view problem) const;
};

/// The operands of an operation: values and, if the operation takes one, a number among them.
struct CallOperands {
  std::vector<Value> values;
  std::optional<Literal> number = {};
  std::size_t number_position = 0;  // the number's position among all operands

  std::size_t count() const { return values.size() + (number ? 1 : 0); }
};

/// An operand of a C++ function.
using TensorOrNumber = std::variant<Tensor, Literal>;

/// Calls `function`, which has one overload for tensors only, and one for each position that may hold a number.
template <class Function, class... Operands>
Tensor call_beside_number(const Function& function, const Operands&... operands) {
  const auto call = [&]<class... Ts>(const Ts&... x) -> Tensor {
    if constexpr (std::invocable<Function, Ts...>) {
      return function(x...);
    } else {
      MILLRACE_CHECK(false && "numbers that the function does not take");
      return {};
    }
  };
  return std::visit(call, operands...);
}

/// Builds an operation's results from its operands. A Status that it returns is passed on unchanged. A mistake that the
/// builder records is reported at the operation's place.
using BuildResults = std::function<Result<std::vector<Tensor>>(std::span<const TensorOrNumber> operands)>;

/// Appends the nodes that C++ functions build from the operands. At least one operand must be a value. Returns the
/// results, which may be operands.
Result<std::vector<Value>> append_built(Graph&, const CallOperands&, const OperationPlace&, const BuildResults&);

}  // namespace millrace
