// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "millrace/base/ids.h"
#include "millrace/base/size_expr.h"
#include "millrace/base/status.h"
#include "millrace/hal/executable.h"

namespace millrace {

enum class SizeIndex : std::uint32_t {};     // index in CommandList::sizes
enum class BindingIndex : std::uint32_t {};  // index in CommandList::bindings

/// The index of a command in its list. The commands inside a loop or a condition are numbered too, right after the
/// command that holds them. Ids can therefore exceed the size of CommandList::commands: CommandList::num_commands()
/// counts all.
enum class CommandId : std::uint32_t {};

/// The role of a binding in the program that recorded the list.
enum class BindingKind : std::uint8_t { kInput, kOutput, kConstant, kTransient, kVariable };

/// Where a binding's memory is.
enum class BindingPlace : std::uint8_t {
  kDevice,  // a buffer of the device, or host memory if the device can address it
  kHost,    // host memory, which uploads read and downloads write
};

/// Memory that each submission provides. Inputs and constants are never written. Transients may share bytes. Variables
/// keep what one submission writes for the next one.
struct BindingDecl {
  std::string name = {};
  BindingKind kind = BindingKind::kInput;
  SizeIndex size_bytes{};  // the minimum that a submission must provide
  BindingPlace place = BindingPlace::kDevice;
  friend bool operator==(const BindingDecl&, const BindingDecl&) = default;
};

/// Bytes [offset, offset + length) of a binding.
struct BufferRange {
  BindingIndex binding{};
  SizeIndex offset_bytes{};
  SizeIndex length_bytes{};
  friend bool operator==(const BufferRange&, const BufferRange&) = default;
};

/// The bytes of a range that a kernel touches: all of them, or, starting at its first byte, the first `row_bytes` of
/// every `pitch_bytes`. A row may have rows of its own, and so on; the outermost come first.
struct TouchedRange {
  struct Rows {
    SizeIndex pitch_bytes{}, row_bytes{};
    friend bool operator==(const Rows&, const Rows&) = default;
  };
  BufferRange range = {};
  std::vector<Rows> rows = {};

  TouchedRange() = default;
  TouchedRange(const BufferRange& all) : range(all) {}
  friend bool operator==(const TouchedRange&, const TouchedRange&) = default;
};

/// Fills the range with a repeated pattern of 1, 2, 4 or 8 bytes.
struct FillCommand {
  BufferRange destination = {};
  std::uint64_t pattern = 0;
  std::uint32_t pattern_bytes = 1;
  friend bool operator==(const FillCommand&, const FillCommand&) = default;
};

/// Copies on the device; the lengths are equal and the ranges do not overlap.
struct CopyCommand {
  BufferRange source = {};
  BufferRange destination = {};
  friend bool operator==(const CopyCommand&, const CopyCommand&) = default;
};

/// Copies from the host to the device; the lengths are equal.
struct UploadCommand {
  BufferRange source = {};  // in a host binding
  BufferRange destination = {};
  friend bool operator==(const UploadCommand&, const UploadCommand&) = default;
};

/// Copies from the device to the host; the lengths are equal.
struct DownloadCommand {
  BufferRange source = {};
  BufferRange destination = {};  // in a host binding
  friend bool operator==(const DownloadCommand&, const DownloadCommand&) = default;
};

struct DispatchCommand {
  KernelIndex kernel{};
  SizeIndex num_groups{};                 // 0 runs nothing; at most 2^32 - 1
  std::vector<BufferRange> buffers = {};  // the kernel's arguments
  std::vector<SizeIndex> sizes = {};
  std::vector<TouchedRange> touched = {};  // within each buffer; empty: possibly all of each buffer
  std::string label = {};                  // for people: "layer3/q"; may be empty
  friend bool operator==(const DispatchCommand&, const DispatchCommand&) = default;
};

/// "exp_0 (layer3/q)": a kernel's name and the label of its dispatch; only the name if the label is empty.
std::string labelled(std::string_view kernel, std::string_view label);

/// Before any command after the barrier starts, all commands before it have finished and their writes are visible.
struct BarrierCommand {
  friend bool operator==(const BarrierCommand&, const BarrierCommand&) = default;
};

struct CommandBlock;  // below

/// Runs a block for as long as the byte at `condition` is not 0. The host reads the byte before each iteration.
struct LoopCommand {
  BufferRange condition = {};
  std::shared_ptr<const CommandBlock> body = {};
  friend bool operator==(const LoopCommand&, const LoopCommand&);
};

/// Runs one of two blocks: the first if the byte at `condition` is not 0, otherwise the second. The host reads the
/// byte.
struct CondCommand {
  BufferRange condition = {};
  std::shared_ptr<const CommandBlock> if_true = {}, if_false = {};
  friend bool operator==(const CondCommand&, const CondCommand&);
};

using Command = std::variant<FillCommand, CopyCommand, UploadCommand, DownloadCommand, DispatchCommand, BarrierCommand,
                             LoopCommand, CondCommand>;

/// The commands inside a loop or a condition. They use the sizes, bindings and kernels of the list that contains it.
struct CommandBlock {
  std::vector<Command> commands;
  friend bool operator==(const CommandBlock&, const CommandBlock&) = default;
};

/// Commands as data. Commands between two barriers may run in any order, or at the same time. A loop or a condition
/// counts as one command; the commands inside it begin after the host has decided. Messages and reports identify a
/// command by its CommandId. Sizes are expressions; the caller evaluates them when it binds symbols, and passes the
/// values to each submission.
struct CommandList {
  IdVector<SizeIndex, SizeExpr> sizes;
  IdVector<BindingIndex, BindingDecl> bindings;
  IdVector<KernelIndex, KernelInfo> kernels;  // indexed by dispatches; equal to the executable's table
  std::vector<Command> commands;
  /// The id of the first command: 0, unless a device cut this list out of a longer one, whose ids the commands keep.
  CommandId first_command{};

