// SPDX-License-Identifier: Apache-2.0
// Runs dispatches on the isa device: passes bindings as buffers and arguments, and keeps the counts.
#include "isa/device/recording.h"

#include <fmt/format.h>

#include "isa/device/kernarg.h"

namespace millrace {

void IsaState::begin_submission() {
  const std::lock_guard lock(mutex_);
  dispatches_.clear();
}

std::uint64_t IsaState::next_seed() {
  const std::lock_guard lock(mutex_);
  const std::uint64_t number = num_dispatches_++;
  return options_.seed == 0 ? 0 : options_.seed + number;
}

void IsaState::add(IsaDispatch dispatch) {
  const std::lock_guard lock(mutex_);
  dispatches_.push_back(std::move(dispatch));
}

std::vector<IsaDispatch> IsaState::dispatches() const {
  const std::lock_guard lock(mutex_);
  return dispatches_;
}

Result<std::shared_ptr<IsaRecording>> IsaRecording::create(const CommandList& list,
                                                           std::shared_ptr<const IsaExecutable> executable,
                                                           const Device& device, std::shared_ptr<IsaState> state) {
  std::shared_ptr<IsaRecording> recording(new IsaRecording(list, std::move(executable), device, std::move(state)));
  MILLRACE_TRY(recording->prepare());
  return recording;
}

std::vector<isa::LaunchBuffer> IsaRecording::launch_buffers(const InlineDispatch& dispatch) const {
  const auto value = [&](SizeIndex size) { return static_cast<std::uint64_t>(dispatch.sizes[index_of(size)]); };
  const std::vector<TouchedRange>& touched = dispatch.touched;
  const std::vector<bool>& is_written = executable_->info(dispatch.kernel).buffer_is_written;
  std::vector<isa::LaunchBuffer> buffers;
  for (std::size_t i = 0; i < dispatch.buffers.size(); ++i) {
    const BufferRange& range = dispatch.buffers[i];
    isa::LaunchBuffer buffer{.name = fmt::format("@{}", i),
                             .address = reinterpret_cast<std::uintptr_t>(dispatch.args.buffers[i]),
                             .size_bytes = value(range.length_bytes),
                             .is_written = is_written[i],
                             .argument_offset = static_cast<std::uint32_t>(8 * (1 + i))};
    if (!touched.empty()) {
      const BufferRange& bytes = touched[i].range;
      const std::uint64_t begin = value(bytes.offset_bytes) - value(range.offset_bytes);
      if (begin > 0) buffer.name += fmt::format(" from byte {} on", begin);
      buffer.address += begin;
      buffer.size_bytes = value(bytes.length_bytes);
    }
    buffers.push_back(std::move(buffer));
  }
  buffers.push_back({.name = "the status word",
                     .address = reinterpret_cast<std::uintptr_t>(dispatch.args.status),
                     .size_bytes = sizeof(*dispatch.args.status),
                     .is_written = true,
                     .argument_offset = 0});
  return buffers;
}

Status IsaRecording::run_kernel_groups(const InlineDispatch& dispatch) const {
  const KernelInfo& info = executable_->info(dispatch.kernel);
  const std::uint64_t seed = state_->next_seed();
  IsaDispatch done{.kernel = info.name, .label = std::string(dispatch.label)};
  if (dispatch.groups.size() > 0) {
    const std::vector<std::byte> arguments = make_kernarg(info, dispatch.args);
    const std::vector<isa::LaunchBuffer> buffers = launch_buffers(dispatch);
    MILLRACE_TRY_ASSIGN(done.counts,
                        isa::run_kernel(executable_->code(dispatch.kernel),
                                        {.num_groups = dispatch.groups.size(),
                                         .arguments = arguments,
                                         .buffers = buffers,
                                         .seed = seed,
                                         .finds_mistakes = state_->options().finds_mistakes,
                                         .max_wave_instructions = state_->options().max_wave_instructions,
                                         .profile = state_->options().makes_profiles ? &done.profile : nullptr}));
  }
  state_->add(std::move(done));
  return {};
}

}  // namespace millrace
