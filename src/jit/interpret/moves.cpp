// SPDX-License-Identifier: Apache-2.0
// Steps that create or move values (constants, ids, copies, exchanges between threads), reports and barriers.
#include <algorithm>
#include <atomic>
#include <cstring>

#include <fmt/format.h>

#include "jit/interpret/program.h"
#include "millrace/base/float16.h"

namespace millrace::interpreter {
namespace {

template <class T>
const Step* fill(const Step* step, Frame& frame, T value) {
  std::fill_n(frame.at<T>(step->out), frame.num_threads, value);
  return step + 1;
}

template <class T>
const Step* run_constant(const Step* step, Frame& frame) {
  return fill(step, frame, static_cast<T>(step->immediate));
}

const Step* run_size(const Step* step, Frame& frame) { return fill(step, frame, frame.args->sizes[step->immediate]); }

const Step* run_workgroup_id(const Step* step, Frame& frame) { return fill(step, frame, frame.group); }

const Step* run_thread_id(const Step* step, Frame& frame) {
  auto* out = frame.at<std::int32_t>(step->out);
  for (std::uint32_t thread = 0; thread < frame.num_threads; ++thread) out[thread] = static_cast<std::int32_t>(thread);
  return step + 1;
}

template <class T>
const Step* run_extract(const Step* step, Frame& frame) {
  const T* from = frame.at<const T>(step->in[0]) + step->immediate;
  T* out = frame.at<T>(step->out);
  for (std::uint32_t thread = 0; thread < frame.num_threads; ++thread, from += step->lanes) out[thread] = *from;
  return step + 1;
}

template <class T>
const Step* run_interleave(const Step* step, Frame& frame) {
  const std::size_t half = step->lanes / 2, first = step->immediate * half;
  for (std::uint32_t thread = 0; thread < frame.num_threads; ++thread) {
    const std::size_t begin = std::size_t{thread} * step->lanes;
    const T* a = frame.at<const T>(step->in[0]) + begin + first;
    const T* b = frame.at<const T>(step->in[1]) + begin + first;
    T* out = frame.at<T>(step->out) + begin;
    for (std::size_t i = 0; i < half; ++i) {
      out[2 * i] = a[i];
      out[2 * i + 1] = b[i];
    }
  }
  return step + 1;
}

const Step* run_widen_f16(const Step* step, Frame& frame) {
  const auto* from = frame.at<const std::uint16_t>(step->in[0]);
  auto* out = frame.at<float>(step->out);
  const std::size_t count = std::size_t{step->lanes} * frame.num_threads;
  for (std::size_t i = 0; i < count; ++i) out[i] = static_cast<float>(Half::from_bits(from[i]));
  return step + 1;
}

const Step* run_narrow_f16(const Step* step, Frame& frame) {
  const auto* from = frame.at<const float>(step->in[0]);
  auto* out = frame.at<std::uint16_t>(step->out);
  const std::size_t count = std::size_t{step->lanes} * frame.num_threads;
  for (std::size_t i = 0; i < count; ++i) out[i] = Half(from[i]).bits;
  return step + 1;
}

const Step* run_copy(const Step* step, Frame& frame) {
  std::memcpy(frame.at<std::byte>(step->out), frame.at<std::byte>(step->in[0]), step->immediate);
  return step + 1;
}

/// kBytes is the number of bytes per thread; if it is 0, `immediate` is.
template <std::size_t kBytes>
const Step* run_masked_copy(const Step* step, Frame& frame) {
  const std::size_t bytes = kBytes != 0 ? kBytes : step->immediate;
  auto* out = frame.at<std::byte>(step->out);
  const auto* from = frame.at<const std::byte>(step->in[0]);
  const ThreadMask& mask = frame.masks[step->mask];
  if (mask.num_active == frame.num_threads) {
    std::memcpy(out, from, bytes * frame.num_threads);
    return step + 1;
  }
  for (std::uint32_t thread = 0; thread < frame.num_threads; ++thread) {
    if (mask.is_active[thread]) std::memcpy(out + thread * bytes, from + thread * bytes, bytes);
  }
  return step + 1;
}

/// Stops the run if only some of `size` consecutive threads are active; otherwise returns null.
const Step* check_whole(const Step* step, Frame& frame, std::uint32_t size, std::string_view what) {
  const ThreadMask& mask = frame.masks[step->mask];
  if (mask.num_active == frame.num_threads) return nullptr;
  for (std::uint32_t first = 0; first < frame.num_threads; first += size) {
    const auto begin = mask.is_active.begin() + first;
    const auto num_missing = std::count(begin, begin + size, 0);
    if (num_missing == 0 || num_missing == size) continue;
    const auto thread = std::find(begin, begin + size, 0) - mask.is_active.begin();
    return frame.stop(step, internal_error(fmt::format("{} of {} threads missing, the first is thread {}; "
                                                       "expected all of the {} here",
                                                       num_missing, size, thread, what)));
  }
  return nullptr;
}

/// Sets the result of thread t to the value of lane `lane_of(t)` of its subgroup.
template <class T, class LaneOf>
const Step* exchange(const Step* step, Frame& frame, LaneOf&& lane_of) {
  if (const Step* stop = check_whole(step, frame, frame.subgroup_size, "subgroup")) return stop;
  const T* from = frame.at<const T>(step->in[0]);
  T* out = frame.at<T>(step->out);
  const std::uint32_t last_lane = frame.subgroup_size - 1;
  for (std::uint32_t thread = 0; thread < frame.num_threads; ++thread) {
    out[thread] = from[(thread & ~last_lane) | (lane_of(thread) & last_lane)];
  }
  return step + 1;
}

template <class T>
const Step* run_shuffle(const Step* step, Frame& frame) {
  const auto* lanes = frame.at<const std::uint32_t>(step->in[1]);
  return exchange<T>(step, frame, [&](std::uint32_t thread) { return lanes[thread]; });
}

template <class T>
const Step* run_shuffle_xor(const Step* step, Frame& frame) {
  const auto mask = static_cast<std::uint32_t>(step->immediate);
  return exchange<T>(step, frame, [&](std::uint32_t thread) { return thread ^ mask; });
}

const Step* run_ballot(const Step* step, Frame& frame) {
  if (const Step* stop = check_whole(step, frame, frame.subgroup_size, "subgroup")) return stop;
  const bool* flags = frame.at<const bool>(step->in[0]);
  auto* out = frame.at<std::uint64_t>(step->out);
  for (std::uint32_t first = 0; first < frame.num_threads; first += frame.subgroup_size) {
    std::uint64_t bits = 0;
    for (std::uint32_t lane = 0; lane < frame.subgroup_size; ++lane) bits |= std::uint64_t{flags[first + lane]} << lane;
    std::fill_n(out + first, frame.subgroup_size, bits);
  }
  return step + 1;
}

const Step* run_report_error(const Step* step, Frame& frame) {
  const bool* flags = frame.at<const bool>(step->in[0]);
  const ThreadMask& mask = frame.masks[step->mask];
  bool any = false;
  for (std::uint32_t thread = 0; thread < frame.num_threads; ++thread, flags += step->lanes) {
    any |= mask.is_active[thread] != 0 && std::any_of(flags, flags + step->lanes, [](bool flag) { return flag; });
  }
  if (any) std::atomic_ref(*frame.args->status).fetch_or(static_cast<std::uint32_t>(step->immediate));
  return step + 1;
}

const Step* run_barrier(const Step* step, Frame& frame) {
  if (const Step* stop = check_whole(step, frame, frame.num_threads, "workgroup")) return stop;
  if (frame.observation.observer == nullptr) return step + 1;
  Status status = frame.observation.observer->barrier(frame.lines[step->instruction]);
  return status.ok() ? step + 1 : frame.stop(step, std::move(status));
}

/// Calls `pick` with the unsigned type that is as wide as the dtype.
template <class Pick>
Handler for_size(DType dtype, Pick&& pick) {
  switch (size_bytes(dtype)) {
    case 1:
      return pick.template operator()<std::uint8_t>();
    case 2:
      return pick.template operator()<std::uint16_t>();
    case 4:
      return pick.template operator()<std::uint32_t>();
    default:
      return pick.template operator()<std::uint64_t>();
  }
}

}  // namespace

const Step* Frame::stop(const Step* at, Status why) {
  static const Step kEnd;
  error = std::move(why);
  error_instruction = at->instruction;
  return &kEnd;
}

void Frame::shuffle(std::vector<std::uint32_t>& order) {
  if (observation.order_seed == 0) return;
  for (std::size_t i = order.size(); i > 1; --i) {
    random += 0x9e3779b97f4a7c15;  // splitmix64
    std::uint64_t bits = (random ^ (random >> 30)) * 0xbf58476d1ce4e5b9;
    bits = (bits ^ (bits >> 27)) * 0x94d049bb133111eb;
    std::swap(order[i - 1], order[(bits ^ (bits >> 31)) % i]);
  }
}

Handler copy_handler() { return run_copy; }

Handler masked_copy_handler(std::uint64_t bytes) {
  switch (bytes) {
    case 1:
      return run_masked_copy<1>;
    case 2:
      return run_masked_copy<2>;
    case 4:
      return run_masked_copy<4>;
    case 8:
      return run_masked_copy<8>;
    default:
      return run_masked_copy<0>;
  }
}

Handler move_handler(KernelOp op, DType result) {
  switch (op) {
    case KernelOp::kConstant:
      return for_size(result, []<class T>() -> Handler { return run_constant<T>; });
    case KernelOp::kSize:
      return run_size;
    case KernelOp::kWorkgroupId:
      return run_workgroup_id;
    case KernelOp::kThreadId:
      return run_thread_id;
    case KernelOp::kExtract:
      return for_size(result, []<class T>() -> Handler { return run_extract<T>; });
    case KernelOp::kInterleave:
      return for_size(result, []<class T>() -> Handler { return run_interleave<T>; });
    case KernelOp::kWidenF16:
      return run_widen_f16;
    case KernelOp::kNarrowF16:
      return run_narrow_f16;
    case KernelOp::kShuffle:
      return for_size(result, []<class T>() -> Handler { return run_shuffle<T>; });
    case KernelOp::kShuffleXor:
      return for_size(result, []<class T>() -> Handler { return run_shuffle_xor<T>; });
    case KernelOp::kBallot:
      return run_ballot;
    case KernelOp::kReportError:
      return run_report_error;
    case KernelOp::kBarrier:
      return run_barrier;
    default:
      return nullptr;
  }
}

}  // namespace millrace::interpreter
