// SPDX-License-Identifier: Apache-2.0
// Streams, events and modules of HIP as owned objects, and waits with a time limit.
#include "hal/hip/handles.h"

#include <thread>

#include <fmt/format.h>

namespace millrace::hip {

Result<std::shared_ptr<OwnedStream>> OwnedStream::create(std::shared_ptr<Context> context) {
  auto owner = std::make_shared<OwnedStream>(context, nullptr, true);  // made first, so that a failure leaks nothing
  Stream stream = nullptr;
  // The stream is non-blocking: otherwise it would wait for the null stream, which other code in the process may use.
  const Error error = context->hip().hipStreamCreateWithFlags(&stream, kStreamNonBlocking);
  MILLRACE_TRY(context->check("device '" + context->name() + "'", "hipStreamCreateWithFlags", error));
  owner->stream_ = stream;
  return owner;
}

OwnedStream::~OwnedStream() {
  if (is_ours_ && stream_ != nullptr) context_->release([&] { return context_->hip().hipStreamDestroy(stream_); });
}

EventPool::~EventPool() {
  for (const std::vector<Event>& kind : free_) {
    for (Event event : kind) context_->release([&] { return context_->hip().hipEventDestroy(event); });
  }
}

Result<Event> EventPool::create(Kind kind) {
  free_[static_cast<int>(kind)].reserve(++num_made_);  // so that returning an event allocates nothing
  const CurrentDevice current(*context_);              // the event belongs to the current device
  MILLRACE_TRY(current.status());
  Event event = nullptr;
  const Error error =
      context_->hip().hipEventCreateWithFlags(&event, kind == Kind::kTime ? kEventDefault : kEventDisableTiming);
  MILLRACE_TRY(context_->check("submit", "hipEventCreateWithFlags", error));
  return event;
}

Status EventPool::reserve(Kind kind) {
  const std::lock_guard lock(mutex_);
  std::vector<Event>& free = free_[static_cast<int>(kind)];
  if (!free.empty()) return {};
  MILLRACE_TRY_ASSIGN(const Event event, create(kind));
  free.push_back(event);
  return {};
}

Result<SharedEvent> EventPool::take(Kind kind) {
  const auto give_back = [pool = shared_from_this(), kind](Event used) {
    const std::lock_guard lock(pool->mutex_);
    pool->free_[static_cast<int>(kind)].push_back(used);
  };
  std::unique_lock lock(mutex_);
  std::vector<Event>& free = free_[static_cast<int>(kind)];
  if (free.empty()) {
    MILLRACE_TRY_ASSIGN(const Event event, create(kind));
    free.push_back(event);
  }
  const Event event = free.back();
  free.pop_back();
  lock.unlock();  // if SharedEvent's constructor cannot allocate, it calls give_back, which locks
  return SharedEvent(event, give_back);
}

Status hung(Context& context, std::string_view where, std::chrono::nanoseconds limit) {
  const auto limit_ms = std::chrono::duration_cast<std::chrono::milliseconds>(limit).count();
  context.lose(
      device_lost(fmt::format("device '{}' is lost: {}: no work ended within {} ms; look for a kernel that does "
                              "not end, or raise the device's time_limit_ms",
                              context.name(), where, limit_ms)),
      true);
  return context.lost();
}

Result<bool> try_wait_for_event(Context& context, std::string_view where, Event event, std::chrono::nanoseconds limit) {
  const auto begin = std::chrono::steady_clock::now();
  auto lost_since = begin;
  for (std::uint32_t iteration = 0;; ++iteration) {
    const Error error = context.hip().hipEventQuery(event);
    if (error != Error::kNotReady) {
      MILLRACE_TRY(context.check(where, "hipEventQuery", error));
      return true;
    }
    const auto now = std::chrono::steady_clock::now();
    if (limit.count() > 0 && now - begin > limit) return false;
    if (!context.is_lost()) {
      lost_since = now;
    } else if (now - lost_since > kCloseLimit) {  // another call has lost the device: wait only this long
      return false;
    }
    if (iteration < 1000) {
      std::this_thread::yield();
    } else {
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
  }
}

Status wait_for_event(Context& context, std::string_view where, Event event, std::chrono::nanoseconds limit) {
  MILLRACE_TRY_ASSIGN(const bool is_done, try_wait_for_event(context, where, event, limit));
  return is_done ? Status() : hung(context, where, limit);
}

Result<std::shared_ptr<LoadedModule>> LoadedModule::load(std::shared_ptr<Context> context, std::string_view where,
                                                         SharedBytes code) {
  auto owner = std::make_shared<LoadedModule>(context, nullptr, std::move(code));  // made first, as for a stream
  Module module = nullptr;
  const Error error = context->hip().hipModuleLoadData(&module, owner->code_.data());
  MILLRACE_TRY(context->check(where, "hipModuleLoadData", error));
  owner->module_ = module;
  return owner;
}

LoadedModule::~LoadedModule() {
  if (module_ != nullptr) context_->release([&] { return context_->hip().hipModuleUnload(module_); });
}

}  // namespace millrace::hip
