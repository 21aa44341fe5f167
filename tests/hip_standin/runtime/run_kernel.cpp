// SPDX-License-Identifier: Apache-2.0
#include "tests/hip_standin/runtime/run_kernel.h"

#include <algorithm>

#include <fmt/format.h>

#include "tests/hip_standin/runtime/places.h"

namespace millrace::hip_standin {
namespace {

/// A kernarg segment whose addresses are those of the bytes in this process, and the memory that it names.
struct Arguments {
  std::vector<std::byte> segment;
  std::vector<isa::LaunchBuffer> buffers;
  std::string mistake;
};

Arguments translate(const State& state, int device, const QueuedLaunch& launch) {
  Arguments arguments{.segment = launch.arguments, .buffers = {}, .mistake = {}};
  for (const std::uint64_t offset : launch.function->info.pointer_offsets) {
    const std::uint64_t pointer = pointer_at(launch.arguments, offset);
    if (pointer == 0) continue;
    const Place place = find_device(state, device, pointer, 0, When::kRunning);
    if (!place.is_ok()) {
      arguments.mistake = fmt::format("argument at byte {}: {}", offset, place.mistake);
      return arguments;
    }
    const auto translated = reinterpret_cast<std::uint64_t>(place.bytes);
    std::memcpy(&arguments.segment[offset], &translated, sizeof(translated));
    const Allocation& allocation = *place.allocation;
    const auto begin = reinterpret_cast<std::uint64_t>(allocation.bytes);
    const auto known = std::ranges::find(arguments.buffers, begin, &isa::LaunchBuffer::address);
    if (known != arguments.buffers.end()) continue;
    arguments.buffers.push_back({.name = fmt::format("the memory at {:#x}", allocation.address),
                                 .address = begin,
                                 .size_bytes = allocation.size_bytes});
  }
  return arguments;
}

Status execute(State& state, const QueuedLaunch& launch, const Arguments& arguments) {
  MILLRACE_TRY_ASSIGN(const auto program, decode_program(*launch.function->object));
  const isa::Kernel* const kernel = program->find(launch.function->info.name);
  if (kernel == nullptr) return internal_error("the executor does not find it");
  return isa::run_kernel(*kernel, {.num_groups = launch.num_groups,
                                   .arguments = arguments.segment,
                                   .buffers = arguments.buffers,
                                   .seed = state.options.seed == 0 ? 0 : state.random() | 1,
                                   .finds_mistakes = state.options.checks_kernels,
                                   .max_wave_instructions = state.options.max_wave_instructions})
      .status();
}

}  // namespace

void run_kernel(State& state, int device, QueuedLaunch& launch) {
  const Arguments arguments = translate(state, device, launch);
  const Status status =
      arguments.mistake.empty() ? execute(state, launch, arguments) : invalid_argument(arguments.mistake);
  if (status.ok()) return;
  if (status.code() == StatusCode::kResourceExhausted) {
    launch.never_ends = true;
    return;
  }
  fault(state, device,
        fmt::format("hipModuleLaunchKernel: kernel '{}': {}", launch.function->info.name, status.message()));
}

}  // namespace millrace::hip_standin
