// SPDX-License-Identifier: Apache-2.0
// The checks that drivers share at each submission. They must cost next to nothing if the submission is valid.
#include "hal/checks/submission.h"

#include <fmt/format.h>

#include "hal/command_text.h"
#include "hal/group_limit.h"

namespace millrace {
namespace {

// Messages are built out of line, so that a valid submission pays only for the comparisons.

[[gnu::cold, gnu::noinline]] Status wrong_count(std::string_view what, std::size_t found, std::size_t expected) {
  return invalid_argument(fmt::format("submit: {} {}, expected {} like the command list", found, what, expected));
}

bool is_constant(const CommandList& list, const BufferRange& range) {
  return list.sizes[range.offset_bytes].is_constant() && list.sizes[range.length_bytes].is_constant() &&
         list.sizes[list.bindings[range.binding].size_bytes].is_constant();
}

}  // namespace

SubmissionCheck::SubmissionCheck(const CommandList& list, const Device& device)
    : list_(list),
      device_name_(device.name()),
      device_(device.id()),
      addresses_host_memory_(device.info().addresses_host_memory) {
  for (std::uint32_t i = 0; i < list_.sizes.size(); ++i) {
    const SizeExpr& size = list_.sizes[SizeIndex{i}];
    if (size.is_constant()) constants_.push_back({SizeIndex{i}, size.constant()});
  }
  visit_commands(list_, [this](CommandId id, const Command& command) { note_symbolic_parts(id, command); });
}

void SubmissionCheck::note_symbolic_parts(CommandId id, const Command& command) {
  for (const RangeAccess& access : accesses_of(list_, command)) {
    if (is_constant(list_, access.range)) continue;
    ranges_.push_back({id, access, list_.bindings[access.range.binding].size_bytes});
  }
  if (const auto* dispatch = std::get_if<DispatchCommand>(&command)) {
    if (!list_.sizes[dispatch->num_groups].is_constant()) {
      groups_.push_back({id, dispatch->num_groups, max_groups(list_, dispatch->kernel)});
    }
  }
}

[[gnu::cold, gnu::noinline]] Status SubmissionCheck::wrong_size(const ConstantSize& constant, std::int64_t given) {
  return invalid_argument(
      fmt::format("submit: size {} is {}, expected {} as in the command list; pass the values of the list's sizes",
                  index_of(constant.index), given, constant.value));
}

inline bool SubmissionCheck::has_memory(BindingIndex index, const Submission& submission) const {
  const BindingDecl& declared = list_.bindings[index];
  const BufferBinding& binding = submission.bindings[index_of(index)];
  const std::int64_t needed_bytes = submission.sizes[index_of(declared.size_bytes)];
  // This also rejects a negative length, which is huge as an unsigned number.
  if (static_cast<std::uint64_t>(needed_bytes) > binding.size_bytes) return false;
  if (binding.buffer == nullptr) {
    return needed_bytes == 0 ||
           (binding.data != nullptr && (addresses_host_memory_ || declared.place == BindingPlace::kHost));
  }
  // Checks the owner even if no byte of a buffer is used, because devices cast the buffers that they get.
  return declared.place == BindingPlace::kDevice && binding.buffer->device() == device_ &&
         binding.offset_bytes <= binding.buffer->size_bytes() &&
         binding.size_bytes <= binding.buffer->size_bytes() - binding.offset_bytes;
}

Status SubmissionCheck::check(const Submission& submission) const {
  if (submission.bindings.size() != list_.bindings.size()) {
    return wrong_count("bindings", submission.bindings.size(), list_.bindings.size());
  }
  if (submission.sizes.size() != list_.sizes.size()) {
    return wrong_count("sizes", submission.sizes.size(), list_.sizes.size());
  }
  for (const ConstantSize& constant : constants_) {
    const std::int64_t given = submission.sizes[index_of(constant.index)];
    if (given != constant.value) return wrong_size(constant, given);
  }
  for (std::uint32_t i = 0; i < list_.bindings.size(); ++i) {
    if (!has_memory(BindingIndex{i}, submission)) return wrong_memory(BindingIndex{i}, submission);
  }
  for (const SymbolicRange& range : ranges_) MILLRACE_TRY(check_range(range, submission));
  for (const SymbolicGroups& groups : groups_) MILLRACE_TRY(check_groups(groups, submission));
  return {};
}

[[gnu::cold, gnu::noinline]] Status SubmissionCheck::wrong_memory(BindingIndex index,
                                                                  const Submission& submission) const {
  const BufferBinding& binding = submission.bindings[index_of(index)];
  const std::int64_t declared = submission.sizes[index_of(list_.bindings[index].size_bytes)];
  const std::string name = describe(list_, index);
  const bool is_hosts = list_.bindings[index].place == BindingPlace::kHost;
  if (declared < 0) {
    return invalid_argument(fmt::format(
        "submit: {} has a length of {} bytes, expected at least 0; bind the symbols of {} within their facts", name,
        declared, list_.sizes[list_.bindings[index].size_bytes].to_text()));
  }
  if (binding.buffer == nullptr && binding.data == nullptr) {
    return invalid_argument(fmt::format("submit: {} is null, expected {} bytes; bind memory to it", name, declared));
  }
  if (binding.size_bytes < static_cast<std::uint64_t>(declared)) {
    return invalid_argument(fmt::format("submit: {} has {} bytes, expected at least {}; bind more memory to it", name,
                                        binding.size_bytes, declared));
  }
  if (binding.buffer == nullptr) {
    return invalid_argument(
        fmt::format("submit: {} is host memory, which device '{}' does not address; bind a buffer that it allocated, "
                    "and upload to it",
                    name, device_name_));
  }
  if (is_hosts) {
    return invalid_argument(fmt::format("submit: {} is a buffer, expected host memory; bind a host address", name));
  }
  if (binding.buffer->device() != device_) {
    return invalid_argument(fmt::format("submit: {} is a buffer of another device; bind one that device '{}' allocated",
                                        name, device_name_));
  }
  return invalid_argument(
      fmt::format("submit: {} is {} bytes at offset {} of a buffer of {} bytes, expected a range inside it", name,
                  binding.size_bytes, binding.offset_bytes, binding.buffer->size_bytes()));
}

Status SubmissionCheck::check_range(const SymbolicRange& range, const Submission& submission) const {
  const std::int64_t offset = submission.sizes[index_of(range.access.range.offset_bytes)];
  const std::int64_t length = submission.sizes[index_of(range.access.range.length_bytes)];
  const std::int64_t binding_bytes = submission.sizes[index_of(range.binding_size)];
  // binding_bytes is not negative, so nothing here overflows.
  if (offset >= 0 && length >= 0 && length <= binding_bytes && offset <= binding_bytes - length) return {};
  return invalid_argument(
      fmt::format("submit: {} {}: offset {} and length {} in {}, which has {} bytes; bind symbols within their facts",
                  describe_command(list_, range.command), to_text(range.access), offset, length,
                  describe(list_, range.access.range.binding), binding_bytes));
}

Status SubmissionCheck::check_groups(const SymbolicGroups& groups, const Submission& submission) const {
  const std::int64_t given = submission.sizes[index_of(groups.num_groups)];
  if (given >= 0 && given <= groups.max_groups) return {};
  return invalid_argument(fmt::format("submit: {}: {} groups, expected 0 to {}; bind symbols within their facts",
                                      describe_command(list_, groups.command), given, groups.max_groups));
}

}  // namespace millrace
