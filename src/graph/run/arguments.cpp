// SPDX-License-Identifier: Apache-2.0
// Checks what a caller binds to a run: names, dtypes, extents, sizes and overlaps.
#include "graph/run/arguments.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <tuple>

#include <fmt/format.h>

#include "millrace/base/printable.h"

namespace millrace {
namespace {

/// The type with the sizes that are bound, for a message.
std::string bound_text(const TensorType& type, const SymbolValues& values) {
  const Result<TensorType> bound = bind_type(type, values);
  return bound.ok() ? bound->to_text() : type.to_text();
}

}  // namespace

std::string names_text(std::span<const Argument> arguments) {
  PrintableNames names;
  for (const Argument& argument : arguments) names.add(argument.name);
  return names.text();
}

bool holds_elements(DType given, DType expected) {
  if (given == expected) return true;
  return size_bytes(given) == size_bytes(expected) &&
         (expected == DType::kBool || (is_float(expected) && given == DType::kU16));
}

ArgumentOrder::ArgumentOrder(std::span<const Argument> arguments, const char* what)
    : arguments_(arguments), what_(what), by_name_(arguments.size()), named_(arguments.size()) {
  std::iota(by_name_.begin(), by_name_.end(), std::size_t{0});
  std::ranges::sort(by_name_, {}, [&](std::size_t i) -> std::string_view { return arguments[i].name; });
}

std::size_t ArgumentOrder::find(std::string_view name) const {
  const auto name_of = [&](std::size_t i) -> std::string_view { return arguments_[i].name; };
  const auto found = std::ranges::lower_bound(by_name_, name, {}, name_of);
  return found != by_name_.end() && name_of(*found) == name ? *found : arguments_.size();
}

/// ": 'w' is missing": the arguments without a binding, by name, or by position if the bindings have no names.
std::string ArgumentOrder::missing_text(std::span<const TensorBinding> given) const {
  constexpr std::size_t kMaxShown = 8;
  std::vector<bool> is_given(arguments_.size());
  for (std::size_t i = 0; i < given.size(); ++i) {
    const std::size_t argument = given[i].name.empty() ? i : find(given[i].name);
    if (argument < arguments_.size()) is_given[argument] = true;
  }
  std::string missing;
  std::size_t count = 0;
  for (std::size_t i = 0; i < arguments_.size(); ++i) {
    if (is_given[i] || ++count > kMaxShown) continue;
    missing += fmt::format("{}'{}'", missing.empty() ? "" : ", ", printable(arguments_[i].name));
  }
  if (count == 0) return "";
  if (count > kMaxShown) missing += fmt::format(" and {} more", count - kMaxShown);
  return fmt::format(": {} {} missing", missing, count == 1 ? "is" : "are");
}

Result<std::span<const TensorBinding>> ArgumentOrder::apply(std::span<const TensorBinding> given) {
  if (given.size() != arguments_.size()) {
    return invalid_argument(
        fmt::format("run: {} {}s given, expected {}{}; bind each once, in the program's order or "
                    "by name",
                    given.size(), what_, arguments_.size(), missing_text(given)));
  }
  const auto has_name = [](const TensorBinding& binding) { return !binding.name.empty(); };
  if (std::ranges::none_of(given, has_name)) return given;
  for (TensorBinding& binding : named_) binding.name = {};
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (!has_name(given[i])) {
      return invalid_argument(
          fmt::format("run: {} {} has no name, but others have one; bind all {}s by name, or all in the program's "
                      "order",
                      what_, i, what_));
    }
    const std::size_t argument = find(given[i].name);
    if (argument == arguments_.size()) {
      return not_found(fmt::format("run: the program has no {} '{}'; it has: {}", what_, printable(given[i].name),
                                   names_text(arguments_)));
    }
    if (has_name(named_[argument])) {
      return invalid_argument(
          fmt::format("run: {} '{}' is bound twice; bind each once", what_, printable(given[i].name)));
    }
    named_[argument] = given[i];
  }
  return named_;
}

Result<Extents> extents_of(const TensorBinding& given, const Argument& input) {
  if (given.has_extents) return given.extents;
  std::array<std::int64_t, kMaxRank> extents{};
  const Shape& shape = input.type.shape;
  for (std::size_t d = 0; d < shape.rank(); ++d) {
    if (!shape[d].is_constant()) {
      return invalid_argument(fmt::format("input '{}' has no extents, expected extents for {}; say bind(x, {{...}})",
                                          printable(input.name), input.type.to_text()));
    }
    extents[d] = shape[d].constant();
  }
  return Extents(std::span(extents.data(), shape.rank()));
}

Status check_dtype(const TensorBinding& given, const Argument& argument, const char* what) {
  const DType expected = argument.type.dtype;
  if (!given.dtype || holds_elements(*given.dtype, expected)) return {};
  return invalid_argument(
      fmt::format("run: {} '{}' is bound to elements of {}, expected {} for {}; bind elements of that dtype", what,
                  printable(argument.name), to_text(*given.dtype), to_text(expected), argument.type.to_text()));
}

