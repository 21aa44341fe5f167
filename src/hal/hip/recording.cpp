// SPDX-License-Identifier: Apache-2.0
// Prepares a command list for HIP: flattens its commands into steps, which refer to addresses and arguments by index.
#include "hal/hip/recording.h"

#include <fmt/format.h>

#include "hal/command_text.h"
#include "hal/hip/buffer.h"
#include "hal/timepoints.h"

namespace millrace::hip {

bool overlap(std::span<const std::byte> a, std::span<const std::byte> b) {
  return !a.empty() && !b.empty() && a.data() < b.data() + b.size() && b.data() < a.data() + a.size();
}

Result<std::shared_ptr<HipRecording>> HipRecording::create(const Device& device, Parts parts, const CommandList& list,
                                                           std::shared_ptr<const HipExecutable> executable) {
  auto recording = std::make_shared<HipRecording>(device, std::move(parts), list, std::move(executable));
  MILLRACE_TRY_ASSIGN(std::unique_ptr<HipRun> run, recording->make_run());
  recording->give_back(std::move(run));
  return recording;
}

HipRecording::HipRecording(const Device& device, Parts parts, const CommandList& list,
                           std::shared_ptr<const HipExecutable> executable)
    : Recording(device.id()), parts_(std::move(parts)), check_(list, device), executable_(std::move(executable)) {
  std::uint32_t segment = 0;
  visit_commands(list, [&](CommandId id, const Command& command) {
    const std::size_t before = steps_.size();
    std::visit([this](const auto& specific) { add(specific); }, command);
    if (steps_.size() == before) {
      ++segment;
      return;
    }
    steps_.back().command = id;
    steps_.back().segment = segment;
  });
}

AddressIndex HipRecording::add_address(const BufferRange& range) {
  ranges_.push_back(range);
  return static_cast<AddressIndex>(ranges_.size() - 1);
}

void HipRecording::add(const DispatchCommand& dispatch) {
  launches_.push_back(steps_.size());
  steps_.push_back({LaunchStep{.kernel = dispatch.kernel,
                               .num_groups = dispatch.num_groups,
                               .first_address = static_cast<AddressIndex>(ranges_.size()),
                               .first_size = static_cast<std::uint32_t>(size_sources_.size()),
                               .first_argument = num_arguments_,
                               .number = num_launches_++,
                               .label = dispatch.label}});
  for (const BufferRange& range : dispatch.buffers) add_address(range);
  size_sources_.insert(size_sources_.end(), dispatch.sizes.begin(), dispatch.sizes.end());
  num_arguments_ += static_cast<std::uint32_t>(1 + dispatch.buffers.size() + dispatch.sizes.size());
}

void HipRecording::add(const FillCommand& fill) {
  steps_.push_back(
      {FillStep{add_address(fill.destination), fill.destination.length_bytes, fill.pattern, fill.pattern_bytes}});
}

void HipRecording::add_copy(CopyStep::Kind kind, const BufferRange& source, const BufferRange& destination) {
  has_transfers_ |= kind != CopyStep::Kind::kOnDevice;
  if (kind == CopyStep::Kind::kUpload) {
    for (const std::size_t download : downloads_) rereads_.emplace_back(download, steps_.size());
  } else if (kind == CopyStep::Kind::kDownload) {
    downloads_.push_back(steps_.size());
  }
  const AddressIndex from = add_address(source);
  steps_.push_back({CopyStep{kind, from, add_address(destination), source.length_bytes}});
}

Result<std::unique_ptr<HipRun>> HipRecording::make_run() const {
  auto run = std::make_unique<HipRun>();
  run->bases.resize(list().bindings.size());
  run->addresses.resize(ranges_.size());
  run->sizes.resize(size_sources_.size());
  if (num_launches_ == 0) return run;
  const std::size_t status_bytes = num_launches_ * sizeof(std::uint32_t);
  MILLRACE_TRY_ASSIGN(run->status, DeviceBlock::allocate(parts_.memory, status_bytes));
  MILLRACE_TRY_ASSIGN(run->read_back, parts_.pinned->allocate(status_bytes));
  const auto first_word = reinterpret_cast<std::uintptr_t>(run->status->address());
  for (std::uint32_t i = 0; i < num_launches_; ++i) run->words.push_back(first_word + i * sizeof(std::uint32_t));
  // A kernel's arguments: the addresses of its status word and of its buffers, then its sizes (graph/code_object.h).
  run->arguments.reserve(num_arguments_);
  for (std::uint32_t i = 0; i < num_launches_; ++i) {
    const LaunchStep& step = launch(i);
    run->arguments.push_back(&run->words[i]);
    for (std::uint32_t k = 0; k < info(step).num_buffers; ++k) {
      run->arguments.push_back(&run->addresses[step.first_address + k]);
    }
    for (std::uint32_t k = 0; k < info(step).num_sizes; ++k) run->arguments.push_back(&run->sizes[step.first_size + k]);
  }
  return run;
}

/// Refuses an upload of host bytes that an earlier command downloads: the host gets downloaded bytes only when the list
/// ends, but an upload reads them when it is issued.
Status HipRecording::check_rereads(const Submission& submission) const {
  for (const auto& [download, upload] : rereads_) {
    const auto bytes = [&](std::size_t step) {
      return host_bytes(std::get<CopyStep>(steps_[step].what), submission.bindings, submission.sizes);
    };
    if (!overlap(bytes(download), bytes(upload))) continue;
    return unimplemented(fmt::format(
        "submit: {}: it reads host memory that {} writes only when the list ends; upload it in a "
        "submission that waits for this one",
        describe_command(list(), steps_[upload].command), describe_command(list(), steps_[download].command)));
  }
  return {};
}

Status HipRecording::check(const Submission& submission) const {
  MILLRACE_TRY(check_.check(submission));
  MILLRACE_TRY(check_rereads(submission));
  if (submission.wait.empty() && submission.signal.empty()) return {};
  return check_timepoints(submission);
}

Result<std::unique_ptr<HipRun>> HipRecording::take_run() {
  {
    const std::lock_guard lock(mutex_);
    if (!free_runs_.empty()) {
      std::unique_ptr<HipRun> run = std::move(free_runs_.back());
      free_runs_.pop_back();
      return run;
    }
  }
  return make_run();
}

void HipRecording::give_back(std::unique_ptr<HipRun> run) try {
  const std::lock_guard lock(mutex_);
  free_runs_.push_back(std::move(run));
} catch (const std::bad_alloc&) {  // the next submission then makes another run
}

std::span<const std::byte> HipRecording::host_bytes(const CopyStep& copy, std::span<const BufferBinding> bindings,
                                                    std::span<const std::int64_t> sizes) const {
  const BufferRange& range = ranges_[copy.kind == CopyStep::Kind::kUpload ? copy.source : copy.destination];
  const auto* base = static_cast<const std::byte*>(bindings[index_of(range.binding)].data);
  return {base + sizes[index_of(range.offset_bytes)], static_cast<std::size_t>(sizes[index_of(copy.length)])};
}

void HipRecording::resolve(std::span<const BufferBinding> bindings, std::span<const std::int64_t> sizes,
                           HipRun& run) const {
  for (std::size_t i = 0; i < bindings.size(); ++i) {
    const BufferBinding& binding = bindings[i];
    run.bases[i] = binding.buffer == nullptr
                       ? reinterpret_cast<std::uintptr_t>(binding.data)
                       : static_cast<const HipBuffer*>(binding.buffer)->address() + binding.offset_bytes;
  }
  for (std::size_t i = 0; i < ranges_.size(); ++i) {
    const auto offset = static_cast<std::uintptr_t>(sizes[index_of(ranges_[i].offset_bytes)]);
    // An empty range can begin at the buffer's end or in host memory, at an address that HIP may not know. It gets the
    // buffer's address instead, or null.
    const bool is_empty = sizes[index_of(ranges_[i].length_bytes)] == 0;
    const Buffer* buffer = bindings[index_of(ranges_[i].binding)].buffer;
    const std::uintptr_t unused = buffer == nullptr ? 0 : static_cast<const HipBuffer*>(buffer)->address();
    run.addresses[i] = is_empty ? unused : run.bases[index_of(ranges_[i].binding)] + offset;
  }
  for (std::size_t i = 0; i < size_sources_.size(); ++i) run.sizes[i] = sizes[index_of(size_sources_[i])];
}

}  // namespace millrace::hip
