// SPDX-License-Identifier: Apache-2.0
// Loops and branches. Threads that leave a loop or take the other branch are masked until the other threads reach the
// same place.
#include <fmt/format.h>

#include "jit/interpret/program.h"

namespace millrace::interpreter {
namespace {

template <class Index>
const Step* stop_at_step(const Step* step, Frame& frame, std::uint32_t thread, Index found) {
  return frame.stop(step, internal_error(fmt::format("thread {}: a step of {}, expected more than 0", thread, found)));
}

/// Whether another iteration follows this one.
template <class Index>
bool advance(Index& index, Index upper, Index by) {
  const bool has_wrapped = __builtin_add_overflow(index, by, &index);
  return !has_wrapped && index < upper;
}

template <class Index>
const Step* run_for_begin(const Step* step, Frame& frame) {
  const Index lower = *frame.at<Index>(step->in[0]), by = *frame.at<Index>(step->in[2]);
  if (by <= 0) return stop_at_step(step, frame, 0, by);
  *frame.at<Index>(step->out) = lower;
  return lower < *frame.at<Index>(step->in[1]) ? step + 1 : step + step->jump;
}

template <class Index>
const Step* run_for_end(const Step* step, Frame& frame) {
  Index& index = *frame.at<Index>(step->out);
  return advance(index, *frame.at<Index>(step->in[1]), *frame.at<Index>(step->in[2])) ? step + step->jump : step + 1;
}

const Step* run_unless(const Step* step, Frame& frame) {
  return *frame.at<bool>(step->in[0]) ? step + 1 : step + step->jump;
}

const Step* run_jump(const Step* step, Frame&) { return step + step->jump; }

/// The immediate is the mask of the threads that run another iteration.
template <class Index>
const Step* run_threads_for_begin(const Step* step, Frame& frame) {
  const auto *lower = frame.at<Index>(step->in[0]), *upper = frame.at<Index>(step->in[1]);
  const auto* by = frame.at<Index>(step->in[2]);
  auto* index = frame.at<Index>(step->out);
  const ThreadMask& outer = frame.masks[step->mask];
  ThreadMask& inner = frame.masks[step->immediate];
  inner.num_active = 0;
  for (std::uint32_t thread = 0; thread < frame.num_threads; ++thread) {
    inner.is_active[thread] = 0;
    if (!outer.is_active[thread]) continue;
    if (by[thread] <= 0) return stop_at_step(step, frame, thread, by[thread]);
    index[thread] = lower[thread];
    inner.is_active[thread] = lower[thread] < upper[thread];
    inner.num_active += inner.is_active[thread];
  }
  return inner.num_active > 0 ? step + 1 : step + step->jump;
}

template <class Index>
const Step* run_threads_for_end(const Step* step, Frame& frame) {
  const auto *upper = frame.at<Index>(step->in[1]), *by = frame.at<Index>(step->in[2]);
  auto* index = frame.at<Index>(step->out);
  ThreadMask& inner = frame.masks[step->immediate];
  inner.num_active = 0;
  for (std::uint32_t thread = 0; thread < frame.num_threads; ++thread) {
    if (!inner.is_active[thread]) continue;
    inner.is_active[thread] = advance(index[thread], upper[thread], by[thread]);
    inner.num_active += inner.is_active[thread];
  }
  return inner.num_active > 0 ? step + step->jump : step + 1;
}

/// The immediate is the mask of the threads that execute the first block. The mask after it is for the other threads.
const Step* run_threads_if(const Step* step, Frame& frame) {
  const auto* condition = frame.at<const std::uint8_t>(step->in[0]);
  const ThreadMask& outer = frame.masks[step->mask];
  ThreadMask& first = frame.masks[step->immediate];
  ThreadMask& second = frame.masks[step->immediate + 1];
  first.num_active = 0;
  for (std::uint32_t thread = 0; thread < frame.num_threads; ++thread) {
    first.is_active[thread] = outer.is_active[thread] & condition[thread];
    second.is_active[thread] = outer.is_active[thread] & ~condition[thread];
    first.num_active += first.is_active[thread];
  }
  second.num_active = outer.num_active - first.num_active;
  return first.num_active > 0 ? step + 1 : step + step->jump;
}

const Step* run_threads_else(const Step* step, Frame& frame) {
  return frame.masks[step->immediate + 1].num_active > 0 ? step + 1 : step + step->jump;
}

template <class Index>
ControlHandlers pick_handlers(bool is_threads) {
  if (is_threads) {
    return {run_threads_for_begin<Index>, run_threads_for_end<Index>, run_threads_if, run_threads_else};
  }
  return {run_for_begin<Index>, run_for_end<Index>, run_unless, run_jump};
}

}  // namespace

ControlHandlers control_handlers(DType index, bool is_threads) {
  return index == DType::kI32 ? pick_handlers<std::int32_t>(is_threads) : pick_handlers<std::int64_t>(is_threads);
}

}  // namespace millrace::interpreter
