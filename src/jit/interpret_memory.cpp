// SPDX-License-Identifier: Apache-2.0
// Loads and stores move bits, so they are chosen by the size of an element; but a bool is made of any byte.
#include <atomic>
#include <concepts>
#include <cstring>

#include "jit/interpret_program.h"
#include "jit/lane_ops.h"

namespace millrace::interpreter {
namespace {

/// A kernel that leaves its own memory is our error, so it stops here rather than overwrite another slot.
void check_range(const MemoryView& memory, std::int64_t offset, std::uint64_t count) {
  MILLRACE_CHECK(offset >= 0 && count <= memory.num_elements &&
                 static_cast<std::uint64_t>(offset) <= memory.num_elements - count);
}

template <class T>
T* element(const MemoryView& memory, std::int64_t offset) {
  return reinterpret_cast<T*>(memory.data) + offset;
}

template <class T>
void read(T* to, const T* from, std::size_t count) {
  if constexpr (std::same_as<T, bool>) {
    // As bytes: a bool that is neither 0 nor 1 must not even be looked at.
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(from);
    for (std::size_t i = 0; i < count; ++i) to[i] = bytes[i] != 0;
  } else {
    std::memcpy(to, from, count * sizeof(T));
  }
}

template <class T, class Offset>
const Step* run_load(const Step* step, Frame& frame) {
  const MemoryView& memory = frame.memory[step->memory];
  const std::int64_t offset = *frame.at<Offset>(step->in[0]);
  check_range(memory, offset, step->lanes);
  read(frame.at<T>(step->out), element<T>(memory, offset), step->lanes);
  return step + 1;
}

template <class T, class Offset>
const Step* run_store(const Step* step, Frame& frame) {
  const MemoryView& memory = frame.memory[step->memory];
  const std::int64_t offset = *frame.at<Offset>(step->in[0]);
  check_range(memory, offset, step->lanes);
  std::memcpy(element<T>(memory, offset), frame.at<T>(step->in[1]), step->lanes * sizeof(T));
  return step + 1;
}

/// Loads lane i from `offset_of(i)` where the mask says so.
template <class T, class OffsetOf>
const Step* load_lanes(const Step* step, Frame& frame, OffsetOf&& offset_of) {
  const MemoryView& memory = frame.memory[step->memory];
  const bool* mask = frame.at<bool>(step->in[1]);
  const T* other = frame.at<T>(step->in[2]);
  T* out = frame.at<T>(step->out);
  for (std::uint32_t i = 0; i < step->lanes; ++i) {
    out[i] = other[i];
    if (!mask[i]) continue;
    const std::int64_t offset = offset_of(i);
    check_range(memory, offset, 1);
    read(&out[i], element<T>(memory, offset), 1);
  }
  return step + 1;
}

template <class T, class OffsetOf>
const Step* store_lanes(const Step* step, Frame& frame, OffsetOf&& offset_of) {
  const MemoryView& memory = frame.memory[step->memory];
  const bool* mask = frame.at<bool>(step->in[1]);
  const T* value = frame.at<T>(step->in[2]);
  for (std::uint32_t i = 0; i < step->lanes; ++i) {
    if (!mask[i]) continue;
    const std::int64_t offset = offset_of(i);
    check_range(memory, offset, 1);
    std::memcpy(element<T>(memory, offset), &value[i], sizeof(T));
  }
  return step + 1;
}

template <class T, class Offset>
const Step* run_load_masked(const Step* step, Frame& frame) {
  const std::int64_t first = *frame.at<Offset>(step->in[0]);
  return load_lanes<T>(step, frame, [&](std::uint32_t i) { return first + i; });
}
template <class T, class Offset>
const Step* run_gather(const Step* step, Frame& frame) {
  const Offset* offsets = frame.at<Offset>(step->in[0]);
  return load_lanes<T>(step, frame, [&](std::uint32_t i) { return offsets[i]; });
}
template <class T, class Offset>
const Step* run_store_masked(const Step* step, Frame& frame) {
  const std::int64_t first = *frame.at<Offset>(step->in[0]);
  return store_lanes<T>(step, frame, [&](std::uint32_t i) { return first + i; });
}
template <class T, class Offset>
const Step* run_scatter(const Step* step, Frame& frame) {
  const Offset* offsets = frame.at<Offset>(step->in[0]);
  return store_lanes<T>(step, frame, [&](std::uint32_t i) { return offsets[i]; });
}

/// Groups run at the same time on other threads of the host.
template <class T, class Offset, class Combine>
const Step* update(const Step* step, Frame& frame, Combine&& combine) {
  const MemoryView& memory = frame.memory[step->memory];
  const std::int64_t offset = *frame.at<Offset>(step->in[0]);
  check_range(memory, offset, 1);
  const T value = *frame.at<T>(step->in[1]);
  std::atomic_ref<T> place(*element<T>(memory, offset));
  T old = place.load(std::memory_order_relaxed);
  while (!place.compare_exchange_weak(old, combine(old, value), std::memory_order_relaxed)) {
  }
  *frame.at<T>(step->out) = old;
  return step + 1;
}

template <KernelOp kCombine, class T, class Offset>
const Step* run_atomic(const Step* step, Frame& frame) {
  return update<T, Offset>(step, frame, [](T old, T value) { return lane_ops::LaneOp<kCombine>::apply(old, value); });
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

template <class T, class Offset>
Handler pick_memory_handler(KernelOp op) {
  switch (op) {
    case KernelOp::kLoadVector:
      return run_load<T, Offset>;
    case KernelOp::kLoadMasked:
      return run_load_masked<T, Offset>;
    case KernelOp::kGather:
      return run_gather<T, Offset>;
    case KernelOp::kStoreVector:
      return run_store<T, Offset>;
    case KernelOp::kStoreMasked:
      return run_store_masked<T, Offset>;
    case KernelOp::kScatter:
      return run_scatter<T, Offset>;
    default:
      return nullptr;
  }
}

/// Calls `pick` with the type of offsets.
template <class Pick>
Handler for_offset(DType offset, Pick&& pick) {
  return offset == DType::kI32 ? pick.template operator()<std::int32_t>() : pick.template operator()<std::int64_t>();
}

}  // namespace

Handler memory_handler(KernelOp op, DType dtype, DType offset) {
  return for_offset(offset, [&]<class Offset>() {
    if (dtype == DType::kBool) return pick_memory_handler<bool, Offset>(op);
    switch (size_bytes(dtype)) {
      case 1:
        return pick_memory_handler<std::uint8_t, Offset>(op);
      case 2:
        return pick_memory_handler<std::uint16_t, Offset>(op);
      case 4:
        return pick_memory_handler<std::uint32_t, Offset>(op);
      default:
        return pick_memory_handler<std::uint64_t, Offset>(op);
    }
  });
}

Handler atomic_handler(KernelOp op, DType dtype, DType offset) {
  return for_offset(offset, [&]<class Offset>() {
    return visit_dtype(dtype, [&]<class T>() -> Handler {
      if constexpr (takes(KernelOp::kAtomicAdd, dtype_of<T>)) return pick_atomic_handler<T, Offset>(op);
      return nullptr;
    });
  });
}

}  // namespace millrace::interpreter
