// SPDX-License-Identifier: Apache-2.0
// validate(CommandList): collects every broken rule that command_list.h lists.
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/guard_allocations.h"
#include "base/verification.h"
#include "hal/checks/access.h"
#include "hal/checks/hazards.h"
#include "hal/command_text.h"
#include "hal/group_limit.h"
#include "millrace/hal/command_list.h"

namespace millrace {
namespace {

/// The place that a message begins with. Its text is built only when a message is needed.
class Where {
 public:
  Where(const CommandList& list, BindingIndex binding) : list_(list), binding_(binding) {}
  Where(const CommandList& list, CommandId command, const RangeAccess* access = nullptr)
      : list_(list), command_(command), access_(access) {}

  std::string operator()() const {
    if (binding_) return fmt::format("binding {} ({})", index_of(*binding_), describe(list_, *binding_));
    const std::string command = describe_command(list_, command_);
    return access_ == nullptr ? command : fmt::format("{} {}", command, to_text(*access_));
  }

 private:
  const CommandList& list_;
  std::optional<BindingIndex> binding_;
  CommandId command_{};
  const RangeAccess* access_ = nullptr;
};

/// Collects every broken rule of a list; hazards.cpp finds hazards between commands.
class Validator {
 public:
  explicit Validator(const CommandList& list) : list_(list), size_(list) {}

  std::vector<std::string> run() {
    for (std::uint32_t i = 0; i < list_.bindings.size(); ++i) check_binding(BindingIndex{i});
    for (std::uint32_t i = 0; i < list_.kernels.size(); ++i) check_kernel(KernelIndex{i});
    visit_commands(list_, [&](CommandId id, const Command& command) { check_command(id, command); });
    find_hazards(list_, lines_);
    return std::move(lines_);
  }

 private:
  template <class... Args>
  void broken(fmt::format_string<Args...> format, Args&&... args) {
    lines_.push_back(fmt::format(format, std::forward<Args>(args)...));
  }

  /// True if the list has this size, and the size is below `minimum` for all values of the symbols.
  bool is_below(SizeIndex index, std::int64_t minimum) const {
    return list_.sizes.contains(index) && list_.sizes[index].upper_bound() < minimum;
  }

  bool check_size_index(SizeIndex index, const Where& where, std::string_view what) {
    if (list_.sizes.contains(index)) return true;
    broken("{}: {} is size {}, expected less than {}", where(), what, index_of(index), list_.sizes.size());
    return false;
  }

  void check_binding(BindingIndex index) {
    const SizeIndex size = list_.bindings[index].size_bytes;
    const Where where(list_, index);
    if (!check_size_index(size, where, "its length")) return;
    if (is_below(size, 0)) broken("{}: {} bytes, expected at least 0", where(), size_(size));
  }

  void check_kernel(KernelIndex index) {
    const KernelInfo& info = list_.kernels[index];
    if (info.buffer_is_written.size() != info.num_buffers) {
      broken("kernel {} ('{}'): buffer_is_written has {} entries, expected {} like num_buffers", index_of(index),
             info.name, info.buffer_is_written.size(), info.num_buffers);
    }
  }

  void check_command(CommandId id, const Command& command) {
    const Where where(list_, id);
    if (const auto* fill = std::get_if<FillCommand>(&command)) check_fill(where, *fill);
    if (const auto* copy = std::get_if<CopyCommand>(&command)) check_copy(where, copy->source, copy->destination);
    if (const auto* upload = std::get_if<UploadCommand>(&command)) {
      check_copy(where, upload->source, upload->destination);
    }
    if (const auto* download = std::get_if<DownloadCommand>(&command)) {
      check_copy(where, download->source, download->destination);
    }
    if (const auto* dispatch = std::get_if<DispatchCommand>(&command)) check_dispatch(where, *dispatch);
    if (const auto* loop = std::get_if<LoopCommand>(&command)) {
      check_condition(where, loop->condition);
      if (loop->body == nullptr) broken("{}: has no body; give it a block", where());
    }
    if (const auto* cond = std::get_if<CondCommand>(&command)) {
      check_condition(where, cond->condition);
      if (cond->if_true == nullptr || cond->if_false == nullptr) broken("{}: lacks a block; give it two", where());
    }
    for (const RangeAccess& access : accesses_of(list_, command)) {
      check_access(Where(list_, id, &access), access);
      check_place(Where(list_, id, &access), command, access);
    }
  }

