// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "graph/run/symbols.h"
#include "millrace/graph/binding.h"

// The checks of a run's arguments before anything executes. Messages begin with "run: ", except those of extents_of.

namespace millrace {

/// The names as "a, b"; "none" if there are no arguments.
std::string names_text(std::span<const Argument> arguments);

/// Whether memory with elements of `given` may hold elements of `expected`: 16-bit floats may be passed as u16, and
/// bools as any one-byte type.
bool holds_elements(DType given, DType expected);

/// Puts the bindings of each run into the order of a program's inputs, or of its outputs.
class ArgumentOrder {
 public:
  /// `arguments` must outlive this. `what`: "input" or "output", for messages.
  ArgumentOrder(std::span<const Argument> arguments, const char* what);
  /// Puts bindings that have names into the order of the arguments, in a span that is valid until the next call.
  /// Returns bindings without names unchanged. Fails unless every argument is bound exactly once. O(arguments *
  /// log(arguments)), and allocates nothing unless it fails.
  Result<std::span<const TensorBinding>> apply(std::span<const TensorBinding> given);

 private:
  std::string missing_text(std::span<const TensorBinding> given) const;
  /// Returns the number of arguments if none has the name.
  std::size_t find(std::string_view name) const;

  std::span<const Argument> arguments_;
  const char* what_;
  std::vector<std::size_t> by_name_;  // the arguments' indices, sorted by name
  std::vector<TensorBinding> named_;
};

/// The extents that the caller gave; if there are none, the extents of the type, which then must have no symbols.
Result<Extents> extents_of(const TensorBinding&, const Argument& input);

/// Checks the dtype. 16-bit floats may be passed as u16, and bools as any one-byte type.
Status check_dtype(const TensorBinding&, const Argument&, const char* what);

/// Checks that the C++ type bound to an output is not const.
Status check_writable(const TensorBinding&, const Argument& output);

/// Checks the number of bytes, the alignment, and that the address is not null.
Status check_memory(const BufferBinding&, std::int64_t expected_bytes, const Argument&, const char* what,
                    const SymbolValues&);

/// Checks the extents that the caller gave against the output's type. Precondition: given.has_extents.
Status check_output_extents(const TensorBinding&, const Argument& output, const SymbolValues&);

/// Checks that arguments do not share memory: inputs are only read and every output is written, so no output may share
/// bytes with another argument.
class OverlapCheck {
 public:
  explicit OverlapCheck(std::size_t num_arguments) : spans_(num_arguments) {}
  /// `memory` lists the inputs, then the outputs. Allocates nothing if they are disjoint.
  Status check(std::span<const BufferBinding> memory, std::span<const Argument> inputs,
               std::span<const Argument> outputs);

 private:
  /// Bytes [begin, end): host addresses, or offsets in a buffer that the host cannot address.
  struct ByteSpan {
    const Buffer* opaque = nullptr;
    std::uintptr_t begin = 0, end = 0;
    bool is_output = false;

    bool meets(const ByteSpan& other) const { return opaque == other.opaque && begin < other.end && other.begin < end; }
  };
  static ByteSpan span_of(const BufferBinding&, bool is_output);
  bool have_overlaps(std::span<const BufferBinding> memory, std::size_t num_inputs);
  static bool have_overlaps(std::span<ByteSpan>);

  std::vector<ByteSpan> spans_;  // room for one per argument
};

}  // namespace millrace
