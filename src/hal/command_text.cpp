// SPDX-License-Identifier: Apache-2.0
// Prints command lists, and names commands in the messages of checks, devices and traces.
#include "hal/command_text.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

namespace millrace {
namespace {

std::string binding_name(const CommandList& list, BindingIndex binding) {
  if (!list.bindings.contains(binding)) return fmt::format("?{}", index_of(binding));
  const std::string& name = list.bindings[binding].name;
  return name.empty() ? fmt::format("%{}", index_of(binding)) : name;
}

std::string kernel_name(const CommandList& list, const DispatchCommand& dispatch) {
  const bool is_known = list.kernels.contains(dispatch.kernel);
  return labelled(is_known ? list.kernels[dispatch.kernel].name : fmt::format("?{}", index_of(dispatch.kernel)),
                  dispatch.label);
}

std::int64_t saturating_add(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return a < 0 ? std::numeric_limits<std::int64_t>::min() : std::numeric_limits<std::int64_t>::max();
}

struct CommandText {
  const CommandList& list;
  const SizeText& size;

  std::string range(const BufferRange& r) const { return binding_name(list, r.binding) + size.interval(r); }

  std::string operator()(const FillCommand& fill) const {
    const std::uint32_t digits = 2 * std::min(fill.pattern_bytes, 8u);
    return fmt::format("fill {} with 0x{:0{}x}", range(fill.destination), fill.pattern, digits);
  }
  std::string operator()(const CopyCommand& copy) const {
    return fmt::format("copy {} -> {}", range(copy.source), range(copy.destination));
  }
  std::string operator()(const UploadCommand& upload) const {
    return fmt::format("upload {} -> {}", range(upload.source), range(upload.destination));
  }
  std::string operator()(const DownloadCommand& download) const {
    return fmt::format("download {} -> {}", range(download.source), range(download.destination));
  }
  std::string operator()(const DispatchCommand& dispatch) const {
    const auto* info = list.kernels.contains(dispatch.kernel) ? &list.kernels[dispatch.kernel] : nullptr;
    std::string text = fmt::format("dispatch {} groups {}", kernel_name(list, dispatch), size(dispatch.num_groups));
    for (std::size_t i = 0; i < dispatch.buffers.size(); ++i) {
      const bool writes = info != nullptr && i < info->buffer_is_written.size() && info->buffer_is_written[i];
      text += fmt::format("{} {}{}", i == 0 ? ":" : ",", writes ? "write " : "", range(dispatch.buffers[i]));
      const bool is_part = i < dispatch.touched.size() && dispatch.touched[i] != dispatch.buffers[i];
      if (is_part) text += " at " + size.interval(dispatch.touched[i]);
    }
    for (std::size_t i = 0; i < dispatch.sizes.size(); ++i) {
      text += fmt::format("{} {}", i == 0 ? "; sizes" : ",", size(dispatch.sizes[i]));
    }
    return text;
  }
  std::string operator()(const BarrierCommand&) const { return "barrier"; }
  std::string operator()(const LoopCommand& loop) const { return "loop while " + range(loop.condition); }
  std::string operator()(const CondCommand& cond) const { return "if " + range(cond.condition); }
};

struct CommandName {
  const CommandList& list;
  std::string operator()(const FillCommand&) const { return "fill"; }
  std::string operator()(const CopyCommand&) const { return "copy"; }
  std::string operator()(const UploadCommand&) const { return "upload"; }
  std::string operator()(const DownloadCommand&) const { return "download"; }
  std::string operator()(const DispatchCommand& dispatch) const {
    return fmt::format("dispatch '{}'", kernel_name(list, dispatch));
  }
  std::string operator()(const BarrierCommand&) const { return "barrier"; }
  std::string operator()(const LoopCommand&) const { return "loop"; }
  std::string operator()(const CondCommand&) const { return "if"; }
};

void append_lines(const CommandList& list, const std::vector<Command>& commands, const SizeText& size,
                  const std::string& indent, std::string& text) {
  for (const Command& command : commands) {
    text += indent + to_text(list, command, size) + "\n";
    const std::vector<const CommandBlock*> blocks = blocks_of(command);
    for (const CommandBlock* block : blocks) {
      if (block != blocks.front()) text += indent + "else\n";
      append_lines(list, block->commands, size, indent + "  ", text);
    }
  }
}

}  // namespace

std::string labelled(std::string_view kernel, std::string_view label) {
  return label.empty() ? std::string(kernel) : fmt::format("{} ({})", kernel, label);
}

std::string_view to_text(BindingKind kind) {
  switch (kind) {
    case BindingKind::kInput:
      return "input";
    case BindingKind::kOutput:
      return "output";
    case BindingKind::kConstant:
      return "constant";
    case BindingKind::kVariable:
      return "variable";
    case BindingKind::kTransient:
      return "transient";
  }
  return "unknown";
}

std::string describe(const CommandList& list, BindingIndex binding) {
  const std::string_view kind = list.bindings.contains(binding) ? to_text(list.bindings[binding].kind) : "binding";
  return fmt::format("{} '{}'", kind, binding_name(list, binding));
}

std::string describe_command(const CommandList& list, CommandId command) {
  std::string text;
  visit_commands(list, [&](CommandId id, const Command& found) {
    if (id == command) text = fmt::format("command {} ({})", index_of(id), std::visit(CommandName{list}, found));
  });
  return text;
}

std::string SizeText::operator()(SizeIndex index) const {
  if (!list_.sizes.contains(index)) return fmt::format("?{}", index_of(index));
  if (index_of(index) < values_.size()) return fmt::format("{}", values_[index_of(index)]);
  return list_.sizes[index].to_text();
}

std::string SizeText::interval(const BufferRange& range) const {
  const bool known = list_.sizes.contains(range.offset_bytes) && list_.sizes.contains(range.length_bytes);
  if (!known) return fmt::format("[{}, +{})", (*this)(range.offset_bytes), (*this)(range.length_bytes));
  const std::size_t offset = index_of(range.offset_bytes);
  const std::size_t length = index_of(range.length_bytes);
  const bool evaluated = offset < values_.size() && length < values_.size();
  const std::string end = evaluated ? fmt::format("{}", saturating_add(values_[offset], values_[length]))
                                    : (list_.sizes[range.offset_bytes] + list_.sizes[range.length_bytes]).to_text();
  return fmt::format("[{}, {})", (*this)(range.offset_bytes), end);
}

std::string SizeText::interval(const TouchedRange& touched) const {
  std::string text = interval(touched.range);
  for (const auto& [pitch, row] : touched.rows) text += fmt::format(" by {} of {}", (*this)(row), (*this)(pitch));
  return text;
}

std::string to_text(const CommandList& list, const Command& command, const SizeText& size) {
  return std::visit(CommandText{list, size}, command);
}

std::string to_text(const CommandList& list) {
  const SizeText size(list);
  std::string text;
  for (std::uint32_t i = 0; i < list.bindings.size(); ++i) {
    const BindingIndex index{i};
    const BindingDecl& binding = list.bindings[index];
    text += fmt::format("{} {}: {} bytes{}\n", to_text(binding.kind), binding_name(list, index),
                        size(binding.size_bytes), binding.place == BindingPlace::kHost ? " of the host" : "");
  }
  append_lines(list, list.commands, size, "", text);
  return text;
}

}  // namespace millrace