  /// Checks that only uploads and downloads touch host memory: an upload its source, a download its destination.
  void check_place(const Where& where, const Command& command, const RangeAccess& access) {
    if (!list_.bindings.contains(access.range.binding)) return;
    const bool is_hosts_end = access.writes ? std::holds_alternative<DownloadCommand>(command)
                                            : std::holds_alternative<UploadCommand>(command);
    const BindingPlace place = list_.bindings[access.range.binding].place;
    if ((place == BindingPlace::kHost) == is_hosts_end) return;
    broken("{}: {} is {} memory, expected {} memory", where(), describe(list_, access.range.binding),
           is_hosts_end ? "device" : "host", is_hosts_end ? "host" : "device");
  }

  void check_access(const Where& where, const RangeAccess& access) {
    const BufferRange& range = access.range;
    const bool has_offset = check_size_index(range.offset_bytes, where, "offset");
    const bool has_length = check_size_index(range.length_bytes, where, "length");
    if (!list_.bindings.contains(range.binding)) {
      broken("{}: binding {}, expected less than {}", where(), index_of(range.binding), list_.bindings.size());
      return;
    }
    const BindingDecl& binding = list_.bindings[range.binding];
    if (access.writes && !is_writable(binding.kind)) {
      broken("{}: writes {}, expected an output or a transient", where(), describe(list_, range.binding));
    }
    if (has_offset && has_length) check_range(where, range, binding.size_bytes);
    check_touched(where, access);
  }

  /// Checks that the touched bytes are in the range's binding, and inside the range. If that depends on symbols, the
  /// check passes.
  void check_touched(const Where& where, const RangeAccess& access) {
    const BufferRange &range = access.range, &touched = access.touched.range;
    for (const TouchedRange::Rows& rows : access.touched.rows) check_rows(where, rows);
    if (touched == range) return;
    const bool has_sizes = check_size_index(touched.offset_bytes, where, "the offset that it touches") &&
                           check_size_index(touched.length_bytes, where, "the length that it touches") &&
                           list_.sizes.contains(range.offset_bytes) && list_.sizes.contains(range.length_bytes);
    if (!has_sizes) return;
    const SizeExpr begin = list_.sizes[touched.offset_bytes] - list_.sizes[range.offset_bytes];
    const bool is_outside =
        touched.binding != range.binding || begin.upper_bound() < 0 || is_below(touched.length_bytes, 0) ||
        (list_.sizes[range.length_bytes] - begin - list_.sizes[touched.length_bytes]).upper_bound() < 0;
    if (!is_outside) return;
    broken("{}: touches bytes {} of {}, expected bytes within {} of {}", where(), size_.interval(touched),
           describe(list_, touched.binding), size_.interval(range), describe(list_, range.binding));
  }

  void check_rows(const Where& where, const TouchedRange::Rows& rows) {
    const bool has_sizes = check_size_index(rows.pitch_bytes, where, "the pitch of the rows that it touches") &&
                           check_size_index(rows.row_bytes, where, "the length of the rows that it touches");
    if (!has_sizes) return;
    const SizeExpr between = list_.sizes[rows.pitch_bytes] - list_.sizes[rows.row_bytes];
    if (between.upper_bound() >= 0 && !is_below(rows.row_bytes, 0)) return;
    broken("{}: touches rows of {} bytes every {} bytes, expected row lengths from 0 to the pitch", where(),
           size_(rows.row_bytes), size_(rows.pitch_bytes));
  }

  void check_range(const Where& where, const BufferRange& range, SizeIndex binding_size) {
    if (is_below(range.offset_bytes, 0))
      broken("{}: offset {}, expected at least 0", where(), size_(range.offset_bytes));
    if (is_below(range.length_bytes, 0))
      broken("{}: length {}, expected at least 0", where(), size_(range.length_bytes));
    if (!list_.sizes.contains(binding_size) || is_below(range.offset_bytes, 0) || is_below(range.length_bytes, 0))
      return;
    if (leaves_binding(range, list_.sizes[binding_size])) {
      broken("{}: bytes {} of {}, which has {} bytes", where(), size_.interval(range), describe(list_, range.binding),
             size_(binding_size));
    }
  }

  /// Whether part of the range is outside its binding. Exact for constants. For symbolic ranges, true only if this
  /// holds for all values of the symbols.
  bool leaves_binding(const BufferRange& range, const SizeExpr& binding_size) const {
    const SizeExpr& offset = list_.sizes[range.offset_bytes];
    const SizeExpr& length = list_.sizes[range.length_bytes];
    if (offset.is_constant() && length.is_constant() && binding_size.is_constant()) {
      __extension__ using Wide = __int128;  // the end of a range may overflow int64
      return Wide{offset.constant()} + length.constant() > binding_size.constant();
    }
    return (binding_size - offset - length).upper_bound() < 0;
  }

