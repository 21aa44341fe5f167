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
  kExternal,   // the caller's: inputs and outputs
  kConstant,   // the program's
  kTransient,  // one run's
  kVariable,   // a session's, from run to run
};

/// "external", "constant", "transient", "variable".
std::string_view to_text(Lifetime);

struct Resource {
  std::string name = {};
  Lifetime lifetime = Lifetime::kTransient;
  SizeExpr size_bytes = 0;
  std::optional<std::uint32_t> input = {};   // the caller's argument number
  std::optional<std::uint32_t> output = {};  // the caller's result number
  SharedBytes constant = {};
  std::optional<std::uint32_t> prepared = {};  // of a constant without bytes: ConstantNode::prepared
  // By pack_transients: where in the slab (transients), the constants' or the variables' binding, and, for transients,
  // from which timepoint to which it lives.
  SizeExpr offset_bytes = 0;
  SizeExpr reserved_bytes = 0;  // of the slab, from there: at least size_bytes
  std::uint32_t first_timepoint = 0, last_timepoint = 0;

  /// Whether steps write it. Inputs and constants are only read.
  bool is_computed() const {
    return lifetime == Lifetime::kTransient || lifetime == Lifetime::kVariable || output.has_value();
  }
};

/// A value inside a resource: an operand of a concat or pad, which its producer writes where the result has it.
struct ResourcePart {
  std::string name;
  ResourceId resource{};
  std::optional<PartId> inside = {};  // an earlier part; absent: directly in the resource
  ByteRange bytes = {};               // of that
};

/// What a step does with a resource.
struct ResourceUse {
  ResourceId resource{};
  bool is_written = false;
  std::optional<ByteRange> touched = {};  // of the bytes that the kernel gets; absent: perhaps all
  std::optional<PartId> part = {};        // what the kernel gets; absent: the whole resource
};

struct Schedule;

/// The place of a body's resource: in what the step gives of one of its uses.
struct BodyPlace {
  std::uint32_t use = 0;  // in Step::uses
  SizeExpr offset_bytes = 0;
};

/// What a loop repeats, or a condition may choose: a schedule of its own, in memory of the step.
struct StepBody {
  std::shared_ptr<const Schedule> schedule;
  IdVector<ResourceId, BodyPlace> places;      // of its resources
  IdVector<KernelIndex, KernelIndex> kernels;  // of its kernels, in the schedule around it
};

struct StepControl {
  bool is_loop = false;  // else the first body or the second
  std::vector<StepBody> bodies;
};

/// A kernel launch, a copy, a loop or a condition on the timeline. Its timepoint is the number of barriers before it;
/// steps with the same timepoint may run concurrently, also on several queues.
struct Step {
  std::string name;
  std::string label = {};                           // of its region
  std::optional<KernelIndex> kernel;                // nothing: a loop or a condition, or a copy of uses[0] to uses[1]
  std::shared_ptr<const StepControl> control = {};  // of a loop or a condition, which reads uses[0], a byte
  std::optional<RegionId> region;                   // which the kernel or the loop is of; nothing: of a copy
  SizeExpr num_groups = 1;
  std::vector<SizeExpr> sizes;
  std::optional<SizeExpr> flops = {};          // of this launch, as PlannedKernel::flops
  SizeExpr bytes_read = 0, bytes_written = 0;  // see BufferTraffic
  std::vector<ResourceUse> uses;               // as the kernel's buffers
  std::uint32_t timepoint = 0;                 // by arrange_steps or place_barriers
  std::uint32_t number = 0;                    // in the graph's order
  std::string copy_reason = {};                // if it only copies a value: why it has to

  bool is_copy() const { return !kernel && control == nullptr; }
  /// "exp_0 (layer3/q)".
  std::string display_name() const { return labelled(name, label); }
};

/// Which steps run when, and on which memory. Made from KernelSequences alone, without code.
struct Schedule {
  IdVector<ResourceId, Resource> resources;
  IdVector<PartId, ResourcePart> parts;
  IdVector<StepId, Step> steps;
  IdVector<KernelIndex, PlannedKernel> kernels;          // equal kernels once
  SizeExpr slab_bytes = 0;                               // by pack_transients
  std::int64_t constant_bytes = 0, variable_bytes = 0;   // likewise
  ScheduleOrder order = ScheduleOrder::kMaxConcurrency;  // by arrange_steps
  /// Whether it is a body's: then the step around it places the variables, which may have any size, and gives the slab.
  bool is_body = false;

