// SPDX-License-Identifier: Apache-2.0
// Sets the registers with which waves start.
// Source: LLVM's "User Guide for AMDGPU Backend", "Initial Kernel Execution State".
#include "isa/initial_state.h"

#include <algorithm>

namespace millrace::isa {
namespace {

/// Sets consecutive scalar registers.
class ScalarSetup {
 public:
  explicit ScalarSetup(Wave& wave) : wave_(wave) {}
  void add(std::uint64_t value, std::uint16_t count) {
    wave_.write_scalar({.kind = OperandKind::kScalar, .first = next_, .count = count}, value);
    next_ = static_cast<std::uint16_t>(next_ + count);
  }
  void skip_to(std::uint32_t next) { next_ = static_cast<std::uint16_t>(next); }

 private:
  Wave& wave_;
  std::uint16_t next_ = 0;
};

void set_scalars(Wave& wave) {
  const Kernel& kernel = wave.group.dispatch.kernel;
  const InitialState& initial = kernel.initial;
  ScalarSetup setup(wave);
  if (initial.has_private_segment_buffer) setup.skip_to(4);  // a descriptor that nothing here reads
  std::uint32_t next = initial.has_private_segment_buffer ? 4 : 0;
  if (initial.has_argument_pointer) {
    setup.add(wave.group.dispatch.global.arguments_address(), 2);
    next += 2;
  }
  if (initial.has_flat_scratch) next += 2;
  if (initial.has_private_segment_size) {
    setup.skip_to(next);
    setup.add(kernel.private_bytes, 1);
  }
  setup.skip_to(initial.num_user_scalars);
  if (wave.machine.major >= 12) {  // the ids are in trap temporaries
    setup.skip_to(kTtmp + 7);
    setup.add(0, 1);
    setup.skip_to(kTtmp + 9);
    setup.add(wave.group.number, 1);
    return;
  }
  if (initial.has_group_id[0]) setup.add(wave.group.number, 1);
  if (initial.has_group_id[1]) setup.add(0, 1);
  if (initial.has_group_id[2]) setup.add(0, 1);
  if (initial.has_group_info) setup.add(0, 1);
}

/// The thread ids: on GFX90A, GFX942, and GFX11 and later, packed into v0, ten bits each; otherwise in v0 to v2.
/// Workgroups are one-dimensional.
void set_thread_ids(Wave& wave, std::uint64_t lanes) {
  LaneWords ids;
  for (std::uint32_t i = 0; i < wave.machine.num_lanes; ++i) ids.lanes[i] = wave.number * wave.machine.num_lanes + i;
  wave.vectors[0] = ids;
  wave.set_defined(0, lanes);
  const bool is_packed = wave.machine.has_accumulators || wave.machine.major >= 11;
  const auto& initial = wave.group.dispatch.kernel.initial;
  for (std::uint32_t dim = 1; dim < initial.num_thread_ids && !is_packed; ++dim) {
    if (dim < wave.vectors.size()) wave.set_defined(dim, lanes);
  }
}

Mode read_mode(const InitialState& initial) {
  const auto has = [&](std::uint32_t bit) { return (initial.mode >> bit & 1) != 0; };
  return {.round_f32 = static_cast<std::uint8_t>(initial.mode & 3),
          .round_f16_f64 = static_cast<std::uint8_t>(initial.mode >> 2 & 3),
          .flushes_f32_inputs = !has(4),
          .flushes_f32_results = !has(5),
          .flushes_f16_f64_inputs = !has(6),
          .flushes_f16_f64_results = !has(7),
          .clamps_nan_to_zero = initial.clamps_nan_to_zero,
          .is_ieee = initial.is_ieee};
}

}  // namespace

void start_waves(Workgroup& group) {
  const Kernel& kernel = group.dispatch.kernel;
  const std::uint32_t num_lanes = kernel.machine.num_lanes;
  const std::uint32_t num_waves = (kernel.workgroup_size + num_lanes - 1) / num_lanes;
  group.waves.reserve(num_waves);
  for (std::uint32_t number = 0; number < num_waves; ++number) {
    Wave& wave = group.waves.emplace_back(kernel.machine, group, number, kernel.num_vector_registers,
                                          group.dispatch.launch.finds_mistakes);
    const std::uint32_t num_threads = std::min(num_lanes, kernel.workgroup_size - number * num_lanes);
    const std::uint64_t lanes = num_threads == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << num_threads) - 1;
    wave.write_scalar({.kind = OperandKind::kScalar, .first = kExec, .count = 2}, lanes);
    wave.mode = read_mode(kernel.initial);
    set_scalars(wave);
    set_thread_ids(wave, lanes);
  }
}

}  // namespace millrace::isa
