// SPDX-License-Identifier: Apache-2.0
// After a failed run, finds the index that was out of range, and names the node and the operand that it belongs to.
#include "graph/run/index_checks.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "graph/run/symbols.h"

namespace millrace {
namespace {

struct WrongIndex {
  std::size_t position = 0;  // in row-major order
  std::int64_t index = 0;
};

template <class T>
std::optional<WrongIndex> find_wrong(std::span<const std::byte> bytes, std::int64_t extent) {
  for (std::size_t i = 0; i < bytes.size() / sizeof(T); ++i) {
    T index;
    std::memcpy(&index, bytes.data() + i * sizeof index, sizeof index);
    if (index < -extent || index >= extent) return WrongIndex{i, index};
  }
  return {};
}

/// "[1, 3]", the position as one index per dim.
std::string position_text(const Shape& shape, std::size_t position) {
  std::string text;
  for (std::size_t d = shape.rank(); d-- > 0;) {
    const auto extent = static_cast<std::size_t>(shape[d].constant());
    text = fmt::format("{}{}{}", position % extent, text.empty() ? "" : ", ", text);
    position /= extent;
  }
  return "[" + text + "]";
}

/// One check in one run, with numbers in place of symbols.
class BoundCheck {
 public:
  BoundCheck(const IndexCheck& check, const SymbolValues& values)
      : check_(check),
        values_(values),
        indices_type_(bind_type(check.indices_type, values).value()),
        from_type_(bind_type(check.from_type, values).value()) {}

  std::optional<WrongIndex> find(std::span<const std::byte> bytes) const {
    return indices_type_.dtype == DType::kI32 ? find_wrong<std::int32_t>(bytes, extent())
                                              : find_wrong<std::int64_t>(bytes, extent());
  }

  /// The message. If the indices cannot be read, `wrong` is empty, and the message says only that one of them is wrong.
  std::string text(const std::optional<WrongIndex>& wrong) const {
    if (!check_.explanation.empty()) return fmt::format("{}: {}", check_.node, explanation());
    const std::string which =
        wrong ? fmt::format("index {} at {}", wrong->index, position_text(indices_type_.shape, wrong->position))
              : "an index";
    const std::string remedy = extent() == 0 ? "the axis is empty, so no index is valid"
                                             : fmt::format("give {} to {}", -extent(), extent() - 1);
    return fmt::format("{}: {} of operand 1, {} of {}, is outside axis {} of operand 0, {} of {}; {}", check_.node,
                       which, check_.indices, indices_type_.to_text(), check_.axis, check_.from, from_type_.to_text(),
                       remedy);
  }

 private:
  std::int64_t extent() const { return from_type_.shape[check_.axis].constant(); }

  /// The check's explanation. Its remedy follows the last semicolon; the values of symbols are inserted before that.
  std::string explanation() const {
    std::vector<SizeExpr> sizes = check_.from_type.shape.dims();
    sizes.insert(sizes.end(), check_.indices_type.shape.dims().begin(), check_.indices_type.shape.dims().end());
    std::string text = check_.explanation;
    return text.insert(std::min(text.rfind("; "), text.size()), values_text(sizes, values_));
  }

  const IndexCheck& check_;
  const SymbolValues& values_;
  TensorType indices_type_, from_type_;
};

/// The bytes at a place: in the host's memory, or copied to `copy`; empty if the device cannot read them.
std::optional<std::span<const std::byte>> bytes_at(const IndexCheck::Place& place,
                                                   std::span<const BufferBinding> bindings, Device& device,
                                                   std::vector<std::byte>& copy) {
  const BufferBinding& binding = bindings[place.binding];
  const std::size_t size = place.size_bytes.value_or(binding.size_bytes - place.offset_bytes);
  if (binding.buffer == nullptr) {
    return std::span(static_cast<const std::byte*>(binding.data) + place.offset_bytes, size);
  }
  copy.resize(size);
  if (!device.read_back(*binding.buffer, binding.offset_bytes + place.offset_bytes, copy).ok()) return {};
  return copy;
}

}  // namespace

std::string describe_wrong_index(const std::vector<IndexCheck>& checks, const SymbolValues& values,
                                 std::span<const BufferBinding> bindings, Device& device) {
  std::string unknown;  // the messages of checks whose indices cannot be read
  for (const IndexCheck& check : checks) {
    const BoundCheck bound(check, values);
    std::vector<std::byte> copy;
    std::optional<std::span<const std::byte>> bytes;
    if (check.place) bytes = bytes_at(*check.place, bindings, device, copy);
    if (!bytes) {
      unknown += (unknown.empty() ? "" : "; or ") + bound.text({});
      continue;
    }
    if (const std::optional<WrongIndex> wrong = bound.find(*bytes)) return bound.text(wrong);
  }
  return unknown.empty() ? BoundCheck(checks.front(), values).text({}) : unknown;
}

}  // namespace millrace
