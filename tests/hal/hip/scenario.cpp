// SPDX-License-Identifier: Apache-2.0
#include "tests/hal/hip/scenario.h"

#include <chrono>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tests/hal/conformance/bind.h"
#include "tests/hal/conformance/kernels.h"

namespace millrace {
namespace {

/// A wait that ends with kDeadlineExceeded is one that would never end.
constexpr std::chrono::seconds kPatience{30};
constexpr KernelIndex kScale{0}, kIds{1}, kAppend{2}, kFail{3};

Status expect(const char* what, const std::vector<std::uint32_t>& found, const std::vector<std::uint32_t>& expected) {
  if (found == expected) return {};
  return data_loss(fmt::format("{}: {}, expected {}", what, fmt::join(found, " "), fmt::join(expected, " ")));
}

}  // namespace

Status HipScenario::open() {
  MILLRACE_TRY_ASSIGN(device_, standin_.open({.ordinal = ordinal_, .num_streams = 3, .staging_bytes = 32 << 10}));
  const TargetSpec& target = device_->targets().front();
  images_ = {scale_on(target), store_ids_on(target), append_on(target), fail_index_on(target)};
  MILLRACE_TRY_ASSIGN(executable_, device_->load(images_));
  return {};
}

Result<HipScenario::Program> HipScenario::record(const ListBuilder& builder) {
  CommandList list = builder.list;
  list.kernels = {};
  for (const ExecutableImage& image : images_) list.kernels.push_back(image.info);
  MILLRACE_TRY_ASSIGN(std::shared_ptr<Recording> recording, device_->record(list, executable_));
  return Program{std::move(recording), builder.evaluate()};
}

Status HipScenario::submit(const Program& program, const Bindings& bindings, const std::vector<Timepoint>& wait,
                           const Timepoint& signal, SubmissionTimes* times) {
  return device_->submit(
      *program.recording,
      {.bindings = bindings, .sizes = program.sizes, .wait = wait, .signal = {&signal, 1}, .times = times});
}

Status HipScenario::run_once(const Program& program, const Bindings& bindings, SubmissionTimes* times) {
  MILLRACE_TRY_ASSIGN(const std::shared_ptr<Semaphore> done, device_->create_semaphore());
  const Status submitted = submit(program, bindings, {}, {done, 1}, times);
  Status status = done->wait(1, kPatience);
  if (submitted.ok() || submitted.message() == status.message()) return status;
  return data_loss(fmt::format("submit said '{}', its semaphore '{}'", submitted.message(), status.message()));
}

Status HipScenario::write(const Buffer& buffer, Words& words) {
  const auto size_bytes = static_cast<std::int64_t>(words.size() * sizeof(words[0]));
  ListBuilder b;
  const BindingIndex x = b.host("x", BindingKind::kInput, size_bytes), to = b.output("to", size_bytes);
  b.upload(b.range(x, 0, size_bytes), b.range(to, 0, size_bytes));
  MILLRACE_TRY_ASSIGN(const Program program, record(b));
  return run_once(program, {bind(words), buffer.binding()});
}

/// Two small launches and fills between barriers, which several streams may share.
Result<HipScenario::Program> HipScenario::record_branches() {
  ListBuilder b;
  const BindingIndex x = b.host("x", BindingKind::kInput, 16), y = b.host("y", BindingKind::kOutput, 16),
                     z = b.host("z", BindingKind::kOutput, 16), filled = b.host("filled", BindingKind::kOutput, 24);
  const BindingIndex t = b.output("t", 16), u = b.output("u", 16), v = b.output("v", 16), w = b.output("w", 24);
  b.upload(b.range(x, 0, 16), b.range(t, 0, 16));
  b.barrier();
  b.dispatch(kScale, 4, {b.range(t, 0, 16), b.range(u, 0, 16)}, {7});
  b.dispatch(kIds, 4, {b.range(v, 0, 16)});
  b.fill(b.range(w, 0, 16), 0x0000'0002'0000'0001, 8);
  b.fill(b.range(w, 16, 8), 5, 2);
  b.barrier();
  b.copy(b.range(w, 0, 8), b.range(v, 8, 8));
  b.barrier();
  b.download(b.range(u, 0, 16), b.range(y, 0, 16));
  b.download(b.range(v, 0, 16), b.range(z, 0, 16));
  b.download(b.range(w, 0, 24), b.range(filled, 0, 24));
  return record(b);
}

Result<HipScenario::Bindings> HipScenario::bind_branches() {
  Bindings bindings = {bind(in_), bind(scaled_), bind(ids_), bind(filled_)};
  for (const std::size_t size_bytes : {16, 16, 16, 24}) {
    MILLRACE_TRY_ASSIGN(std::shared_ptr<Buffer> buffer, device_->allocate(size_bytes));
    bindings.push_back(buffer->binding());
    buffers_.push_back(std::move(buffer));
  }
  return bindings;
}

Status HipScenario::check_branches() const {
  MILLRACE_TRY(expect("scaled", scaled_, {7, 14, 21, 28}));
  MILLRACE_TRY(expect("ids and copy", ids_, {0, 1, 1, 2}));
  return expect("filled", filled_, {1, 2, 1, 2, 0x0005'0005, 0x0005'0005});
}

Status HipScenario::run_branches() {
  MILLRACE_TRY_ASSIGN(const Program program, record_branches());
  MILLRACE_TRY_ASSIGN(const Bindings bindings, bind_branches());
  for (int i = 0; i < 2; ++i) {  // the second time, nothing is made anew
    scaled_.assign(4, 0);
    ids_.assign(4, 0);
    filled_.assign(6, 0);
    MILLRACE_TRY(run_once(program, bindings));
    MILLRACE_TRY(check_branches());
  }
  Words back(4);
  MILLRACE_TRY(device_->read_back(*buffers_[1], 0, std::as_writable_bytes(std::span(back))));
  return expect("read back", back, scaled_);
}

/// Submissions that wait for each other; the third one is submitted before the second.
Status HipScenario::run_chain() {
  MILLRACE_TRY_ASSIGN(const std::shared_ptr<Buffer> word, device_->allocate(4));
  MILLRACE_TRY(write(*word, word_));
  MILLRACE_TRY_ASSIGN(const std::shared_ptr<Semaphore> done, device_->create_semaphore());
  std::vector<Program> programs;
  for (const int digit : {1, 2, 3}) {
    ListBuilder b;
    const BindingIndex y = b.output("y", 4);
    b.dispatch(kAppend, 1, {b.range(y, 0, 4)}, {digit});
    MILLRACE_TRY_ASSIGN(Program program, record(b));
    programs.push_back(std::move(program));
  }
  Status first;
  for (const std::uint64_t number : {1u, 3u, 2u}) {
    std::vector<Timepoint> wait;
    if (number > 1) wait.push_back({done, number - 1});
    const Status status = submit(programs[number - 1], {word->binding()}, wait, {done, number});
    if (first.ok()) first = status;
  }
  MILLRACE_TRY(done->wait(3, kPatience));
  MILLRACE_TRY(first);
  Words back(1);
  MILLRACE_TRY(device_->read_back(*word, 0, std::as_writable_bytes(std::span(back))));
  return expect("digits", back, {123});
}

/// More than the pinned blocks hold.
Status HipScenario::run_large_transfers() {
  constexpr std::int64_t kBytes = 80'000;
  ListBuilder b;
  const BindingIndex x = b.host("x", BindingKind::kInput, kBytes), y = b.host("y", BindingKind::kOutput, kBytes);
  const BindingIndex t = b.output("t", kBytes);
  b.upload(b.range(x, 0, kBytes), b.range(t, 0, kBytes));
  b.barrier();
  b.download(b.range(t, 0, kBytes), b.range(y, 0, kBytes));
  MILLRACE_TRY_ASSIGN(const Program program, record(b));
  MILLRACE_TRY_ASSIGN(const std::shared_ptr<Buffer> buffer, device_->allocate(kBytes));
  for (std::size_t i = 0; i < large_.size(); ++i) large_[i] = static_cast<std::uint32_t>(i * i);
  large_back_.assign(large_.size(), 0);
  MILLRACE_TRY(run_once(program, {bind(large_), bind(large_back_), buffer->binding()}));
  return large_back_ == large_ ? Status() : data_loss("large transfers: other bytes came back");
}

Status HipScenario::run_pinned_transfers() {
  constexpr std::int64_t kBytes = 8192;
  MILLRACE_TRY_ASSIGN(const std::shared_ptr<void> from, device_->pin_host(std::as_writable_bytes(std::span(pinned_))));
  MILLRACE_TRY_ASSIGN(const std::shared_ptr<void> to,
                      device_->pin_host(std::as_writable_bytes(std::span(pinned_back_))));
  MILLRACE_TRY_ASSIGN(const std::shared_ptr<Buffer> buffer, device_->allocate(kBytes));
  for (std::size_t i = 0; i < pinned_.size(); ++i) pinned_[i] = static_cast<std::uint32_t>(i + 5);
  MILLRACE_TRY(write(*buffer, pinned_));
  ListBuilder b;
  const BindingIndex t = b.input("t", kBytes), y = b.host("y", BindingKind::kOutput, kBytes);
  b.download(b.range(t, 0, kBytes), b.range(y, 0, kBytes));
  MILLRACE_TRY_ASSIGN(const Program program, record(b));
  MILLRACE_TRY(run_once(program, {buffer->binding(), bind(pinned_back_)}));
  return pinned_back_ == pinned_ ? Status() : data_loss("pinned transfers: other bytes came back");
}

Status HipScenario::run_measured() {
  ListBuilder b;
  const BindingIndex y = b.output("y", 16);
  b.dispatch(kIds, 4, {b.range(y, 0, 16)});
  b.barrier();
  b.fill(b.range(y, 0, 4), 9, 4);
  MILLRACE_TRY_ASSIGN(const Program program, record(b));
  MILLRACE_TRY_ASSIGN(const std::shared_ptr<Buffer> buffer, device_->allocate(16));
  SubmissionTimes times;
  MILLRACE_TRY(run_once(program, {buffer->binding()}, &times));
  if (times.commands.size() != 2) return data_loss(fmt::format("times of {} commands", times.commands.size()));
  Words back(4);
  MILLRACE_TRY(device_->read_back(*buffer, 0, std::as_writable_bytes(std::span(back))));
  return expect("measured", back, {9, 1, 2, 3});
}

/// A kernel that reports an error, whose status is the submission's.
Status HipScenario::run_failing() {
  ListBuilder b;
  b.dispatch(kFail, 1, {});
  MILLRACE_TRY_ASSIGN(const Program program, record(b));
  Status status = run_once(program, {});
  if (status.code() == StatusCode::kOutOfRange) return {};
  return status.ok() ? data_loss("a kernel's error was not reported") : status;
}

/// More than the device has, after which it goes on.
Status HipScenario::run_too_large() {
  const Status status = device_->allocate(std::size_t{1} << 40).status();
  const bool is_its_own = status.message().starts_with("allocate: 1099511627776 bytes of device ");
  if (status.code() == StatusCode::kResourceExhausted && is_its_own) return {};
  return status.ok() ? data_loss("a device has a terabyte") : status;
}

Status HipScenario::run() {
  MILLRACE_TRY(open());
  MILLRACE_TRY(run_branches());
  MILLRACE_TRY(run_chain());
  MILLRACE_TRY(run_large_transfers());
  MILLRACE_TRY(run_pinned_transfers());
  MILLRACE_TRY(run_measured());
  MILLRACE_TRY(run_too_large());
  return run_failing();
}

}  // namespace millrace
