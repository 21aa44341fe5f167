// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "millrace/graph/binding.h"
#include "millrace/graph/signature.h"

namespace millrace {

class Device;            // hal/device.h
struct SubmissionTimes;  // hal/device.h
struct Timepoint;        // hal/semaphore.h
struct CompileReport;    // compile_report.h
struct LoweredGraph;     // lowered_graph.h
struct ProgramVariant;   // program_variant.h

enum class Stage : std::uint8_t { kGraph, kDispatch, kKernels, kPlan, kSchedule, kCommands };

/// A compiled graph on a device. Immutable, cheap to copy, and shareable between threads; each thread runs it in its
/// own Session.
class Program {
 public:
  // See Signature.
  const std::vector<Argument>& inputs() const;
  const std::vector<Argument>& outputs() const;
  const std::vector<Argument>& variables() const;
  const std::vector<Dim>& named_dims() const;
  Result<std::vector<TensorType>> output_types(std::span<const Extents> inputs,
                                               std::span<const DimBinding> dims = {}) const;
  /// How the variant for this device was compiled.
  const CompileReport& report() const;
  /// One variant per target, in the order of CompileOptions::targets.
  std::span<const ProgramVariant> variants() const;
  /// The device on which the program runs. It also allocates buffers and creates semaphores for runs.
  const std::shared_ptr<Device>& device() const;
  /// Returns the same program on another device, with the variant for that device's best target. The constants are
  /// copied from this program's device. Fails if no variant fits; the message lists the targets of both.
  Result<Program> on(std::shared_ptr<Device> device) const;

  // How the device's variant was compiled. These two belong to the compiling half of the library; millrace_runtime does
  // not have them.
  const LoweredGraph& lowered() const;
  std::string to_text(Stage stage) const;

  struct State;
  explicit Program(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  // No moves, only copies: a moved-from program would have no state.
  Program(const Program&) = default;
  Program& operator=(const Program&) = default;
  const std::shared_ptr<const State>& state() const { return state_; }

 private:
  std::shared_ptr<const State> state_;
};

/// Runs a program, one run after another. Owns the memory for values between kernels, and the program's variables,
/// which start with their initial values. Only one thread may use a session at a time; a second one gets an error. For
/// runs that overlap, use one session per thread. The destructor waits for submitted runs.
class Session {
 public:
  static Result<Session> create(const Program&);
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;
  ~Session();

  /// Runs the program and waits: run({bind("x", x), bind("w", w)}, {bind("y", y)}).
  ///
  /// Arguments: `inputs` and `outputs` are in the order of Program::inputs() and outputs(), or have names; elements are
  /// row-major. Each argument is caller memory or a buffer of the program's device. Caller memory is used in place if
  /// the device can address it; otherwise it is copied to the device and back. Inputs are only read; every output
  /// element is written. A bool is a byte: 0 is false, any other value is true; computed bools are 0 or 1. An input
  /// with a symbol in its type needs extents; `dims` binds the symbols that no input determines. Facts, extents, sizes
  /// in bytes and requirements are checked before anything runs; the message names the argument, what was found and
  /// what was expected.
  ///
  /// Variables get their new values when the run ends. A run that is refused before it starts leaves them as they are.
  /// After a run that fails or is stopped later, the variables that the graph updates have unspecified values, until
  /// set() or reset().
  ///
  /// On the cpu device, runs after the first allocate nothing, unless larger sizes need a larger slab. A run that is
  /// asked to stop ends early with kCancelled (see Submission::stop): its outputs are unspecified, and the session can
  /// run again.
  Status run(ListView<TensorBinding> inputs, ListView<TensorBinding> outputs, ListView<DimBinding> dims = {},
             const std::stop_token& stop = {});
  /// Like run(), but does not wait if the device works asynchronously. The run starts when `wait` is reached and the
  /// session's earlier runs have ended. The returned timepoint is signalled when the run ends, or fails with its
  /// status; until then, the bound memory must stay valid, and outputs must not be touched. If a run fails, the later
  /// submitted runs that have not ended fail too. On a device that finishes inline, a run that fails at once returns
  /// its status instead of a timepoint.
  Result<Timepoint> submit(ListView<TensorBinding> inputs, ListView<TensorBinding> outputs,
                           ListView<DimBinding> dims = {}, std::span<const Timepoint> wait = {},
                           const std::stop_token& stop = {});
  /// True after a move: every call that returns a Status then fails.
  bool is_moved_from() const { return state_ == nullptr; }
  /// The program's variables; empty for a moved-from session.
  std::span<const Argument> variables() const;
  /// Copies a variable's value to `to`, which is caller memory, once the submitted runs have ended.
  Status get(std::string_view variable, TensorBinding to);
  /// Replaces a variable's value by the elements of `from`, which is caller memory, once the submitted runs have ended.
  Status set(std::string_view variable, TensorBinding from);
  /// Gives all variables their initial values, once the submitted runs have ended.
  Status reset();
  /// Makes each later run that succeeds record in `times` when each of its commands ran, on any device. Copies between
  /// caller memory and the device are left out; commands in loops and conditions are recorded if `times->has_blocks` is
  /// set. Null ends the recording. `times` must outlive the session, and must not be accessed during a run.
  void measure(SubmissionTimes* times);

 private:
  struct State;
  explicit Session(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace millrace