  /// Whether a run binds the size of a transient. Each transient then is a binding of its own, which the run places
  /// anew, in no more than `slab_bytes`.
  bool is_placed_by_runs() const;
  /// The bytes of its resource that a use may touch.
  ByteRange touched_bytes(const ResourceUse&) const;
  /// The bytes of its resource that the kernel gets as its buffer.
  ByteRange given_bytes(const ResourceUse&) const;
};

/// The constants that the kernels of `sequences` and the graph's outputs read. `sequences` has one row per region.
std::set<Value> find_read_constants(const DispatchGraph&, const std::vector<std::vector<KernelSequence>>& sequences);
/// The schedules of the bodies of loops and conditions.
using ScheduledBodies = std::map<RegionId, std::vector<std::shared_ptr<const Schedule>>>;

/// Makes one step per kernel, per copy and per loop or condition, and transients for intermediate values and scratch.
/// `constants` get memory, in this order, whether this target's kernels read them or not: with the same set, all
/// targets lay them out alike.
Result<Schedule> schedule_execution(const DispatchGraph&, const std::vector<std::vector<KernelSequence>>& sequences,
                                    const std::set<Value>& constants, const ScheduledBodies& bodies = {});
/// Chooses the steps' order and timepoints, then packs. The steps come in the graph's order, as schedule_execution
/// makes them.
Status arrange_steps(Schedule&, ScheduleOrder);
/// Sets timepoints and orders the steps by them, each as early as possible. A step waits only for steps that touch the
/// same bytes, where it or they write. Bytes whose places a run decides are taken for the same unless no binding can
/// make them so. O(n log n) in uses.
Status place_barriers(Schedule&);
/// Assigns offsets in one slab, aligned to Buffer::kAlignment. Transients that do not live at the same time share
/// bytes: greedy if sizes are constant, in several orders, of which the best stays. Symbolic sizes cannot be compared,
/// so such transients share whole slots, each as large as its largest user. Source: Pisarchyk & Lee, "Efficient Memory
/// Management for Deep Neural Net Inference", arXiv:2001.03288. Lives are counted in timepoints, so that steps which
/// may run concurrently never share bytes. Precondition: place_barriers.
Status pack_transients(Schedule&);
/// Checks these invariants, of a schedule that is ordered and packed. Fails with kInternal and one line per failure.
/// O(n log n) in steps and resources.
/// * The resources and the kernel of each step exist.
/// * A copy has two uses; a kernel has as many buffers and sizes as its KernelInfo.
/// * Bodies keep these invariants, and their resources and kernels have places in the step that holds them.
/// * Parts are inside what they are parts of, and what a step touches is inside what its kernel gets, unless a run's
///   sizes decide.
/// * Steps write only transients, variables and outputs. They read bytes of transients and outputs only after earlier
///   steps have written all of these. An empty value may be read first. Steps write all bytes of outputs.
/// * Steps are ordered by timepoint. No step writes bytes that another step with the same timepoint touches.
/// * If two steps touch the same bytes and one of them writes, the one that the graph has first stands first.
/// * A transient lives at every timepoint of a step that uses it.
/// * Transients that live at the same time share no bytes.
/// * Variables follow each other in their memory, and share no bytes.
/// * Transients of constant size reserve at least that size, inside the slab.
/// * Slots of symbolic size follow them without gaps and end with the slab. All users of a slot reserve the same bytes.
Status verify(const Schedule&);
std::string to_text(const Schedule&);
/// The memory plan, one transient per line: offset, bytes, first and last timepoint.
std::string memory_plan_text(const Schedule&);

/// The bindings are the inputs, the outputs, one for all constants, one for all variables, if there are any, and one
/// for the slab. If runs place the transients, these have a binding each instead, in their order.
Result<CommandList> record_commands(const Schedule&);

}  // namespace millrace