  void check_fill(const Where& where, const FillCommand& fill) {
    const std::uint32_t bytes = fill.pattern_bytes;
    if (bytes != 1 && bytes != 2 && bytes != 4 && bytes != 8) {
      broken("{}: a pattern of {} bytes, expected 1, 2, 4 or 8", where(), bytes);
      return;
    }
    if (bytes < 8 && (fill.pattern >> (8 * bytes)) != 0) {
      broken("{}: pattern 0x{:x} in {} bytes, expected one that fits", where(), fill.pattern, bytes);
    }
    const SizeIndex length = fill.destination.length_bytes;
    if (list_.sizes.contains(length) && list_.sizes[length].known_multiple() % bytes != 0) {
      broken("{}: {} bytes, expected a multiple of its pattern's {} bytes", where(), size_(length), bytes);
    }
  }

  void check_copy(const Where& where, const BufferRange& from, const BufferRange& to) {
    const SizeIndex source = from.length_bytes;
    const SizeIndex destination = to.length_bytes;
    if (!list_.sizes.contains(source) || !list_.sizes.contains(destination)) return;
    if (list_.sizes[source] != list_.sizes[destination]) {
      broken("{}: {} bytes from the source, {} to the destination, expected equal lengths", where(), size_(source),
             size_(destination));
    }
    const bool comparable =
        from.binding == to.binding && list_.sizes.contains(from.offset_bytes) && list_.sizes.contains(to.offset_bytes);
    if (comparable && may_overlap(list_, from, to)) {
      broken("{}: source {} and destination {} of {} overlap, expected disjoint ranges", where(), size_.interval(from),
             size_.interval(to), describe(list_, from.binding));
    }
  }

  void check_condition(const Where& where, const BufferRange& condition) {
    if (!list_.sizes.contains(condition.length_bytes) || list_.sizes[condition.length_bytes].is(1)) return;
    broken("{}: a condition of {} bytes, expected 1", where(), size_(condition.length_bytes));
  }

  void check_dispatch(const Where& where, const DispatchCommand& dispatch) {
    if (check_size_index(dispatch.num_groups, where, "num_groups")) check_num_groups(where, dispatch);
    for (std::size_t i = 0; i < dispatch.sizes.size(); ++i) {
      check_size_index(dispatch.sizes[i], where, fmt::format("size argument {}", i));
    }
    if (!list_.kernels.contains(dispatch.kernel)) {
      broken("{}: kernel {}, expected less than {}", where(), index_of(dispatch.kernel), list_.kernels.size());
      return;
    }
    const KernelInfo& info = list_.kernels[dispatch.kernel];
    if (!dispatch.touched.empty() && dispatch.touched.size() != dispatch.buffers.size()) {
      broken("{}: states the touched bytes of {} buffers, expected all {} or none", where(), dispatch.touched.size(),
             dispatch.buffers.size());
    }
    if (dispatch.buffers.size() != info.num_buffers) {
      broken("{}: {} buffers, expected {} like its kernel", where(), dispatch.buffers.size(), info.num_buffers);
    }
    if (dispatch.sizes.size() != info.num_sizes) {
      broken("{}: {} sizes, expected {} like its kernel", where(), dispatch.sizes.size(), info.num_sizes);
    }
  }

  void check_num_groups(const Where& where, const DispatchCommand& dispatch) {
    const SizeExpr& groups = list_.sizes[dispatch.num_groups];
    const std::int64_t limit = max_groups(list_, dispatch.kernel);
    if (groups.upper_bound() < 0 || groups.lower_bound() > limit) {
      broken("{}: {} groups, expected 0 to {}", where(), size_(dispatch.num_groups), limit);
    }
  }

  const CommandList& list_;
  SizeText size_;
  std::vector<std::string> lines_;
};

}  // namespace

Status validate(const CommandList& list) {
  return guard_allocations([&]() -> Status {
    VerificationCount::note(IrLevel::kCommandList);
    const std::vector<std::string> lines = Validator(list).run();
    if (lines.empty()) return {};
    return invalid_argument(fmt::format("{}", fmt::join(lines, "\n")));
  });
}

}  // namespace millrace
