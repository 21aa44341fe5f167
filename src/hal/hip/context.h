// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "base/guard_allocations.h"
#include "hal/hip/facts.h"
#include "hal/hip/runtime.h"
#include "millrace/hal/hip_device.h"

namespace millrace::hip {

/// The state that all objects of one opened device share: the runtime, and whether the device is lost. The state may
/// outlive the device, and ends with the last of these objects.
class Context {
 public:
  Context(std::shared_ptr<const Runtime> runtime, DeviceFacts facts, DeviceId id)
      : runtime_(std::move(runtime)), facts_(std::move(facts)), id_(id) {}

  const Runtime& hip() const { return *runtime_; }
  const DeviceFacts& facts() const { return facts_; }
  DeviceId id() const { return id_; }
  std::string name() const { return device_name(facts_.ordinal); }

  /// Ok, or why the device is lost.
  Status lost() const;
  bool is_lost() const { return is_lost_.load(std::memory_order_acquire); }
  /// Whether HIP calls that concern the device might never return.
  bool may_block() const { return may_block_.load(std::memory_order_acquire); }
  /// Marks the device as lost. Only the first status counts.
  void lose(Status, bool may_block);

  /// Converts the error of a HIP call to a status. An error that means that the device is lost is kept, and becomes the
  /// status of every later call that fails.
  Status check(std::string_view where, std::string_view entry, Error error) {
    return error == Error::kSuccess ? Status() : note(where, entry, error);
  }
  /// Calls `call`, which releases an object of the device. If the call might never return, keeps the object instead.
  template <class Call>
  void release(Call&& call) {
    release(may_block(), call);
  }
  /// Does the same for host memory, whose release may wait for every device.
  template <class Call>
  void release_host(Call&& call) {
    release(may_block() || hip().has_hung_device(), call);
  }
  HipLosses losses() const { return {num_quarantined_.load(), num_failed_releases_.load()}; }

 private:
  template <class Call>
  void release(bool is_unsafe, Call& call) {
    if (is_unsafe) {
      num_quarantined_.fetch_add(1, std::memory_order_relaxed);
    } else if (call() != Error::kSuccess) {
      num_failed_releases_.fetch_add(1, std::memory_order_relaxed);
    }
  }
  Status note(std::string_view where, std::string_view entry, Error);

  std::shared_ptr<const Runtime> runtime_;
  DeviceFacts facts_;
  DeviceId id_;
  mutable std::mutex mutex_;
  Status lost_status_;
  std::atomic<bool> is_lost_ = false, may_block_ = false;
  std::atomic<std::uint64_t> num_quarantined_ = 0, num_failed_releases_ = 0;
};

/// Call this if there is no longer a way to find out when queued work ends. If the device is already lost, no work
/// runs, and nothing happens. Otherwise the device counts as lost from now on, and everything that the work may use is
/// kept.
void lose_track(Context&, const Status& why);
/// Makes a call that is needed to find out when queued work ends, and returns its status. Repeats a failed call once,
/// because one failure, such as a lack of memory, says nothing about the work. If the call fails again, loses track of
/// the device's work.
template <class Call>
Status retry_once(Context& context, Call&& call) {
  const Status status = guard_allocations(call);
  if (status.ok() || context.is_lost()) return status;
  if (const Status again = guard_allocations(call); !again.ok()) lose_track(context, again);
  return status;
}

/// While an object of this class lives, the device is this thread's current one, which HIP's calls need.
class CurrentDevice {
 public:
  explicit CurrentDevice(Context& context);
  CurrentDevice(const CurrentDevice&) = delete;
  CurrentDevice& operator=(const CurrentDevice&) = delete;
  ~CurrentDevice();

  /// Ok if the device is current; otherwise why the device is lost, or HIP's error.
  const Status& status() const { return status_; }

 private:
  Context& context_;
  int before_ = -1;  // -1: nothing to restore
  Status status_;
};

}  // namespace millrace::hip
