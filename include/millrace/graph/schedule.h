// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/graph/dispatch.h"
#include "millrace/hal/command_list.h"

namespace millrace {

enum class ResourceId : std::uint32_t {};
enum class StepId : std::uint32_t {};

/// Who owns a resource's memory, and for how long. As IREE's Stream has them.
enum class Lifetime : std::uint8_t {
  kExternal,   // the caller's: inputs and outputs
  kConstant,   // the program's
  kTransient,  // one run's
};

/// "external", "constant", "transient".
std::string_view to_text(Lifetime);

struct Resource {
  std::string name = {};
  Lifetime lifetime = Lifetime::kTransient;
  SizeExpr size_bytes = 0;
  std::optional<std::uint32_t> input = {};   // the caller's argument number
  std::optional<std::uint32_t> output = {};  // the caller's result number
  std::shared_ptr<const std::vector<std::byte>> constant = {};
  // By pack_transients: where in the slab (transients) or the constants' binding, and, for transients, from which
  // timepoint to which it lives.
  SizeExpr offset_bytes = 0;
  SizeExpr reserved_bytes = 0;  // of the slab, from there: at least size_bytes
  std::uint32_t first_timepoint = 0, last_timepoint = 0;
};

struct ResourceRange {
  ResourceId resource{};
  SizeExpr offset_bytes, length_bytes;
};

/// One kernel launch or copy on the timeline. Its timepoint is the number of barriers before it: steps of one timepoint
/// may run together.
struct Step {
  std::string name;
  std::optional<KernelIndex> kernel;  // nothing: a copy of ranges[0] to ranges[1]
  std::optional<RegionId> region;     // which the kernel is of; nothing: of a copy
  SizeExpr num_groups = 1;
  std::vector<SizeExpr> sizes;
  std::optional<SizeExpr> flops = {};  // of this launch, as PlannedKernel::flops
  std::vector<ResourceRange> ranges;   // as the kernel's buffers
  std::vector<bool> writes;            // per range
  std::uint32_t timepoint = 0;         // by place_barriers
};

/// What runs when, on what memory: reads KernelSequences only, never code.
struct Schedule {
  IdVector<ResourceId, Resource> resources;
  IdVector<StepId, Step> steps;
  IdVector<KernelIndex, PlannedKernel> kernels;  // equal kernels once
  SizeExpr slab_bytes = 0;                       // by pack_transients
  std::int64_t constant_bytes = 0;               // likewise
};

/// A step per kernel and needed copy; transients for intermediate values and scratch. `sequences`: a row per region.
Result<Schedule> schedule_execution(const DispatchGraph&, const std::vector<std::vector<KernelSequence>>& sequences);
/// Orders steps by hazards: a step waits only for those whose memory it touches.
Status place_barriers(Schedule&);
/// Offsets in one slab, aligned to Buffer::kAlignment: transients whose lives do not meet share bytes. Greedy by size;
/// where a run binds sizes, which cannot be compared, whole slots are shared, each as large as its largest user.
/// Source: Pisarchyk & Lee, "Efficient Memory Management for Deep Neural Net Inference", arXiv:2001.03288.
/// Lives are counted in timepoints, so that steps which may run together never share: place_barriers comes first.
Status pack_transients(Schedule&);
/// Checks these invariants, of a schedule that is ordered and packed. Fails with kInternal and one line per failure.
/// O(n log n) in steps and resources.
/// * Steps have as many accesses as ranges, and name resources and kernels that there are. A copy has two ranges; a
/// kernel
///   has as many buffers and sizes as its KernelInfo says.
/// * Only transients and outputs are written, and neither is read before an earlier step writes it.
/// * Steps are in the order of their timepoints. Those of one timepoint do not meet: none writes what another touches.
/// * A transient lives at every timepoint at which a step uses it.
/// * Transients that live at the same time share no byte of the slab. Those of fixed sizes have room for their size and
///   are inside the slab. Places that a run sizes stand side by side after them and end with the slab; the users of one
///   place reserve the same bytes.
Status verify(const Schedule&);
std::string to_text(const Schedule&);
/// The memory plan, a transient a line: offset, bytes, first and last timepoint.
std::string memory_plan_text(const Schedule&);

/// Bindings: inputs, outputs, one for all constants, one for the slab.
Result<CommandList> record_commands(const Schedule&);

}  // namespace millrace