Status check_writable(const TensorBinding& given, const Argument& output) {
  if (!given.is_const) return {};
  return invalid_argument(
      fmt::format("run: output '{}' is bound to const elements, expected writable ones; bind memory that is not const",
                  printable(output.name)));
}

Status check_memory(const BufferBinding& given, std::int64_t expected_bytes, const Argument& argument, const char* what,
                    const SymbolValues& values) {
  if (given.size_bytes != static_cast<std::uint64_t>(expected_bytes)) {
    return invalid_argument(fmt::format("run: {} '{}' has {} bytes, expected {} for {}; bind the whole tensor", what,
                                        printable(argument.name), given.size_bytes, expected_bytes,
                                        bound_text(argument.type, values)));
  }
  if (expected_bytes == 0) return {};
  if (given.buffer == nullptr && given.data == nullptr) {
    return invalid_argument(fmt::format("run: {} '{}' is null, expected {} bytes for {}; bind memory", what,
                                        printable(argument.name), expected_bytes, bound_text(argument.type, values)));
  }
  const std::size_t alignment = size_bytes(argument.type.dtype);
  const std::uintptr_t address =
      given.buffer == nullptr ? reinterpret_cast<std::uintptr_t>(given.data)
                              : reinterpret_cast<std::uintptr_t>(given.buffer->host_address()) + given.offset_bytes;
  if (address % alignment != 0) {
    return invalid_argument(fmt::format("run: {} '{}' is not aligned to {} bytes, as {} needs; bind aligned memory",
                                        what, printable(argument.name), alignment, to_text(argument.type.dtype)));
  }
  return {};
}

Status check_output_extents(const TensorBinding& given, const Argument& output, const SymbolValues& values) {
  bool agrees = given.extents.rank() == output.type.shape.rank();
  for (std::size_t d = 0; agrees && d < given.extents.rank(); ++d) {
    MILLRACE_TRY_ASSIGN(const std::int64_t extent, output.type.shape[d].evaluate(values));
    agrees = given.extents[d] == extent;
  }
  if (agrees) return {};
  return invalid_argument(fmt::format("run: output '{}' has wrong extents, expected {}; output_types() returns them",
                                      printable(output.name), bound_text(output.type, values)));
}

inline OverlapCheck::ByteSpan OverlapCheck::span_of(const BufferBinding& memory, bool is_output) {
  const void* base = memory.buffer == nullptr ? memory.data : memory.buffer->host_address();
  const bool is_opaque = memory.buffer != nullptr && base == nullptr;
  const std::uintptr_t begin = reinterpret_cast<std::uintptr_t>(base) + memory.offset_bytes;
  return {is_opaque ? memory.buffer : nullptr, begin, begin + memory.size_bytes, is_output};
}

/// O(arguments * log(arguments)); for few arguments it is quadratic, because that is faster.
bool OverlapCheck::have_overlaps(std::span<const BufferBinding> memory, std::size_t num_inputs) {
  constexpr std::size_t kFew = 16;
  const bool are_few = memory.size() <= kFew;
  std::size_t count = 0;
  for (std::size_t i = 0; i < memory.size(); ++i) {
    if (memory[i].size_bytes == 0) continue;
    const ByteSpan span = span_of(memory[i], i >= num_inputs);
    for (std::size_t j = 0; are_few && j < count; ++j) {
      if ((span.is_output || spans_[j].is_output) && span.meets(spans_[j])) return true;
    }
    spans_[count++] = span;
  }
  return !are_few && have_overlaps(std::span(spans_).first(count));
}

bool OverlapCheck::have_overlaps(std::span<ByteSpan> spans) {
  std::ranges::sort(spans, [](const ByteSpan& a, const ByteSpan& b) {
    return a.opaque != b.opaque ? std::less<>()(a.opaque, b.opaque) : a.begin < b.begin;
  });
  std::uintptr_t end_of_all = 0, end_of_outputs = 0;
  const Buffer* space = nullptr;
  for (const ByteSpan& span : spans) {
    if (span.opaque != space) end_of_all = end_of_outputs = 0;
    space = span.opaque;
    if (span.begin < (span.is_output ? end_of_all : end_of_outputs)) return true;
    end_of_all = std::max(end_of_all, span.end);
    if (span.is_output) end_of_outputs = std::max(end_of_outputs, span.end);
  }
  return false;
}

Status OverlapCheck::check(std::span<const BufferBinding> memory, std::span<const Argument> inputs,
                           std::span<const Argument> outputs) {
  if (!have_overlaps(memory, inputs.size())) return {};
  const auto name = [&](std::size_t i) {
    return i < inputs.size() ? fmt::format("input '{}'", printable(inputs[i].name))
                             : fmt::format("output '{}'", printable(outputs[i - inputs.size()].name));
  };
  for (std::size_t i = inputs.size(); i < memory.size(); ++i) {
    for (std::size_t other = 0; other < i; ++other) {
      const bool both = memory[i].size_bytes > 0 && memory[other].size_bytes > 0;
      if (both && span_of(memory[i], true).meets(span_of(memory[other], true))) {
        return invalid_argument(fmt::format("run: {} shares memory with {}; give it its own", name(i), name(other)));
      }
    }
  }
  return {};
}

}  // namespace millrace
