// SPDX-License-Identifier: Apache-2.0
#include "tests/support/gpu/far_device.h"

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <functional>
#include <mutex>
#include <optional>
#include <random>
#include <set>
#include <stop_token>
#include <sys/mman.h>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "base/guard_allocations.h"
#include "hal/checks/submission.h"
#include "hal/device_errors.h"
#include "hal/timepoints.h"

namespace millrace::test {
namespace {

/// Pages that nobody can touch, but while they are open.
class FarBuffer final : public Buffer {
 public:
  static constexpr int kRubbish = 0xa5;

  static Result<std::shared_ptr<Buffer>> allocate(DeviceId device, std::size_t size_bytes) {
    const std::size_t mapped = std::max<std::size_t>(size_bytes, 1);
    void* pages = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (pages == MAP_FAILED) {
      return resource_exhausted(fmt::format("buffer: {} bytes of far memory are not to be had", size_bytes));
    }
    std::memset(pages, kRubbish, size_bytes);
    mprotect(pages, mapped, PROT_NONE);
    return std::shared_ptr<Buffer>(new FarBuffer(device, pages, size_bytes, mapped));
  }
  ~FarBuffer() override { munmap(pages_, mapped_bytes_); }

  std::byte* open() const {
    const std::lock_guard lock(mutex_);
    if (num_open_++ == 0) mprotect(pages_, mapped_bytes_, PROT_READ | PROT_WRITE);
    return static_cast<std::byte*>(pages_);
  }
  void close() const {
    const std::lock_guard lock(mutex_);
    if (--num_open_ == 0) mprotect(pages_, mapped_bytes_, PROT_NONE);
  }

 private:
  FarBuffer(DeviceId device, void* pages, std::size_t size_bytes, std::size_t mapped_bytes)
      : Buffer(device, nullptr, size_bytes), pages_(pages), mapped_bytes_(mapped_bytes) {}

  void* pages_;
  std::size_t mapped_bytes_;
  mutable std::mutex mutex_;
  mutable int num_open_ = 0;
};

/// The buffers of a submission, open, and bindings that the inner device can use.
class OpenBindings {
 public:
  explicit OpenBindings(std::span<const BufferBinding> far) {
    for (const BufferBinding& binding : far) {
      const auto* buffer = static_cast<const FarBuffer*>(binding.buffer);
      if (buffer == nullptr) {
        near_.push_back(binding);
        continue;
      }
      near_.push_back({.data = buffer->open() + binding.offset_bytes, .size_bytes = binding.size_bytes});
      open_.push_back(buffer);
    }
  }
  OpenBindings(const OpenBindings&) = delete;
  OpenBindings& operator=(const OpenBindings&) = delete;
  ~OpenBindings() {
    for (const FarBuffer* buffer : open_) buffer->close();
  }
  std::span<const BufferBinding> near() const { return near_; }

 private:
  std::vector<BufferBinding> near_;
  std::vector<const FarBuffer*> open_;
};

struct FarRecording final : Recording {
  FarRecording(const Device& device, const CommandList& list, std::shared_ptr<Recording> recording)
      : Recording(device.id()), check(list, device), inner(std::move(recording)) {}
  SubmissionCheck check;
  std::shared_ptr<Recording> inner;
};

struct Job {
  Job(FarRecording& of, const Submission& submission)
      : recording(std::static_pointer_cast<FarRecording>(of.shared_from_this())),
        bindings(submission.bindings.begin(), submission.bindings.end()),
        sizes(submission.sizes.begin(), submission.sizes.end()),
        wait(submission.wait.begin(), submission.wait.end()),
        signal(submission.signal.begin(), submission.signal.end()),
        explainer(submission.explainer),
        times(submission.times),
        stop(submission.stop) {}

  Status run(Device& inner) const {
    if (stop.stop_requested()) return stopped_on_request("submit");
    MILLRACE_TRY(outcome_of(wait));
    const OpenBindings open(bindings);
    return inner.submit(
        *recording->inner,
        {.bindings = open.near(), .sizes = sizes, .explainer = explainer, .times = times, .stop = stop});
  }

  std::shared_ptr<FarRecording> recording;
  std::vector<BufferBinding> bindings;
  std::vector<std::int64_t> sizes;
  std::vector<Timepoint> wait, signal;
  FailureExplainer* explainer;
  SubmissionTimes* times;
  std::stop_token stop;
  std::optional<std::stop_callback<std::function<void()>>> on_stop;
};

/// Jobs and the thread that runs them. Semaphores wake it as long as they live, so it is shared.
class Worker : public std::enable_shared_from_this<Worker> {
 public:
  Worker(std::shared_ptr<Device> inner, const FarDeviceOptions& options)
      : inner_(std::move(inner)), max_delay_(options.max_delay), random_(options.seed) {}

  void start() {
    thread_ = std::thread([this] { run(); });
  }

  void add(std::unique_ptr<Job> job) {
    const auto wake_worker = [worker = weak_from_this()] {
      if (const auto alive = worker.lock()) alive->wake();
    };
    for (const Timepoint& timepoint : job->wait) {
      timepoint.semaphore->on_reached(timepoint.value, [wake_worker](const Status&) { wake_worker(); });
    }
    job->on_stop.emplace(job->stop, wake_worker);
    {
      const std::lock_guard lock(mutex_);
      jobs_.push_back(std::move(job));
    }
    wake();
  }

