// SPDX-License-Identifier: Apache-2.0
// The steps that execute atomics, inform observers or count instructions.
#include <atomic>

#include <fmt/format.h>

#include "jit/interpret/program.h"
#include "jit/ir/host_ops.h"

namespace millrace::interpreter {
namespace {

template <class T, class Offset, class Combine>
const Step* update(const Step* step, Frame& frame, Combine&& combine) {
  const MemoryView& memory = frame.memory[step->memory];
  const Offset* offsets = frame.at<Offset>(step->in[0]);
  const T* values = frame.at<T>(step->in[1]);
  T* out = frame.at<T>(step->out);
  frame.shuffle(frame.thread_order);
  for (const std::uint32_t thread : frame.thread_order) {
    if (!frame.masks[step->mask].is_active[thread]) continue;
    const std::int64_t offset = offsets[thread];
    if (offset < 0 || static_cast<std::uint64_t>(offset) >= memory.num_elements) {
      return frame.stop(step, internal_error(fmt::format("thread {} leaves the slot, which has {} elements", thread,
                                                         memory.num_elements)));
    }
    // Other host threads may run other groups at the same time.
    std::atomic_ref<T> place(reinterpret_cast<T*>(memory.data)[offset]);
    T old = place.load(std::memory_order_relaxed);
    while (!place.compare_exchange_weak(old, combine(old, values[thread]), std::memory_order_relaxed)) {
    }
    out[thread] = old;
  }
  return step + 1;
}

template <KernelOp kCombine, class T, class Offset>
const Step* run_atomic(const Step* step, Frame& frame) {
  return update<T, Offset>(step, frame, [](T old, T value) { return host_ops::HostOp<kCombine>::apply(old, value); });
}

template <class T, class Offset>
const Step* run_exchange(const Step* step, Frame& frame) {
  return update<T, Offset>(step, frame, [](T, T value) { return value; });
}

template <class T, class Offset>
Handler pick_atomic_handler(KernelOp op) {
  switch (op) {
    case KernelOp::kAtomicAdd:
      return run_atomic<KernelOp::kAdd, T, Offset>;
    case KernelOp::kAtomicMin:
      return run_atomic<KernelOp::kMin, T, Offset>;
    case KernelOp::kAtomicMax:
      return run_atomic<KernelOp::kMax, T, Offset>;
    case KernelOp::kAtomicOr:
      return run_atomic<KernelOp::kOr, T, Offset>;
    default:
      return run_exchange<T, Offset>;
  }
}

/// For each active thread, calls `describe(thread)`, which adds the thread's accesses. Then informs the observer.
template <class Describe>
const Step* observe(const Step* step, Frame& frame, Describe&& describe) {
  frame.accesses.clear();
  const ThreadMask& mask = frame.masks[step->mask];
  for (std::uint32_t thread = 0; thread < frame.num_threads; ++thread) {
    if (mask.is_active[thread]) describe(thread);
  }
  Status status = frame.observation.observer->access({.kind = static_cast<AccessKind>(step->immediate),
                                                      .memory = step->memory,
                                                      .line = frame.lines[step->instruction],
                                                      .threads = frame.accesses});
  return status.ok() ? step + 1 : frame.stop(step, std::move(status));
}

template <class Offset>
const Step* observe_whole(const Step* step, Frame& frame) {
  const Offset* offsets = frame.at<Offset>(step->in[0]);
  return observe(step, frame, [&](std::uint32_t thread) {
    frame.accesses.push_back({.thread = thread, .num_elements = step->lanes, .first_element = offsets[thread]});
  });
}

template <class Offset, bool kConsecutive>
const Step* observe_masked(const Step* step, Frame& frame) {
  const Offset* offsets = frame.at<Offset>(step->in[0]);
  const bool* mask = frame.at<bool>(step->in[1]);
  return observe(step, frame, [&](std::uint32_t thread) {
    const std::size_t first = std::size_t{thread} * step->lanes;
    for (std::uint32_t i = 0; i < step->lanes; ++i) {
      if (!mask[first + i]) continue;
      const std::int64_t offset = kConsecutive ? std::int64_t{offsets[thread]} + i : offsets[first + i];
      frame.accesses.push_back({.thread = thread, .num_elements = 1, .first_element = offset});
    }
  });
}

const Step* run_count(const Step* step, Frame& frame) {
  frame.lane_instructions += step->immediate * frame.masks[step->mask].num_active;
  const std::uint64_t max_instructions = frame.observation.max_lane_instructions;
  if (frame.lane_instructions <= max_instructions) return step + 1;
  return frame.stop(
      step, resource_exhausted(fmt::format("more than {} lane instructions, the limit of this run", max_instructions)));
}

template <class Offset>
Handler pick_observe_handler(KernelOp op) {
  switch (op) {
    case KernelOp::kLoadMasked:
    case KernelOp::kStoreMasked:
      return observe_masked<Offset, true>;
    case KernelOp::kGather:
    case KernelOp::kScatter:
      return observe_masked<Offset, false>;
    default:
      return observe_whole<Offset>;
  }
}

}  // namespace

Handler atomic_handler(KernelOp op, DType dtype, DType offset) {
  return visit_dtype(dtype, [&]<class T>() -> Handler {
    if constexpr (takes(KernelOp::kAtomicAdd, dtype_of<T>)) {
      return offset == DType::kI32 ? pick_atomic_handler<T, std::int32_t>(op)
                                   : pick_atomic_handler<T, std::int64_t>(op);
    }
    return nullptr;
  });
}

Handler count_handler() { return run_count; }

Handler observe_handler(KernelOp op, DType offset) {
  return offset == DType::kI32 ? pick_observe_handler<std::int32_t>(op) : pick_observe_handler<std::int64_t>(op);
}

}  // namespace millrace::interpreter
