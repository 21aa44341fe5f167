// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <fmt/format.h>

#include "tests/hip_standin/runtime/call.h"
#include "tests/hip_standin/runtime/places.h"
#include "tests/hip_standin/runtime/schedule.h"

namespace millrace::hip {
namespace {

using namespace hip_standin;  // whose place this is in

struct LaunchSizes {
  unsigned grid[3], block[3], shared_bytes;
};

/// What is wrong with a launch's sizes; empty if nothing is.
std::string check_sizes(const LaunchSizes& sizes, const KernelMetadata& kernel, const DeviceState& device) {
  const auto& [grid, block, shared_bytes] = sizes;
  if (grid[0] == 0 || grid[1] != 1 || grid[2] != 1) {
    return fmt::format("a grid of {} x {} x {} workgroups, expected n x 1 x 1", grid[0], grid[1], grid[2]);
  }
  if (block[0] != kernel.workgroup_size || block[1] != 1 || block[2] != 1) {
    return fmt::format("a block of {} x {} x {} threads; kernel '{}' was compiled for {}", block[0], block[1], block[2],
                       kernel.name, kernel.workgroup_size);
  }
  if (grid[0] > device.options.max_grid_x || std::uint64_t{grid[0]} * block[0] > UINT32_MAX) {
    return fmt::format("{} workgroups of {} threads, at most {} and 2^32 - 1 threads are possible", grid[0], block[0],
                       device.options.max_grid_x);
  }
  if (shared_bytes != 0) return fmt::format("{} bytes of dynamic workgroup memory, expected none", shared_bytes);
  return {};
}

/// The kernarg segment of a call. An address that is not in live memory of the device is a mistake.
std::string copy_arguments(const State& state, const KernelFunction& function, void** parameters,
                           std::vector<std::byte>& segment) {
  const KernelMetadata& info = function.info;
  segment.resize(info.argument_bytes);
  for (std::size_t i = 0; i < info.arguments.size(); ++i) {
    if (parameters[i] == nullptr) return fmt::format("parameter {} is null", i);
    std::memcpy(&segment[info.arguments[i].offset], parameters[i], info.arguments[i].size_bytes);
  }
  for (const std::uint64_t offset : info.pointer_offsets) {
    const std::uint64_t pointer = pointer_at(segment, offset);
    if (pointer == 0) continue;
    const Place place = find_device(state, function.device, pointer, 0, When::kQueued);
    if (!place.is_ok()) return fmt::format("kernel '{}', argument at byte {}: {}", info.name, offset, place.mistake);
  }
  return {};
}

const KernelFunction* find_function(State& state, const Call& call, Function handle) {
  const auto* function = state.functions.find(handle);
  if (function == nullptr) misuse(state, call, Error::kSuccess, "a function that is not there, or whose module is not");
  return function;
}

}  // namespace

Error hipModuleLoadData(Module* handle, const void* image) {
  return call(Entry::hipModuleLoadData, [&](State& state, Call& call) {
    MILLRACE_HIP_TRY(about_device(state, call, state.current_device()));
    auto object = std::make_shared<CodeObject>();
    const DeviceOptions& device = state.devices[static_cast<std::size_t>(call.device)].options;
    MILLRACE_HIP_TRY(hip_standin::read_code_object(image, device.architecture, *object));
    auto module = std::make_shared<ModuleState>(ModuleState{.device = call.device, .object = std::move(object)});
    call.bytes = module->object->bytes.size();
    module->number = state.modules.add(module);
    *handle = state.modules.handle_of<Module>(module->number);
    return Error::kSuccess;
  });
}

Error hipModuleUnload(Module handle) {
  return call(Entry::hipModuleUnload, [&](State& state, Call& call) {
    const ModuleState* const module = state.modules.find(handle);
    if (module == nullptr) return misuse(state, call, Error::kInvalidHandle, "a module that is not there");
    call.device = module->device;
    for (const auto& [number, stream] : state.streams) {
      const auto is_its = [&](const QueuedCommand& command) {
        const auto* launch = std::get_if<QueuedLaunch>(&command.what);
        return launch != nullptr && launch->function->module == module->number;
      };
      if (std::ranges::any_of(stream->commands, is_its)) {
        misuse(state, call, Error::kSuccess, fmt::format("stream {} has launches of its kernels", number));
      }
    }
    state.functions.remove_if([&](const KernelFunction& function) { return function.module == module->number; });
    state.modules.remove(handle);
    return Error::kSuccess;
  });
}

Error hipModuleGetFunction(Function* handle, Module module_handle, const char* name) {
  return call(Entry::hipModuleGetFunction, [&](State& state, Call& call) {
    const ModuleState* const module = state.modules.find(module_handle);
    if (module == nullptr) return misuse(state, call, Error::kInvalidHandle, "a module that is not there");
    MILLRACE_HIP_TRY(about_device(state, call, module->device));
    const auto kernel = std::ranges::find(module->object->kernels, name, &KernelMetadata::name);
    if (kernel == module->object->kernels.end()) return Error::kNotFound;
    const auto function =
        std::make_shared<const KernelFunction>(KernelFunction{module->number, module->device, *kernel, module->object});
    *handle = state.functions.handle_of<Function>(state.functions.add(function));
    return Error::kSuccess;
  });
}

Error hipModuleLaunchKernel(Function handle, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                            unsigned block_y, unsigned block_z, unsigned shared_bytes, Stream stream_handle,
                            void** parameters, void** extra) {
  return call(Entry::hipModuleLaunchKernel, [&](State& state, Call& call) {
    call.bytes = grid_x;
    StreamState* const stream = find_stream(state, call, stream_handle);
    const KernelFunction* const function = find_function(state, call, handle);
    if (stream == nullptr || function == nullptr) return Error::kInvalidHandle;
    MILLRACE_HIP_TRY(about_device(state, call, stream->device));
    if (function->device != stream->device || state.current_device() != stream->device) {
      return misuse(state, call, Error::kInvalidHandle,
                    fmt::format("the stream is of device {}, the function of {}, and {} is current", stream->device,
                                function->device, state.current_device()));
    }
    if (function->info.has_hidden_arguments) return Error::kNotSupported;
    const std::string wrong = check_sizes({{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared_bytes},
                                          function->info, state.devices[static_cast<std::size_t>(call.device)]);
    if (!wrong.empty()) return misuse(state, call, Error::kInvalidConfiguration, wrong);
    if (parameters == nullptr || extra != nullptr) {
      return misuse(state, call, Error::kInvalidValue, "the arguments go by 'kernelParams'; 'extra' is to be null");
    }
    QueuedLaunch launch{.function = state.functions.share(handle), .num_groups = grid_x, .arguments = {}};
    const std::string mistake = copy_arguments(state, *function, parameters, launch.arguments);
    if (!mistake.empty()) return misuse(state, call, Error::kInvalidValue, mistake);
    enqueue(state, *stream, std::move(launch));
    return Error::kSuccess;
  });
}

}  // namespace millrace::hip
