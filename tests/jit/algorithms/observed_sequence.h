// SPDX-License-Identifier: Apache-2.0
// The kernels of a sequence for a GPU, run while the simulator observes them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "millrace/hal/memory_observer.h"
#include "millrace/jit/algorithm.h"

namespace millrace::test {

/// "gfx1100": a target for which kernels are planned; nothing is emitted.
Target gpu_target(std::string_view gfx);

struct BoundBytes {
  void* data = nullptr;
  std::uint64_t size = 0;
};

struct SequenceRun {
  std::vector<BoundBytes> operands, results;
  SymbolValues symbols = {};
  std::uint64_t order_seed = 0;
};

/// The first finding of the simulator; empty: none. Scratch holds garbage at first.
std::string finding_in(const KernelSequence&, const SequenceRun&);

/// Bytes that all kernels load and store, by the kind of memory that they are bound to: operands, results or scratch.
struct TrafficBytes {
  std::uint64_t operands_loaded = 0, results_stored = 0, scratch_loaded = 0, scratch_stored = 0;
};
TrafficBytes traffic_of(const KernelSequence&, const SequenceRun&);

struct Mistakes {
  std::size_t num_found = 0;
  std::size_t num_harmless = 0;  // bounds that may as well hold for equals, guards and masks that only save work
};

/// Calls `complaint_of` with the sequence, one of its kernels made wrong in one place at a time: each barrier left out,
/// each bound off by one, each slot shorter, each guard always taken, each mask off by one and left out, each pair of
/// slots at one place. It returns its complaint, which may be wrong results, and must find every mistake except
/// harmless bounds, guards and masks.
using ComplaintOf = std::function<std::string(const KernelSequence&)>;
Mistakes find_mistakes(const KernelSequence&, std::size_t kernel, const ComplaintOf& complaint_of);
/// In all of its kernels.
Mistakes find_mistakes(const KernelSequence&, const ComplaintOf& complaint_of);
/// The same with each loop of all kernels a step longer, and a step shorter.
Mistakes find_loop_mistakes(const KernelSequence&, const ComplaintOf& complaint_of);

}  // namespace millrace::test
