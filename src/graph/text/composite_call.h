// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <concepts>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "graph/text/field_reader.h"
#include "millrace/graph/composites.h"

// Calls a C++ function of tensors with the operands and attributes of a text: its parameters that are no tensors are
// attributes, and what the text leaves out keeps the function's own default.
namespace millrace {

/// How many operands a composite takes.
struct OperandCount {
  std::size_t least = 0, most = 0;
  bool contains(std::size_t count) const { return count >= least && count <= most; }
};

/// A parameter that is a struct stands for its fields.
template <class P>
concept HasFields = requires(P fields) { fields.visit([](std::string_view, const auto&) {}); };

template <class P>
inline constexpr bool kIsOperand = std::same_as<P, Tensor> || std::same_as<P, std::span<const Tensor>>;

/// Where the value of a parameter of type P is until the call.
template <class P>
using SlotOf = std::conditional_t<kIsOperand<P> || HasFields<P>, P,
                                  std::optional<std::conditional_t<std::same_as<P, std::string_view>, std::string, P>>>;

inline std::vector<Tensor> tensors_of(Tensor tensor) { return {tensor}; }
inline std::vector<Tensor> tensors_of(ValuesAndIndices both) { return {both.values, both.indices}; }
inline std::vector<Tensor> tensors_of(IndicesAndCount both) { return {both.indices, both.count}; }
inline std::vector<Tensor> tensors_of(UniqueResults all) {
  return {all.values, all.inverse, all.counts, all.first_indices, all.count};
}
inline std::vector<Tensor> tensors_of(std::vector<Tensor> tensors) { return tensors; }

template <class Result>
constexpr std::string_view results_text() {
  if constexpr (std::same_as<Result, Tensor>) return "%r";
  if constexpr (std::same_as<Result, UniqueResults>) return "%r0, %r1, %r2, %r3, %r4";
  const bool are_two = std::same_as<Result, ValuesAndIndices> || std::same_as<Result, IndicesAndCount>;
  return are_two ? "%r0, %r1" : "%r0, ...";
}

template <class R, class... P>
class CompositeCall {
 public:
  static constexpr OperandCount kOperands = {
      (std::size_t{kIsOperand<P>} + ... + 0),
      (std::same_as<P, std::span<const Tensor>> || ...) ? SIZE_MAX : (std::size_t{kIsOperand<P>} + ... + 0)};
  static constexpr std::string_view kResults = results_text<R>();

  /// `names`: those of the parameters that are neither tensors nor structs.
  explicit CompositeCall(std::span<const std::string_view> names) : names_(names) {}

  void take(std::span<const Tensor> operands) { take(operands, std::index_sequence_for<P...>{}); }

  template <class V>
  void visit(V&& v) {
    visit(v, std::index_sequence_for<P...>{});
  }

  /// Fails if a parameter without a default was left out.
  template <class F>
  Result<std::vector<Tensor>> call(F function) {
    return call_with<sizeof...(P)>(function);
  }

 private:
  template <std::size_t I>
  using Parameter = std::tuple_element_t<I, std::tuple<P...>>;
  template <std::size_t I>
  static constexpr bool kIsSetting = !kIsOperand<Parameter<I>> && !HasFields<Parameter<I>>;

  template <std::size_t... I>
  void take(std::span<const Tensor> operands, std::index_sequence<I...>) {
    const auto set = [&]<class T>(T& slot) {
      if constexpr (std::same_as<T, Tensor>) {
        slot = operands.front();
        operands = operands.subspan(1);
      } else if constexpr (std::same_as<T, std::span<const Tensor>>) {
        slot = operands;
      }
    };
    (set(std::get<I>(slots_)), ...);
  }

  template <class V, std::size_t... I>
  void visit(V& v, std::index_sequence<I...>) {
    std::size_t next = 0;
    const auto show = [&]<std::size_t kIndex>(auto& slot) {
      if constexpr (kIsSetting<kIndex>) {
        v(names_[next++], slot);
      } else if constexpr (!kIsOperand<Parameter<kIndex>>) {
        slot.visit(v);
      }
    };
    (show.template operator()<I>(std::get<I>(slots_)), ...);
  }

  /// Whether F takes the first parameters alone.
  template <class F, std::size_t... I>
  static constexpr bool takes(std::index_sequence<I...>) {
    return std::invocable<F, Parameter<I>...>;
  }

  template <std::size_t kCount, class F>
  Result<std::vector<Tensor>> call_with(F function) {
    if constexpr (kCount > 0 && kIsSetting<kCount - 1>) {
      if constexpr (takes<F>(std::make_index_sequence<kCount - 1>{})) {
        if (!std::get<kCount - 1>(slots_)) return call_with<kCount - 1>(function);
      }
    }
    return call_first(function, std::make_index_sequence<kCount>{});
  }

  template <class F, std::size_t... I>
  Result<std::vector<Tensor>> call_first(F function, std::index_sequence<I...>) {
    std::size_t next = 0;
    std::string_view missing;
    const auto look = [&]<std::size_t kIndex>(const auto& slot) {
      if constexpr (kIsSetting<kIndex>) {
        if (!slot && missing.empty()) missing = names_[next];
        ++next;
      }
    };
    (look.template operator()<I>(std::get<I>(slots_)), ...);
    if (!missing.empty()) return invalid_argument(fmt::format("expected {}; give it in braces", missing));
    return tensors_of(function(argument<I>()...));
  }

  template <std::size_t I>
  Parameter<I> argument() {
    if constexpr (kIsSetting<I>) {
      return *std::get<I>(slots_);
    } else {
      return std::get<I>(slots_);
    }
  }

  std::span<const std::string_view> names_;
  std::tuple<SlotOf<P>...> slots_;
};

template <class Function>
struct CallOfFunction;
template <class R, class... P>
struct CallOfFunction<R (*)(P...)> {
  using Type = CompositeCall<R, P...>;
};

}  // namespace millrace
