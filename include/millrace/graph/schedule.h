// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/graph/dispatch.h"
#include "millrace/graph/schedule_order.h"
#include "millrace/hal/command_list.h"

namespace millrace {

enum class ResourceId : std::uint32_t {};
enum class StepId : std::uint32_t {};
enum class PartId : std::uint32_t {};

/// Who owns the memory of a resource, and for how long. Source: IREE's Stream dialect.
enum class Lifetime : std::uint8_t {
  kExternal,   // memory of the caller: inputs and outputs
  kConstant,   // memory of the program
  kTransient,  // memory that one run needs
  kVariable,   // memory of a session, which keeps its bytes from run to run
};

/// "external", "constant", "transient", "variable".
std::string_view to_text(Lifetime);

struct Resource {
  std::string name = {};
  Lifetime lifetime = Lifetime::kTransient;
  SizeExpr size_bytes = 0;
  std::optional<std::uint32_t> input = {};   // index of the caller's argument
  std::optional<std::uint32_t> output = {};  // index of the caller's result
  SharedBytes constant = {};
  std::optional<std::uint32_t> prepared = {};  // for a constant without bytes: ConstantNode::prepared
  // Set by pack_transients: the offset in the slab (transients) or in the constants' or the variables' binding, and,
  // for transients, the first and the last timepoint at which it lives.
  SizeExpr offset_bytes = 0;
  SizeExpr reserved_bytes = 0;  // reserved in the slab from offset_bytes on: at least size_bytes
  std::uint32_t first_timepoint = 0, last_timepoint = 0;

  /// Whether steps write it. Inputs and constants are only read.
  bool is_computed() const {
    return lifetime == Lifetime::kTransient || lifetime == Lifetime::kVariable || output.has_value();
  }
};

/// A value inside a resource: an operand of a concat or pad, which its producer writes directly into the result.
struct ResourcePart {
  std::string name;
  ResourceId resource{};
  std::optional<PartId> inside = {};  // an earlier part; absent: directly in the resource
  ByteRange bytes = {};               // within that part or resource
};

/// How a step uses a resource.
struct ResourceUse {
  ResourceId resource{};
  bool is_written = false;
  std::optional<ByteRange> touched = {};  // within the kernel's buffer; absent: possibly all of it
  std::optional<PartId> part = {};        // the kernel's buffer; absent: the whole resource
};

struct Schedule;

/// The place of a body's resource: within one of the buffers of the step that holds the body.
struct BodyPlace {
  std::uint32_t use = 0;  // index in Step::uses
  SizeExpr offset_bytes = 0;
};

/// The body of a loop or a branch of a condition: a schedule of its own, whose memory the step provides.
struct StepBody {
  std::shared_ptr<const Schedule> schedule;
  IdVector<ResourceId, BodyPlace> places;      // where the body's resources are
  IdVector<KernelIndex, KernelIndex> kernels;  // the body's kernels -> kernels of the outer schedule
};

struct StepControl {
  bool is_loop = false;  // otherwise a condition, with two bodies
  std::vector<StepBody> bodies;
};

/// A kernel launch, a copy, a loop or a condition on the timeline. Its timepoint is the number of barriers before it;
/// steps with the same timepoint may run concurrently, even on different queues.
struct Step {
  std::string name;
  std::string label = {};                           // its region's label
  std::optional<KernelIndex> kernel;                // absent: a loop, a condition, or a copy from uses[0] to uses[1]
  std::shared_ptr<const StepControl> control = {};  // for a loop or a condition; uses[0] is its condition byte
  std::optional<RegionId> region;                   // of the kernel, loop or condition; absent: a copy
  SizeExpr num_groups = 1;
  std::vector<SizeExpr> sizes;
  std::optional<SizeExpr> flops = {};          // of this launch, like PlannedKernel::flops
  SizeExpr bytes_read = 0, bytes_written = 0;  // see BufferTraffic
  std::vector<ResourceUse> uses;               // in the order of the kernel's buffers
  std::uint32_t timepoint = 0;                 // set by arrange_steps or place_barriers
  std::uint32_t number = 0;                    // its position in the graph's order
  std::string copy_reason = {};                // for a copy: why it is needed

