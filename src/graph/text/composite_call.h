// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/text/reader.h"
#include "graph/text/append_built.h"
#include "graph/text/composites.h"
#include "graph/text/field_reader.h"
#include "millrace/base/check.h"
#include "millrace/graph/composites.h"

// Calls a C++ function of tensors with the operands and attributes of a text: the parameters that are not tensors are
// attributes. An attribute that the text leaves out has the default value in the composite's row.
namespace millrace {

/// A parameter that is a struct: each of its fields is an attribute.
template <class P>
concept HasFields = requires(P fields) { fields.visit([](std::string_view, const auto&) {}); };

template <class P>
inline constexpr bool kIsOptional = false;
template <class T>
inline constexpr bool kIsOptional<std::optional<T>> = true;

/// Whether the parameter takes all remaining operands.
template <class P>
inline constexpr bool kIsOperandList = std::same_as<P, std::span<const Tensor>>;
template <class P>
inline constexpr bool kIsOperand = std::same_as<P, Tensor> || std::same_as<P, TensorOrNumber> ||
                                   std::same_as<P, std::optional<Tensor>> || kIsOperandList<P>;
/// Whether the parameter is a setting: one attribute of its own.
template <class P>
inline constexpr bool kIsSetting = !kIsOperand<P> && !HasFields<P>;

/// Holds the value of a parameter of type P until the call.
template <class P>
using SlotOf = std::conditional_t<
    kIsOperandList<P>, std::vector<Tensor>,
    std::conditional_t<!kIsSetting<P> || kIsOptional<P>, P,
                       std::optional<std::conditional_t<std::same_as<P, std::string_view>, std::string, P>>>>;

inline std::vector<Tensor> tensors_of(Tensor tensor) { return {tensor}; }
inline std::vector<Tensor> tensors_of(ValuesAndIndices both) { return {both.values, both.indices}; }
inline std::vector<Tensor> tensors_of(IndicesAndCount both) { return {both.indices, both.count}; }
inline std::vector<Tensor> tensors_of(UniqueResults all) {
  return {all.values, all.inverse, all.counts, all.first_indices, all.count};
}
inline std::vector<Tensor> tensors_of(std::vector<Tensor> tensors) { return tensors; }

template <class Function>
class CompositeCall;
template <class R, class... P>
class CompositeCall<R (*)(P...)> {
 public:
  static constexpr OperandCount kOperands = {
      (std::size_t{kIsOperand<P> && !std::same_as<P, std::optional<Tensor>>} + ... + 0),
      (kIsOperandList<P> || ...) ? SIZE_MAX : (std::size_t{kIsOperand<P>} + ... + 0)};
  static constexpr bool kReturnsList = std::same_as<R, std::vector<Tensor>>;

  static bool takes_number(std::size_t operand) {
    std::size_t next = 0;
    return ((kIsOperand<P> && next++ == operand && std::same_as<P, TensorOrNumber>) || ...);
  }

  /// `parameters` begins with the settings, in order.
  explicit CompositeCall(std::span<const Parameter> parameters) : parameters_(parameters) {}

  /// Stores the operands for the call. Precondition: an operand is a number only where takes_number() is true.
  void take(std::span<const TensorOrNumber> operands) { take(operands, std::index_sequence_for<P...>{}); }

  template <class V>
  void visit(V&& v) {
    visit(v, std::index_sequence_for<P...>{});
  }

  /// Gives settings that were left out their default values. Fails if a setting that was left out has none.
  Status complete(const FieldSource& source) { return complete(source, std::index_sequence_for<P...>{}); }

  /// Precondition: complete() succeeded.
  std::vector<Tensor> call(R (*function)(P...)) { return call(function, std::index_sequence_for<P...>{}); }

 private:
  template <std::size_t I>
  using TypeOf = std::tuple_element_t<I, std::tuple<P...>>;

  template <std::size_t... I>
  void take(std::span<const TensorOrNumber> operands, std::index_sequence<I...>) {
    const auto set = [&]<std::size_t kIndex>(auto& slot) {
      using T = TypeOf<kIndex>;
      if constexpr (kIsOperandList<T>) {
        for (const TensorOrNumber& operand : operands) slot.push_back(std::get<Tensor>(operand));
      } else if constexpr (kIsOperand<T>) {
        if (operands.empty()) return;
        if constexpr (std::same_as<T, TensorOrNumber>) {
          slot = operands.front();
        } else {
          slot = std::get<Tensor>(operands.front());
        }
        operands = operands.subspan(1);
      }
    };
    (set.template operator()<I>(std::get<I>(slots_)), ...);
  }

  template <class V, std::size_t... I>
  void visit(V& v, std::index_sequence<I...>) {
    std::size_t next = 0;
    const auto show = [&]<std::size_t kIndex>(auto& slot) {
      if constexpr (kIsSetting<TypeOf<kIndex>>) {
        v(parameters_[next++].name, slot);
      } else if constexpr (HasFields<TypeOf<kIndex>>) {
        slot.visit(v);
      }
    };
    (show.template operator()<I>(std::get<I>(slots_)), ...);
  }

  template <std::size_t... I>
  Status complete(const FieldSource& source, std::index_sequence<I...>) {
    std::size_t next = 0;
    Status status;
    const auto fill = [&]<std::size_t kIndex>(auto& slot) {
      if constexpr (kIsSetting<TypeOf<kIndex>>) {
        const Parameter& parameter = parameters_[next++];
        if (slot || !status.ok()) return;
        if (!parameter.default_text.empty()) {
          status = read_default(source, parameter, slot);
        } else if constexpr (!kIsOptional<TypeOf<kIndex>>) {
          status = invalid_argument(fmt::format("expected {}; give it in braces", parameter.name));
        }
      }
    };
    (fill.template operator()<I>(std::get<I>(slots_)), ...);
    return status;
  }

  template <class T>
  static Status read_default(const FieldSource& source, const Parameter& parameter, T& slot) {
    TextReader text(parameter.name, parameter.default_text);
    Status status;
    FieldReader{{text, source.owner, source.elements, source.symbols}, parameter.name, status}(parameter.name, slot);
    MILLRACE_CHECK(status.ok() && text.at_end());
    return status;
  }

  template <std::size_t... I>
  std::vector<Tensor> call(R (*function)(P...), std::index_sequence<I...>) {
    return tensors_of(function(argument<I>()...));
  }

  template <std::size_t I>
  TypeOf<I> argument() {
    if constexpr (kIsSetting<TypeOf<I>> && !kIsOptional<TypeOf<I>>) {
      return *std::get<I>(slots_);
    } else {
      return std::get<I>(slots_);
    }
  }

  std::span<const Parameter> parameters_;
  std::tuple<SlotOf<P>...> slots_;
};

}  // namespace millrace
