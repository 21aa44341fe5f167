// SPDX-License-Identifier: Apache-2.0
// What the objects of a HIP device share: its runtime, and whether it is lost.
#include "hal/hip/context.h"

#include <fmt/format.h>

namespace millrace::hip {

Status Context::lost() const {
  if (!is_lost()) return {};
  const std::lock_guard lock(mutex_);
  return lost_status_;
}

void Context::lose(Status status, bool may_block) {
  const std::lock_guard lock(mutex_);
  if (may_block) {
    may_block_.store(true, std::memory_order_release);
    runtime_->note_hung_device();
  }
  if (is_lost_.load(std::memory_order_relaxed)) return;
  lost_status_ = std::move(status);
  is_lost_.store(true, std::memory_order_release);
}

Status Context::note(std::string_view where, std::string_view entry, Error error) {
  Status status = call_failed(hip(), where, entry, error);
  if (!loses_device(error)) return is_lost() ? lost() : status;
  lose({status.code(), fmt::format("device '{}' is lost: {}", name(), status.message())}, false);
  return lost();
}

void lose_track(Context& context, const Status& why) {
  if (context.is_lost()) return;
  context.lose(device_lost(fmt::format("device '{}' is lost: {}", context.name(), why.message())), true);
}

CurrentDevice::CurrentDevice(Context& context) : context_(context), status_(context.lost()) {
  if (!status_.ok()) return;
  int before = 0;
  status_ = context.check("hip", "hipGetDevice", context.hip().hipGetDevice(&before));
  if (!status_.ok() || before == context.facts().ordinal) return;
  status_ = context.check("hip", "hipSetDevice", context.hip().hipSetDevice(context.facts().ordinal));
  if (status_.ok()) before_ = before;
}

CurrentDevice::~CurrentDevice() {
  if (before_ >= 0 && !context_.may_block()) (void)context_.hip().hipSetDevice(before_);
}

}  // namespace millrace::hip
