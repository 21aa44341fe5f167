// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/base/callback.h"
#include "millrace/graph/context.h"
#include "millrace/graph/graph.h"
#include "millrace/graph/passes.h"
#include "millrace/graph/program.h"
#include "millrace/graph/schedule_order.h"
#include "millrace/jit/options.h"

namespace millrace {

class Executor;  // hal/executor.h

/// The progress of code generation, for display.
struct CompileProgress {
  std::size_t kernel = 0;  // the index of the kernel that comes next
  std::size_t num_kernels = 0;
  std::string_view name;
};

struct CompileOptions {
  std::string device = "cpu";  // see DeviceSpec
  /// The targets to generate code for: "cpu", "amdgpu:gfx1100" (see TargetSpec). One of them must be a target that the
  /// device covers; the others may be for devices that Program::on moves to, or that this host lacks. Empty means the
  /// device's best target.
  std::vector<std::string> targets = {};
  std::shared_ptr<const Context> context = {};  // null: make_default_context()
  LowerOptions lowering = {};
  PassOptions passes = {};
  ScheduleOrder order = ScheduleOrder::kMaxConcurrency;
  /// A device that is already open, such as a trace device. Null: compile() opens `device`.
  std::shared_ptr<Device> on_device = {};
  /// Called before each kernel is looked up in the cache or compiled, target by target. Several threads may call it,
  /// but only one at a time.
  Callback<const CompileProgress&> progress = {};
  /// The threads that generate the kernels' code; null: the device's threads (Device::executor), if it has any.
  std::shared_ptr<Executor> executor = {};
  /// Makes compile() return kCancelled before the next kernel.
  std::stop_token stop = {};
};

/// Graph -> passes -> regions -> kernels -> schedule -> commands -> loaded code.
/// A fatal error in LLVM does not end the application: LLVM runs on a separate thread per kernel. A thread that hits a
/// fatal error stays blocked until the process ends, and compile() returns kInternal with LLVM's text. If memory runs
/// out inside LLVM, compile() returns kResourceExhausted, and LLVM's unfinished work is leaked. In both cases LLVM is
/// unusable from then on, and later calls that need it return the same error. Compiled programs and cached kernels keep
/// working. If too little memory is left before LLVM is called, compile() also returns kResourceExhausted, but LLVM
/// stays usable.
Result<Program> compile(Graph graph, const CompileOptions& options = {});

}  // namespace millrace