  /// Finishes the work that can run; the rest is cancelled.
  void stop() {
    {
      const std::lock_guard lock(mutex_);
      is_stopping_ = true;
    }
    wake();
    thread_.join();
    for (const auto& job : jobs_) (void)settle(job->signal, cancelled("submit: the device was closed"));
  }

 private:
  void wake() {
    const std::lock_guard lock(mutex_);
    ++num_wakes_;
    changed_.notify_all();
  }

  /// One that may run, or null. Precondition: the lock is held.
  std::unique_ptr<Job> take() {
    std::vector<std::size_t> ready;
    for (std::size_t i = 0; i < jobs_.size(); ++i) {
      if (are_settled(jobs_[i]->wait) || jobs_[i]->stop.stop_requested()) ready.push_back(i);
    }
    if (ready.empty()) return nullptr;
    const auto chosen = jobs_.begin() + static_cast<std::ptrdiff_t>(ready[random_() % ready.size()]);
    std::unique_ptr<Job> job = std::move(*chosen);
    jobs_.erase(chosen);
    return job;
  }

  void run() {
    std::unique_lock lock(mutex_);
    for (;;) {
      const std::uint64_t seen = num_wakes_;
      std::unique_ptr<Job> job = take();
      if (job == nullptr) {
        if (is_stopping_) return;
        changed_.wait(lock, [&] { return num_wakes_ != seen; });
        continue;
      }
      const std::chrono::microseconds delay{max_delay_.count() == 0 ? 0 : random_() % max_delay_.count()};
      lock.unlock();
      std::this_thread::sleep_for(delay);
      (void)settle(job->signal, guard_allocations([&] { return job->run(*inner_); }));
      job.reset();  // without the lock, which a request to stop it may be waiting for
      lock.lock();
    }
  }

  std::shared_ptr<Device> inner_;
  std::chrono::microseconds max_delay_;
  std::minstd_rand random_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::unique_ptr<Job>> jobs_;
  std::uint64_t num_wakes_ = 0;
  bool is_stopping_ = false;
  std::thread thread_;
};

DeviceInfo far(DeviceInfo info) {
  info.name = fmt::format("far({})", info.name);
  info.addresses_host_memory = false;
  info.is_synchronous = false;
  return info;
}

class FarDevice final : public Device {
 public:
  FarDevice(std::shared_ptr<Device> inner, const FarDeviceOptions& options)
      : Device(far(inner->info())), inner_(std::move(inner)), worker_(std::make_shared<Worker>(inner_, options)) {
    worker_->start();
  }
  ~FarDevice() override {
    close_control();
    worker_->stop();
  }

  Result<std::shared_ptr<Buffer>> allocate(std::size_t size_bytes) override {
    return FarBuffer::allocate(id(), size_bytes);
  }
  Result<std::shared_ptr<Buffer>> import_host(void*, std::size_t, Buffer::Deleter) override {
    return unimplemented(
        fmt::format("import: device '{}' does not address host memory; upload to a buffer of the device", name()));
  }
  Result<std::shared_ptr<Executable>> load(std::span<const ExecutableImage> images) override {
    return inner_->load(images);
  }

  Result<std::shared_ptr<Recording>> record_straight(const CommandList& list,
                                                     std::shared_ptr<Executable> executable) override {
    if (executable != nullptr && executable->device() != inner_->id()) return foreign_executable(*this);
    MILLRACE_TRY_ASSIGN(std::shared_ptr<Recording> recording, inner_->record(list, std::move(executable)));
    return std::shared_ptr<Recording>(std::make_shared<FarRecording>(*this, list, std::move(recording)));
  }

  Status submit_straight(Recording& recording, const Submission& submission) override {
    const Status status = guard_allocations([&]() -> Status {
      if (recording.device() != id()) return foreign_recording(name());
      auto& ours = static_cast<FarRecording&>(recording);
      MILLRACE_TRY(ours.check.check(submission));
      MILLRACE_TRY(check_timepoints(submission));
      worker_->add(std::make_unique<Job>(ours, submission));
      return {};
    });
    return status.ok() ? status : settle(submission.signal, status);
  }

  Status read_back(const Buffer& buffer, std::size_t offset_bytes, std::span<std::byte> destination) override {
    MILLRACE_TRY(check_read_back(*this, buffer, offset_bytes, destination.size()));
    const auto& far_buffer = static_cast<const FarBuffer&>(buffer);
    std::ranges::copy_n(far_buffer.open() + offset_bytes, static_cast<std::ptrdiff_t>(destination.size()),
                        destination.begin());
    far_buffer.close();
    return {};
  }

 private:
  std::shared_ptr<Device> inner_;
  std::shared_ptr<Worker> worker_;
};

}  // namespace

std::shared_ptr<Device> create_far_device(std::shared_ptr<Device> inner, const FarDeviceOptions& options) {
  return std::make_shared<FarDevice>(std::move(inner), options);
}

}  // namespace millrace::test
