// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "millrace/hal/command_list.h"

// Names of commands and their parts in text and messages. None of these functions needs a valid list: an index out of
// range prints as '?' and the index.

namespace millrace {

/// "input", "output", "constant", "transient".
std::string_view to_text(BindingKind);

/// "output 'y'".
std::string describe(const CommandList&, BindingIndex);
/// "command 2 (dispatch 'add')".
std::string describe_command(const CommandList&, CommandId);

/// Prints the sizes of a list: the expressions, or their values if a submission has evaluated them.
class SizeText {
 public:
  explicit SizeText(const CommandList& list, std::span<const std::int64_t> values = {})
      : list_(list), values_(values) {}
  std::string operator()(SizeIndex) const;
  /// "[64, 128)", in bytes of the binding.
  std::string interval(const BufferRange&) const;
  /// "[64, 128) by 16 of 32": rows of 16 bytes, one every 32 bytes. If rows are nested, the outermost come first.
  std::string interval(const TouchedRange&) const;

 private:
  const CommandList& list_;
  std::span<const std::int64_t> values_;
};

/// The command on one line: "copy x[0, 64) -> y[64, 128)".
std::string to_text(const CommandList&, const Command&, const SizeText&);

}  // namespace millrace
