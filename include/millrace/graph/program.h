// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/base/callback.h"
#include "millrace/graph/binding.h"
#include "millrace/graph/context.h"
#include "millrace/graph/graph.h"
#include "millrace/graph/passes.h"
#include "millrace/graph/signature.h"
#include "millrace/jit/options.h"

namespace millrace {

class Device;              // hal/device.h
class SubmissionObserver;  // hal/device.h
struct Timepoint;          // hal/semaphore.h
struct CompileReport;      // compile_report.h
struct LoweredGraph;       // lowered_graph.h, as ProgramVariant
struct ProgramVariant;

/// How far code generation is, for people who wait.
struct CompileProgress {
  std::size_t kernel = 0;  // the one that begins
  std::size_t num_kernels = 0;
  std::string_view name;
};

struct CompileOptions {
  std::string device = "cpu";  // see DeviceSpec
  /// What code is made for, "cpu", "amdgpu:gfx1100" (see TargetSpec): a target of the device's, and those of other
  /// devices, which Program::on takes the program to, or which this host lacks. Empty: the device's best.
  std::vector<std::string> targets = {};
  std::shared_ptr<const Context> context = {};  // null: make_default_context()
  LowerOptions lowering = {};
  PassOptions passes = {};
  /// An already made device (a wrapped one, say); null: made from `device`.
  std::shared_ptr<Device> on_device = {};
  /// Called before each kernel is looked up or compiled, target by target.
  Callback<const CompileProgress&> progress = {};
};

enum class Stage : std::uint8_t { kGraph, kDispatch, kKernels, kPlan, kSchedule, kCommands };

/// A compiled graph on a device. Immutable, cheap to copy, shareable between threads; each thread runs it in its own
/// Session.
class Program {
 public:
  // See Signature.
  const std::vector<Argument>& inputs() const;
  const std::vector<Argument>& outputs() const;
  const std::vector<Dim>& named_dims() const;
  Result<std::vector<TensorType>> output_types(std::span<const Extents> inputs,
                                               std::span<const DimBinding> dims = {}) const;
  /// These two describe the device's variant.
  const CompileReport& report() const;
  const LoweredGraph& lowered() const;
  /// In the order of CompileOptions::targets, each target once.
  std::span<const ProgramVariant> variants() const;
  /// The same program on another device, which picks the variant for its target. Fails when there is none, naming those
  /// that there are.
  Result<Program> on(std::shared_ptr<Device> device) const;
  std::string to_text(Stage stage) const;

  struct State;
  explicit Program(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  // Without moves: a program that was moved from would have nothing to answer with.
  Program(const Program&) = default;
  Program& operator=(const Program&) = default;
  const std::shared_ptr<const State>& state() const { return state_; }

 private:
  std::shared_ptr<const State> state_;
};

/// Graph -> passes -> regions -> kernels -> schedule -> commands -> loaded code.
/// A fatal error of LLVM does not end the application. All work of LLVM's is done on threads of its own, one for each
/// kernel: one that meets such an error stays in it until the process ends, as LLVM never gets control back, and
/// compile() returns kInternal with LLVM's text. LLVM is then broken, so later calls that need it return the same.
/// Programs that are compiled, and kernels from the cache, work on.
Result<Program> compile(Graph graph, const CompileOptions& options = {});

/// Memory and bindings of a program's runs, one after another. One thread uses it at a time: a second one gets an
/// error. Runs overlap where each has a session of its own. Destruction waits for what was submitted.
class Session {
 public:
  static Result<Session> create(const Program&);
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;
  ~Session();

  /// Runs once. Inputs are row-major, in Program::inputs() order, only read; outputs likewise, written. Each is memory
  /// of the caller's, or a buffer of the program's device. Caller memory is used in place where the device addresses
  /// it, and else copied to the device and back. A bool is a byte, of which 0 is false and any other true; one that is
  /// computed is 0 or 1. An input with a symbol in its type comes with its extents; symbols of no input come in `dims`.
  /// Facts, extents, bytes and requirements are checked before anything runs; the message names the argument, what came
  /// and what was expected. On the cpu device it allocates nothing after the first call, but where larger sizes need a
  /// larger slab.
  Status run(std::span<const TensorBinding> inputs, std::span<const TensorBinding> outputs,
             std::span<const DimBinding> dims = {});
  /// Likewise, without waiting where the device works on its own: once `wait` is reached and the session's earlier runs
  /// have ended. The timepoint that comes back is signalled at the end, and fails with the run's status; what was bound
  /// stays valid, and outputs are left alone, until then. A run that fails also fails those that were submitted after
  /// it and had not ended. On a device that finishes inline, a run that has failed at once gives its status instead of
  /// a timepoint.
  Result<Timepoint> submit(std::span<const TensorBinding> inputs, std::span<const TensorBinding> outputs,
                           std::span<const DimBinding> dims = {}, std::span<const Timepoint> wait = {});
  /// Tells `observer` of the commands of each run from now on, on devices that finish inline; null: nobody. It outlives
  /// the session.
  void observe(SubmissionObserver* observer);

 private:
  struct State;
  explicit Session(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace millrace
