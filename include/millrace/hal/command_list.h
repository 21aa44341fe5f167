// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "millrace/base/ids.h"
#include "millrace/base/size_expr.h"
#include "millrace/base/status.h"
#include "millrace/hal/executable.h"

namespace millrace {

enum class SizeIndex : std::uint32_t {};     // in CommandList::sizes
enum class BindingIndex : std::uint32_t {};  // in CommandList::bindings

/// What a binding is to the program that recorded the list.
enum class BindingKind : std::uint8_t { kInput, kOutput, kConstant, kTransient };

/// Where a binding's memory is.
enum class BindingPlace : std::uint8_t {
  kDevice,  // a buffer of the device, or host memory where the device addresses it
  kHost,    // host memory, which uploads read and downloads write
};

/// Memory that each submission provides. Inputs and constants are never written.
struct BindingDecl {
  std::string name = {};
  BindingKind kind = BindingKind::kInput;
  SizeIndex size_bytes{};  // what a submission must provide at least
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

/// Fills the range with a repeated byte pattern of 1, 2, 4 or 8 bytes.
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
  BufferRange source = {};  // of a binding of the host's
  BufferRange destination = {};
  friend bool operator==(const UploadCommand&, const UploadCommand&) = default;
};

/// Copies from the device to the host; the lengths are equal.
struct DownloadCommand {
  BufferRange source = {};
  BufferRange destination = {};  // of a binding of the host's
  friend bool operator==(const DownloadCommand&, const DownloadCommand&) = default;
};

struct DispatchCommand {
  KernelIndex kernel{};
  SizeIndex num_groups{};  // 0 runs nothing; at most 2^32 - 1
  std::vector<BufferRange> buffers = {};
  std::vector<SizeIndex> sizes = {};
  friend bool operator==(const DispatchCommand&, const DispatchCommand&) = default;
};

/// Everything before it is finished and visible before anything after it starts.
struct BarrierCommand {
  friend bool operator==(const BarrierCommand&, const BarrierCommand&) = default;
};

using Command = std::variant<FillCommand, CopyCommand, UploadCommand, DownloadCommand, DispatchCommand, BarrierCommand>;

/// Commands as data. Commands between two barriers may run in any order or at once.
/// Sizes are expressions that a submission's caller evaluates once when symbols are bound.
struct CommandList {
  IdVector<SizeIndex, SizeExpr> sizes;
  IdVector<BindingIndex, BindingDecl> bindings;
  IdVector<KernelIndex, KernelInfo> kernels;  // what dispatches index; the same table as the executable's
  std::vector<Command> commands;

  /// The index of an equal expression, or of a new one.
  SizeIndex add_size(const SizeExpr&);
};

/// Every broken rule, one a line: indices in range, argument counts as the kernel's, constant ranges inside their
/// bindings, no write to an input or constant, and no two commands without a barrier between them of which one writes
/// what the other touches.
Status validate(const CommandList&);

/// One command a line, with names and sizes.
std::string to_text(const CommandList&);

}  // namespace millrace
