// SPDX-License-Identifier: Apache-2.0
// Runs a kernel: its workgroups one after another, and the waves of a workgroup one after another from barrier to
// barrier.
#include <algorithm>
#include <numeric>
#include <optional>

#include <fmt/format.h>

#include "isa/initial_state.h"
#include "isa/memory_access.h"
#include "isa/workgroup.h"

namespace millrace::isa {
namespace {

/// "lanes 0 to 3 and 7".
std::string lanes_text(std::uint64_t lanes) {
  std::vector<std::string> parts;
  for (std::uint32_t i = 0; i < kMaxLanes; ++i) {
    if ((lanes >> i & 1) == 0) continue;
    std::uint32_t last = i;
    while (last + 1 < kMaxLanes && (lanes >> (last + 1) & 1) != 0) ++last;
    parts.push_back(i == last ? fmt::format("{}", i) : fmt::format("{} to {}", i, last));
    i = last;
  }
  const bool is_one = parts.size() == 1 && (lanes & (lanes - 1)) == 0;
  std::string text = is_one ? "lane " : "lanes ";
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) text += i + 1 == parts.size() ? " and " : ", ";
    text += parts[i];
  }
  return text;
}

Status mistake(const Wave& wave, const Instruction& instruction, std::string_view what, std::uint64_t lanes) {
  std::string place = fmt::format("at {:#x}", instruction.address);
  if (instruction.line != 0) place += fmt::format(" (line {})", instruction.line);
  std::string who = fmt::format("workgroup {}, wave {}", wave.group.number, wave.number);
  if (lanes != 0) who += ", " + lanes_text(lanes);
  return internal_error(fmt::format("{}, {}: {}: {}", place, instruction.text, who, what));
}

void count(const Wave& wave, const Instruction& instruction, IsaCounts& counts) {
  static constexpr std::uint64_t IsaCounts::* kCounts[] = {&IsaCounts::vector_instructions,
                                                           &IsaCounts::scalar_instructions,
                                                           &IsaCounts::scalar_loads,
                                                           &IsaCounts::global_instructions,
                                                           &IsaCounts::local_instructions,
                                                           &IsaCounts::branches,
                                                           &IsaCounts::waits,
                                                           &IsaCounts::barriers,
                                                           &IsaCounts::other_instructions};
  ++(counts.*kCounts[static_cast<std::size_t>(instruction.row->kind)]);
  if (instruction.row->kind == Class::kVector) {
    const std::uint64_t lanes = wave.exec();
    const bool is_full = lanes == wave.machine.all_lanes();
    counts.lane_instructions += is_full ? wave.machine.num_lanes : static_cast<std::uint64_t>(std::popcount(lanes));
  }
}

/// Both instructions of a pair read their sources before either writes.
/// Source: RDNA 3 ISA, 7.6 "Dual Issue VALU".
void run_pair(Wave& wave, const Instruction& first) {
  const Instruction& second = *first.second;
  LaneWords& lanes = wave.vectors[first.result().first];
  const LaneWords old = lanes;
  LaneWords old_undefined;
  if (wave.finds_mistakes()) old_undefined = wave.undefined_vectors[first.result().first];
  first.run(wave, first);
  const LaneWords result = lanes;
  lanes = old;
  if (!wave.finds_mistakes()) {
    second.run(wave, second);
    lanes = result;
    return;
  }
  const std::uint32_t number = first.result().first;
  const LaneWords undefined = wave.undefined_vectors[number];
  wave.set_undefined(number, wave.machine.all_lanes(), old_undefined);
  second.run(wave, second);
  lanes = result;
  wave.set_undefined(number, wave.machine.all_lanes(), undefined);
}

bool writes_exec(const Instruction& instruction) {
  const Operand& result = instruction.operands[0];
  const bool is_result = instruction.row->num_results > 0 && result.is_scalar() && result.first == kExec;
  return is_result || std::string_view(instruction.row->name).find("_saveexec_") != std::string_view::npos;
}

/// Runs one workgroup.
class GroupRunner {
 public:
  explicit GroupRunner(Workgroup& group) : group_(group), dispatch_(group.dispatch) {}

  Status run() {
    while (true) {
      std::vector<Wave*> ready;
      for (Wave& wave : group_.waves) {
        if (wave.state == WaveState::kRunning) ready.push_back(&wave);
      }
      if (ready.empty()) {
        if (std::ranges::all_of(group_.waves, [](const Wave& wave) { return wave.state == WaveState::kEnded; }))
          return {};
        MILLRACE_TRY(open_barrier());
        continue;
      }
      if (dispatch_.launch.seed != 0) std::ranges::shuffle(ready, dispatch_.random);
      for (Wave* wave : ready) MILLRACE_TRY(run_wave(*wave));
    }
  }

 private:
  /// Runs the wave until it ends or reaches a barrier; with a seed, it may also stop after a few instructions.
  Status run_wave(Wave& wave) {
    const std::uint64_t seed = dispatch_.launch.seed;
    std::uint64_t num_left = seed == 0 ? UINT64_MAX : 1 + dispatch_.random() % 200;
    for (; wave.state == WaveState::kRunning && num_left > 0; --num_left) MILLRACE_TRY(step(wave));
    return {};
  }