  bool is_copy() const { return !kernel && control == nullptr; }
  /// "exp_0 (layer3/q)".
  std::string display_name() const { return labelled(name, label); }
};

/// Which steps run when, and in which memory. Made only from KernelSequences, without code.
struct Schedule {
  IdVector<ResourceId, Resource> resources;
  IdVector<PartId, ResourcePart> parts;
  IdVector<StepId, Step> steps;
  IdVector<KernelIndex, PlannedKernel> kernels;          // equal kernels are listed once
  SizeExpr slab_bytes = 0;                               // set by pack_transients
  std::int64_t constant_bytes = 0, variable_bytes = 0;   // set by pack_transients
  ScheduleOrder order = ScheduleOrder::kMaxConcurrency;  // set by arrange_steps
  /// Whether this is the schedule of a body. The step that holds the body then places its variables, which may have any
  /// size, and provides its slab.
  bool is_body = false;

  /// Whether the size of some transient is known only at run time. Each transient is then a binding of its own, which
  /// each run places within `slab_bytes`.
  bool is_placed_by_runs() const;
  /// The bytes of the resource that a use may touch.
  ByteRange touched_bytes(const ResourceUse&) const;
  /// The bytes of the resource that the kernel gets as its buffer.
  ByteRange kernel_buffer_bytes(const ResourceUse&) const;
};

/// The constants that the kernels of `sequences` and the graph's outputs read. `sequences` has one row per region.
std::set<Value> find_read_constants(const DispatchGraph&, const std::vector<std::vector<KernelSequence>>& sequences);
/// The schedules of the bodies of loops and conditions.
using ScheduledBodies = std::map<RegionId, std::vector<std::shared_ptr<const Schedule>>>;

/// Makes one step per kernel, per copy and per loop or condition, and transients for intermediate values and scratch.
/// All `constants` get memory, in this order, even those that this target's kernels do not read: given the same set,
/// all targets lay the constants out alike.
Result<Schedule> schedule_execution(const DispatchGraph&, const std::vector<std::vector<KernelSequence>>& sequences,
                                    const std::set<Value>& constants, const ScheduledBodies& bodies = {});
/// Chooses the steps' order and timepoints, then packs. The steps must be in the graph's order, as schedule_execution
/// makes them.
Status arrange_steps(Schedule&, ScheduleOrder);
/// Sets timepoints, each as early as possible, and orders the steps by them. A step waits for an earlier step only if
/// both touch the same bytes and at least one of them writes. Ranges whose places are known only at run time count as
/// overlapping unless they are known to be disjoint for every binding. O(n log n) in uses.
Status place_barriers(Schedule&);
/// Assigns offsets in one slab, aligned to Buffer::kAlignment. Transients that do not live at the same time share
/// bytes. Constant sizes are packed greedily in several orders, and the best packing is kept. Symbolic sizes cannot be
/// compared, so transients with symbolic sizes share whole slots; a slot is as large as its largest user. Source:
/// Pisarchyk & Lee, "Efficient Memory Management for Deep Neural Net Inference", arXiv:2001.03288. Lifetimes are
/// counted in timepoints, so that steps which may run concurrently never share bytes. Precondition: place_barriers.
Status pack_transients(Schedule&);
/// Checks these invariants of a schedule that is ordered and packed. Fails with kInternal and one line per failure. O(n
/// log n) in steps and resources.
/// * The resources and the kernel of each step exist.
/// * A copy has two uses; a kernel has as many buffers and sizes as its KernelInfo.
/// * Each body keeps these invariants too. Its step gives each of the body's resources a place in a use, and
///   maps each of the body's kernels to a kernel of this schedule.
/// * Parts are inside the parts or resources that hold them, and what a step touches is inside its kernel's buffers. If
/// that depends on symbols, it must hold for some binding.
/// * Steps write only transients, variables and outputs. They read bytes of transients and outputs only after earlier
///   steps have written these bytes. An empty value may be read before it is written. Steps write all bytes of outputs.
/// * Steps are ordered by timepoint. No step writes bytes that another step with the same timepoint touches.
/// * If two steps touch the same bytes and one of them writes, they are in the graph's order.
/// * A transient lives at every timepoint of a step that uses it.
/// * Transients that live at the same time share no bytes.
/// * Variables follow each other in their memory, and share no bytes.
/// * Transients of constant size reserve at least that size, inside the slab.
/// * Slots of symbolic size follow the transients of constant size without gaps, up to the end of the slab. All users
///   of a slot reserve the same bytes.
Status verify(const Schedule&);
std::string to_text(const Schedule&);
/// The memory plan, one transient per line: offset, bytes, first and last timepoint.
std::string memory_plan_text(const Schedule&);

/// Records the steps as commands. The bindings are, in this order: the inputs; the outputs; one for all constants; one
/// for all variables, if there are any; one for the slab. If runs place the transients, each transient has a binding of
/// its own instead of the slab. The device that records the list validates it.
Result<CommandList> record_commands(const Schedule&);

}  // namespace millrace