  /// The number of commands, including those in blocks. A vector with one element per CommandId has this size.
  /// O(commands).
  std::uint32_t num_commands() const;
  /// Returns the index of an equal expression, or adds a new one. O(sizes).
  SizeIndex add_size(const SizeExpr&);
};

/// The blocks of a loop or a condition; empty for other commands.
std::vector<const CommandBlock*> blocks_of(const Command&);

/// Calls visit(id, command) for each command, in the order of their ids. `id` is the id of the first command. Returns
/// the id after the last one.
template <class Visit>
CommandId visit_commands(const std::vector<Command>& commands, CommandId id, Visit&& visit) {
  for (const Command& command : commands) {
    visit(id, command);
    id = next_id(id);
    for (const CommandBlock* block : blocks_of(command)) id = visit_commands(block->commands, id, visit);
  }
  return id;
}
/// Visits all commands of a list.
template <class Visit>
CommandId visit_commands(const CommandList& list, Visit&& visit) {
  return visit_commands(list.commands, list.first_command, visit);
}

/// Checks these invariants. Fails with kInvalidArgument and one line per failure. If sizes are symbolic, reports only
/// errors that occur for every binding of the symbols; each submission checks the rest.
/// * Indices of sizes, bindings and kernels exist; lengths and offsets are not negative; ranges are inside their
/// bindings.
/// * A pattern has 1, 2, 4 or 8 bytes, its value fits, and it divides the length that it fills.
/// * The two ranges of a copy have equal lengths and do not overlap.
/// * Uploads read host bindings, and downloads write them; all other accesses are to device bindings.
/// * Inputs and constants are not written.
/// * A dispatch has as many buffers and sizes as its kernel, and at most 2^32 - 1 threads in all.
/// * A dispatch states the touched bytes for all of its buffers or for none; they are within these buffers.
/// * Two commands without a barrier between them touch the same bytes only if both read them.
/// * A condition is one byte. Loops and conditions have their blocks, for which all of these rules hold too.
Status validate(const CommandList&);

/// One command per line, with names and sizes.
std::string to_text(const CommandList&);

}  // namespace millrace