  Status step(Wave& wave) {
    const std::vector<Instruction>& code = dispatch_.kernel.instructions;
    if (wave.pc >= code.size()) {
      return mistake(wave, code.back(), "runs past the kernel's last instruction", 0);
    }
    const Instruction& instruction = code[wave.pc];
    if (num_executed_++ >= num_allowed_) return too_many_instructions(wave, instruction);
    if (wave.finds_mistakes() && !wave.in_flight.is_empty()) {
      if (const auto pending = wave.in_flight.find_pending(instruction)) {
        return mistake(wave, instruction,
                       fmt::format("uses {} while its load is in flight; a wait is missing", register_text(*pending)),
                       0);
      }
    }
    const std::size_t num_in_flight = wave.in_flight.size();
    const std::uint64_t exec = wave.exec();
    const std::uint32_t number = wave.pc++;
    count(wave, instruction, dispatch_.counts);
    if (instruction.second != nullptr) {
      run_pair(wave, instruction);
    } else {
      instruction.run(wave, instruction);
    }
    if (dispatch_.launch.profile != nullptr) {
      const bool is_wait = instruction.row->kind == Class::kWait;
      const bool changed = is_wait ? wave.in_flight.size() < num_in_flight : wave.exec() != exec;
      record(number, changed || !(is_wait || writes_exec(instruction)));
    }
    if (wave.failure.empty()) return {};
    return mistake(wave, instruction, wave.failure, wave.failing_lanes);
  }

  void record(std::uint32_t number, bool is_effective) {
    ++dispatch_.launch.profile->executed[number];
    dispatch_.launch.profile->effective[number] += is_effective;
  }

  Status too_many_instructions(const Wave& wave, const Instruction& instruction) const {
    Status status = mistake(wave, instruction,
                            fmt::format("the dispatch has executed {} instructions and still runs; it may never end",
                                        dispatch_.launch.max_wave_instructions),
                            0);
    return resource_exhausted(std::string(status.message()));
  }

  /// Opens the barrier, once each wave has reached a barrier or ended. The hardware does not wait for waves that have
  /// ended; here, waiting for one is a mistake.
  Status open_barrier() {
    const auto at_barrier = std::ranges::find(group_.waves, WaveState::kAtBarrier, &Wave::state);
    const auto ended = std::ranges::find(group_.waves, WaveState::kEnded, &Wave::state);
    if (ended != group_.waves.end()) {
      return mistake(*at_barrier, dispatch_.kernel.instructions[at_barrier->pc - 1],
                     fmt::format("waits at a barrier that wave {} never reaches, because it has ended", ended->number),
                     0);
    }
    for (Wave& wave : group_.waves) {
      if (wave.pc != at_barrier->pc) {
        return mistake(wave, dispatch_.kernel.instructions[wave.pc - 1],
                       fmt::format("waits at a barrier, but wave {} waits at another, at {:#x}", at_barrier->number,
                                   dispatch_.kernel.instructions[at_barrier->pc - 1].address),
                       0);
      }
    }
    pass_barrier(group_);
    for (Wave& wave : group_.waves) wave.state = WaveState::kRunning;
    return {};
  }

  Workgroup& group_;
  Dispatch& dispatch_;
  std::uint64_t num_executed_ = dispatch_.counts.wave_instructions();
  std::uint64_t num_allowed_ = dispatch_.launch.max_wave_instructions;
};

/// The order in which workgroups run: ascending, or, with a seed, random within each block of workgroups. A random
/// order of a whole large dispatch might not fit into memory.
class GroupOrder {
 public:
  explicit GroupOrder(Dispatch& dispatch) : dispatch_(dispatch) {}

  /// The index of the workgroup that runs `i`-th. Call it with consecutive `i`.
  std::uint32_t number_of(std::uint32_t i) {
    if (dispatch_.launch.seed == 0) return i;
    if (i % kBlock == 0) {
      block_.resize(std::min(kBlock, dispatch_.launch.num_groups - i));
      std::iota(block_.begin(), block_.end(), i);
      std::ranges::shuffle(block_, dispatch_.random);
    }
    return block_[i % kBlock];
  }

 private:
  static constexpr std::uint32_t kBlock = 1u << 16;
  Dispatch& dispatch_;
  std::vector<std::uint32_t> block_;
};

}  // namespace

Result<IsaCounts> run_kernel(const Kernel& kernel, const Launch& launch) {
  if (launch.arguments.size() != kernel.argument_bytes) {
    return internal_error(
        fmt::format("{} bytes of arguments, expected {}", launch.arguments.size(), kernel.argument_bytes));
  }
  Dispatch dispatch{.kernel = kernel,
                    .launch = launch,
                    .random = std::mt19937_64(launch.seed),
                    .global = GlobalMemory(kernel, launch)};
  if (launch.profile != nullptr) {
    launch.profile->executed.assign(kernel.instructions.size(), 0);
    launch.profile->effective.assign(kernel.instructions.size(), 0);
  }
  GroupOrder order(dispatch);
  LocalMemory local(kernel, launch);
  for (std::uint32_t i = 0; i < launch.num_groups; ++i) {
    local.begin_group();
    Workgroup group{.dispatch = dispatch, .number = order.number_of(i), .local = local};
    start_waves(group);
    MILLRACE_TRY(GroupRunner(group).run());
    ++dispatch.counts.num_groups;
    dispatch.counts.num_waves += group.waves.size();
  }
  return dispatch.counts;
}

}  // namespace millrace::isa
