// SPDX-License-Identifier: Apache-2.0
// Steps that load and store. They move bits, so the handler depends only on the element size, except for bools: any
// nonzero byte loads as true.
#include <concepts>
#include <cstring>

#include <fmt/format.h>

#include "jit/interpret/program.h"

namespace millrace::interpreter {
namespace {

bool contains(const MemoryView& memory, std::int64_t offset, std::uint64_t count) {
  return offset >= 0 && count <= memory.num_elements &&
         static_cast<std::uint64_t>(offset) <= memory.num_elements - count;
}

template <class T>
T* element(const MemoryView& memory, std::uint32_t thread, std::int64_t offset) {
  return reinterpret_cast<T*>(memory.data + thread * memory.thread_bytes) + offset;
}

template <class T>
void read(T* to, const T* from, std::size_t count) {
  if constexpr (std::same_as<T, bool>) {
    // Reads bytes, because reading a bool that is neither 0 nor 1 is undefined behaviour.
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(from);
    for (std::size_t i = 0; i < count; ++i) to[i] = bytes[i] != 0;
  } else {
    std::memcpy(to, from, count * sizeof(T));
  }
}

/// An access outside its slot is a bug in Millrace. Stops the run before the access can overwrite another slot.
const Step* stop_outside(const Step* step, Frame& frame, std::uint32_t thread) {
  return frame.stop(step, internal_error(fmt::format("thread {} leaves the slot, which has {} elements", thread,
                                                     frame.memory[step->memory].num_elements)));
}

/// Calls access(thread) for each active thread. If it returns false, the access would be outside the slot; stops with
/// an error at the first such thread.
template <bool kThreads, class Access>
const Step* for_each_thread(const Step* step, Frame& frame, Access&& access) {
  if constexpr (!kThreads) {
    return access(0u) ? step + 1 : stop_outside(step, frame, 0);
  } else {
    const ThreadMask& mask = frame.masks[step->mask];
    for (std::uint32_t thread = 0; thread < frame.num_threads; ++thread) {
      if (mask.is_active[thread] && !access(thread)) return stop_outside(step, frame, thread);
    }
    return step + 1;
  }
}

template <class T, class Offset, bool kThreads>
const Step* run_load(const Step* step, Frame& frame) {
  const MemoryView& memory = frame.memory[step->memory];
  const Offset* offsets = frame.at<Offset>(step->in[0]);
  T* out = frame.at<T>(step->out);
  return for_each_thread<kThreads>(step, frame, [&](std::uint32_t thread) {
    if (!contains(memory, offsets[thread], step->lanes)) return false;
    read(out + thread * step->lanes, element<T>(memory, thread, offsets[thread]), step->lanes);
    return true;
  });
}

template <class T, class Offset, bool kThreads>
const Step* run_store(const Step* step, Frame& frame) {
  const MemoryView& memory = frame.memory[step->memory];
  const Offset* offsets = frame.at<Offset>(step->in[0]);
  const T* values = frame.at<T>(step->in[1]);
  return for_each_thread<kThreads>(step, frame, [&](std::uint32_t thread) {
    if (!contains(memory, offsets[thread], step->lanes)) return false;
    T* to = element<T>(memory, thread, offsets[thread]);
    std::memcpy(to, values + thread * step->lanes, step->lanes * sizeof(T));
    return true;
  });
}

/// The interpreter has no caches to bypass, but checks what the machine code relies on.
template <class T, class Offset, bool kThreads>
const Step* run_store_streaming(const Step* step, Frame& frame) {
  const Offset* offsets = frame.at<Offset>(step->in[0]);
  for (std::uint32_t thread = 0; thread < frame.num_threads; ++thread) {
    const bool is_active = !kThreads || frame.masks[step->mask].is_active[thread];
    if (!is_active || offsets[thread] % static_cast<Offset>(step->lanes) == 0) continue;
    return frame.stop(
        step, internal_error(fmt::format("offset {}, expected a multiple of {}", offsets[thread], step->lanes)));
  }
  return run_store<T, Offset, kThreads>(step, frame);
}

/// Loads lane i of a thread from `offset_of(thread, i)` if the lane's mask is set; otherwise copies it from in[2].
template <class T, bool kThreads, class OffsetOf>
const Step* load_lanes(const Step* step, Frame& frame, OffsetOf&& offset_of) {
  const MemoryView& memory = frame.memory[step->memory];
  return for_each_thread<kThreads>(step, frame, [&](std::uint32_t thread) {
    const std::size_t first = std::size_t{thread} * step->lanes;
    const bool* mask = frame.at<bool>(step->in[1]) + first;
    const T* other = frame.at<T>(step->in[2]) + first;
    T* out = frame.at<T>(step->out) + first;
    for (std::uint32_t i = 0; i < step->lanes; ++i) {
      out[i] = other[i];
      if (!mask[i]) continue;
      const std::int64_t offset = offset_of(thread, i);
      if (!contains(memory, offset, 1)) return false;
      read(&out[i], element<T>(memory, thread, offset), 1);
    }
    return true;
  });
}

template <class T, bool kThreads, class OffsetOf>
const Step* store_lanes(const Step* step, Frame& frame, OffsetOf&& offset_of) {
  const MemoryView& memory = frame.memory[step->memory];
  return for_each_thread<kThreads>(step, frame, [&](std::uint32_t thread) {
    const std::size_t first = std::size_t{thread} * step->lanes;
    const bool* mask = frame.at<bool>(step->in[1]) + first;
    const T* value = frame.at<T>(step->in[2]) + first;
    for (std::uint32_t i = 0; i < step->lanes; ++i) {
      if (!mask[i]) continue;
      const std::int64_t offset = offset_of(thread, i);
      if (!contains(memory, offset, 1)) return false;
      std::memcpy(element<T>(memory, thread, offset), &value[i], sizeof(T));
    }
    return true;
  });
}

/// The offsets of a masked load or store: consecutive, beginning at the thread's offset.
template <class Offset>
auto consecutive(const Step* step, Frame& frame) {
  const Offset* offsets = frame.at<Offset>(step->in[0]);
  return [offsets](std::uint32_t thread, std::uint32_t i) { return std::int64_t{offsets[thread]} + i; };
}
/// The offsets of a gather or scatter: one per lane.
template <class Offset>
auto separate(const Step* step, Frame& frame) {
  const Offset* offsets = frame.at<Offset>(step->in[0]);
  const std::size_t lanes = step->lanes;
  return [offsets, lanes](std::uint32_t thread, std::uint32_t i) { return std::int64_t{offsets[thread * lanes + i]}; };
}

template <class T, class Offset, bool kThreads>
const Step* run_load_masked(const Step* step, Frame& frame) {
  return load_lanes<T, kThreads>(step, frame, consecutive<Offset>(step, frame));
}
template <class T, class Offset, bool kThreads>
const Step* run_gather(const Step* step, Frame& frame) {
  return load_lanes<T, kThreads>(step, frame, separate<Offset>(step, frame));
}
template <class T, class Offset, bool kThreads>
const Step* run_store_masked(const Step* step, Frame& frame) {
  return store_lanes<T, kThreads>(step, frame, consecutive<Offset>(step, frame));
}
template <class T, class Offset, bool kThreads>
const Step* run_scatter(const Step* step, Frame& frame) {
  return store_lanes<T, kThreads>(step, frame, separate<Offset>(step, frame));
}

template <class T, class Offset, bool kThreads>
Handler pick_handler(KernelOp op) {
  switch (op) {
    case KernelOp::kLoadVector:
      return run_load<T, Offset, kThreads>;
    case KernelOp::kLoadMasked:
      return run_load_masked<T, Offset, kThreads>;
    case KernelOp::kGather:
      return run_gather<T, Offset, kThreads>;
    case KernelOp::kStoreVector:
      return run_store<T, Offset, kThreads>;
    case KernelOp::kStoreStreaming:
      return run_store_streaming<T, Offset, kThreads>;
    case KernelOp::kStoreMasked:
      return run_store_masked<T, Offset, kThreads>;
    case KernelOp::kScatter:
      return run_scatter<T, Offset, kThreads>;
    default:
      return nullptr;
  }
}

template <class Offset, bool kThreads>
Handler pick_size(KernelOp op, DType dtype) {
  if (dtype == DType::kBool) return pick_handler<bool, Offset, kThreads>(op);
  switch (size_bytes(dtype)) {
    case 1:
      return pick_handler<std::uint8_t, Offset, kThreads>(op);
    case 2:
      return pick_handler<std::uint16_t, Offset, kThreads>(op);
    case 4:
      return pick_handler<std::uint32_t, Offset, kThreads>(op);
    default:
      return pick_handler<std::uint64_t, Offset, kThreads>(op);
  }
}

}  // namespace

Handler memory_handler(KernelOp op, DType dtype, DType offset, bool is_threads) {
  if (offset == DType::kI32) {
    return is_threads ? pick_size<std::int32_t, true>(op, dtype) : pick_size<std::int32_t, false>(op, dtype);
  }
  return is_threads ? pick_size<std::int64_t, true>(op, dtype) : pick_size<std::int64_t, false>(op, dtype);
}

}  // namespace millrace::interpreter
