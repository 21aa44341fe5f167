// SPDX-License-Identifier: Apache-2.0
// Runs a loaded program: binds arguments and sizes, places transients, and submits commands to the device.
#include <algorithm>
#include <atomic>
#include <deque>

#include <fmt/format.h>

#include "base/guard_allocations.h"
#include "graph/run/arguments.h"
#include "graph/run/program_state.h"
#include "graph/run/run_in_flight.h"
#include "graph/run/session_variables.h"
#include "graph/run/slab_plan.h"
#include "graph/run/staging.h"

namespace millrace {

struct Session::State {
  explicit State(std::shared_ptr<const Program::State> of)
      : program(std::move(of)),
        overlaps(program->inputs.size() + program->outputs.size()),
        input_order(program->inputs, "input"),
        output_order(program->outputs, "output") {}
  ~State() {
    for (const auto& run : in_flight) run->wait();
  }

  std::shared_ptr<const Program::State> program;
  SubmissionTimes* times = nullptr;   // null: nothing is measured
  std::atomic<bool> is_busy = false;  // a thread is in run() or submit()
  std::shared_ptr<Buffer> slab;       // as large as the largest run so far needed
  std::unique_ptr<SessionVariables> variables;
  std::vector<BufferBinding> bindings;  // in the order of record_commands()
  std::vector<std::int64_t> sizes;      // the values of CommandList::sizes
  OverlapCheck overlaps;
  ArgumentOrder input_order, output_order;
  std::unique_ptr<Staging> staging;          // null if the device addresses caller memory
  std::unique_ptr<SlabPlacement> placement;  // null if the slab is one binding
  std::vector<std::int64_t> transient_bytes;
  // The arguments with which `sizes` was last evaluated, if `is_bound`:
  bool is_bound = false;
  std::vector<Extents> extents;  // one per input
  SymbolValues values;
  std::deque<std::unique_ptr<RunInFlight>> in_flight;  // each waits for the one before it
  std::vector<std::shared_ptr<Buffer>> retired;        // replaced buffers, which runs in flight may still use

  Status bind(std::span<const TensorBinding> inputs, std::span<const DimBinding> dims);
  Status bind_extents(std::span<const DimBinding> dims);
  bool is_bound_to(std::span<const TensorBinding> inputs, std::span<const DimBinding> given) const;
  Status bind_slab();
  Status require_slab(std::size_t bytes);
  Status bind_arguments(std::span<const TensorBinding> inputs, std::span<const TensorBinding> outputs,
                        std::span<const DimBinding> dims);
  void forget_ended();
  Status run_inline(const std::stop_token&);
  Result<Timepoint> submit(std::span<const Timepoint> wait, const std::stop_token&);
  Status submit_parts(RunInFlight&, std::vector<Timepoint> wait, const std::stop_token&);
  std::int64_t binding_bytes(std::size_t binding) const {
    return sizes[index_of(program->commands->bindings[BindingIndex(binding)].size_bytes)];
  }
  std::size_t num_arguments() const { return program->inputs.size() + program->outputs.size(); }
  /// The index of the slab's binding, or of the first transient's.
  std::size_t first_transient() const { return num_arguments() + (program->variables.empty() ? 1 : 2); }
};

/// Whether the arguments have the extents and dims of the last run. This run then reuses the sizes without evaluating
/// them.
bool Session::State::is_bound_to(std::span<const TensorBinding> inputs, std::span<const DimBinding> given) const {
  if (!is_bound || given.size() != program->named_dims.size()) return false;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].has_extents ? inputs[i].extents != extents[i] : !program->inputs[i].type.shape.is_static())
      return false;
  }
  return std::ranges::all_of(program->named_dims, [&](const Dim& dim) {
    const auto found = std::ranges::find(given, dim.name(), &DimBinding::name);
    return found != given.end() && found->value == values.find(dim.name())->second;
  });
}

Status Session::State::bind(std::span<const TensorBinding> inputs, std::span<const DimBinding> given) {
  is_bound = false;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    MILLRACE_TRY_ASSIGN(extents[i], extents_of(inputs[i], program->inputs[i]));
  }
  return bind_extents(given);
}

Status Session::State::bind_extents(std::span<const DimBinding> given) {
  MILLRACE_TRY(bind_symbols(program->symbols, program->inputs, extents, given, values));
  const CommandList& commands = *program->commands;
  for (std::uint32_t i = 0; i < commands.sizes.size(); ++i) {
    MILLRACE_TRY_ASSIGN(sizes[i], commands.sizes[SizeIndex{i}].evaluate(values));
  }
  MILLRACE_TRY(bind_slab());
  is_bound = true;
  return {};
}

Status Session::State::bind_slab() {
  if (placement == nullptr) {
    MILLRACE_TRY(require_slab(static_cast<std::size_t>(binding_bytes(first_transient()))));
    bindings.back() = slab->binding();
    return {};
  }
  const std::size_t first = first_transient();
  for (std::size_t i = 0; i < transient_bytes.size(); ++i) transient_bytes[i] = binding_bytes(first + i);
  MILLRACE_TRY_ASSIGN(
      const std::int64_t slab_bytes,
      placement->place(transient_bytes, slab == nullptr ? 0 : static_cast<std::int64_t>(slab->size_bytes())));
  MILLRACE_TRY(require_slab(static_cast<std::size_t>(slab_bytes)));
  for (std::size_t i = 0; i < transient_bytes.size(); ++i) {
    bindings[first + i] = {.size_bytes = static_cast<std::size_t>(std::max(transient_bytes[i], std::int64_t{0})),
                           .buffer = slab.get(),
                           .offset_bytes = static_cast<std::size_t>(placement->offsets()[i])};
  }
  return {};
}

/// Makes sure that the session's slab has this many bytes; it never shrinks.
Status Session::State::require_slab(std::size_t bytes) {
  if (slab != nullptr && slab->size_bytes() >= bytes) return {};
  // The old slab is freed first, so that both exist at once only if a run in flight uses the old one.
  if (slab != nullptr && !in_flight.empty()) retired.push_back(std::move(slab));
  slab.reset();
  for (std::size_t i = first_transient(); i < bindings.size(); ++i) bindings[i] = {};
  Result<std::shared_ptr<Buffer>> allocated = program->device->allocate(bytes);
  if (!allocated.ok()) {
    return name_largest(allocated.status(), "intermediate values", program->variant->diagnostics->transients, values);
  }
  slab = *std::move(allocated);
  return {};
}

/// Checks the arguments and writes their memory to `bindings`.
Status Session::State::bind_arguments(std::span<const TensorBinding> inputs, std::span<const TensorBinding> outputs,
                                      std::span<const DimBinding> dims) {
  MILLRACE_TRY_ASSIGN(inputs, input_order.apply(inputs));
  MILLRACE_TRY_ASSIGN(outputs, output_order.apply(outputs));
  if (!is_bound_to(inputs, dims)) {
    const Status bound = bind(inputs, dims);
    if (!bound.ok()) return Status(bound.code(), "run: " + bound.message());
  }
  std::size_t binding = 0;
  const auto bind_memory = [&](const TensorBinding& given, const Argument& argument, const char* what) -> Status {
    MILLRACE_TRY(check_dtype(given, argument, what));
    const std::int64_t expected_bytes = binding_bytes(binding);
    BufferBinding& memory = bindings[binding++];
    memory = given.memory();
    return check_memory(memory, expected_bytes, argument, what, values);
  };
  for (std::size_t i = 0; i < inputs.size(); ++i) MILLRACE_TRY(bind_memory(inputs[i], program->inputs[i], "input"));
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].has_extents) MILLRACE_TRY(check_output_extents(outputs[i], program->outputs[i], values));
    MILLRACE_TRY(check_writable(outputs[i], program->outputs[i]));
    MILLRACE_TRY(bind_memory(outputs[i], program->outputs[i], "output"));
  }
  return overlaps.check(std::span(bindings).first(num_arguments()), program->inputs, program->outputs);
}

/// Frees what belongs to runs that have ended.
void Session::State::forget_ended() {
  while (!in_flight.empty() && in_flight.front()->has_ended()) in_flight.pop_front();
  if (in_flight.empty()) retired.clear();
}

/// Runs on a device that finishes inline, when nothing is in flight; needs no timeline and no copies.
Status Session::State::run_inline(const std::stop_token& stop) {
  NodeNamer namer(*program, values, bindings);
  return program->device->submit(
      *program->recording, {.bindings = bindings, .sizes = sizes, .explainer = &namer, .times = times, .stop = stop});
}

/// Returns the timepoint at which the run ends.
Result<Timepoint> Session::State::submit(std::span<const Timepoint> wait, const std::stop_token& stop) {
  std::vector<BufferBinding> given = bindings;
  if (staging != nullptr) {
    const Status staged = staging->replace(std::span(bindings).first(num_arguments()), retired);
    if (!staged.ok()) return Status(staged.code(), "run: staging: " + staged.message());
  }
  std::vector<Timepoint> first(wait.begin(), wait.end());
  if (!in_flight.empty()) first.push_back(in_flight.back()->parts.back());
  // Store the run before submitting any part: if storing it failed later, memory that the device still uses would be
  // freed.
  in_flight.push_back(std::make_unique<RunInFlight>(*program, values, std::move(given), bindings));
  RunInFlight& run = *in_flight.back();
  std::swap(run.retired, retired);
  const Status status = submit_parts(run, std::move(first), stop);
  if (status.ok()) return run.parts.back();
  run.wait();
  std::swap(run.retired, retired);  // earlier runs may still use these buffers
  in_flight.pop_back();
  return status;
}

/// Each part waits for the one before it. A refused part is not in `run.parts`.
Status Session::State::submit_parts(RunInFlight& run, std::vector<Timepoint> wait, const std::stop_token& stop) {
  const auto add = [&](auto&& submit_part) -> Status {
    Timepoint end{.value = 1};
    MILLRACE_TRY_ASSIGN(end.semaphore, program->device->create_semaphore());
    MILLRACE_TRY(submit_part(Submission{.wait = wait, .signal = {&end, 1}, .stop = stop}));
    run.parts.push_back(end);
    wait.assign(1, std::move(end));
    return {};
  };
  if (staging != nullptr && staging->has_uploads()) {
    MILLRACE_TRY(add([&](const Submission& when) { return staging->submit_uploads(when); }));
  }
  MILLRACE_TRY(add([&](Submission submission) {
    submission.bindings = run.bindings;
    submission.sizes = sizes;
    submission.explainer = &run.namer;
    submission.times = times;
    return program->device->submit(*program->recording, submission);
  }));
  if (staging != nullptr && staging->has_downloads()) {
    MILLRACE_TRY(add([&](const Submission& when) { return staging->submit_downloads(when); }));
  }
  return {};
}

Session::Session(std::unique_ptr<State> state) : state_(std::move(state)) {}
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;
Session::~Session() = default;

Result<Session> Session::create(const Program& program) {
  return guard_allocations([&]() -> Result<Session> {
    if (program.state() == nullptr)
      return invalid_argument("session: the program is empty; pass a program that compile() returned");
    auto state = std::make_unique<State>(program.state());
    const Program::State& shared = *state->program;
    for (const ProgramSymbol& symbol : shared.symbols.symbols) state->values[symbol.dim.name()] = 0;
    state->sizes.resize(shared.commands->sizes.size());
    state->extents.resize(shared.inputs.size());
    state->bindings.resize(state->num_arguments());
    state->bindings.push_back(shared.constants->binding());
    MILLRACE_TRY_ASSIGN(state->variables, SessionVariables::create(state->program));
    if (!shared.variables.empty()) state->bindings.push_back(state->variables->binding());
    const SlabPlan* plan = shared.variant->slab_plan.get();
    state->bindings.resize(state->bindings.size() + (plan == nullptr ? 1 : plan->transients.size()));
    if (plan != nullptr) {
      state->placement = std::make_unique<SlabPlacement>(*plan);
      state->transient_bytes.resize(plan->transients.size());
    }
    if (!shared.device->info().addresses_host_memory) {
      MILLRACE_TRY_ASSIGN(state->staging, Staging::create(*shared.device, shared.inputs, shared.outputs));
    }
    if (shared.symbols.symbols.empty()) {
      for (std::size_t i = 0; i < shared.inputs.size(); ++i) {
        MILLRACE_TRY_ASSIGN(state->extents[i], extents_of({}, shared.inputs[i]));
      }
      MILLRACE_TRY(state->bind_extents({}));
    }
    return Session(std::move(state));
  });
}

namespace {

/// While an object of this class lives, the session counts as used by this thread. check() fails if another thread uses
/// the session.
class OneThread {
 public:
  explicit OneThread(std::atomic<bool>& is_busy) : is_busy_(is_busy), is_mine_(!is_busy.exchange(true)) {}
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;
  ~OneThread() {
    if (is_mine_) is_busy_.store(false, std::memory_order_release);
  }
  Status check(std::string_view who) const {
    if (is_mine_) return {};
    return failed_precondition(fmt::format(
        "{}: another thread is in the session, expected one at a time; make a session for each thread", who));
  }

 private:
  std::atomic<bool>& is_busy_;
  bool is_mine_;
};

Status moved_from(std::string_view who) {
  return failed_precondition(fmt::format("{}: the session was moved from; create another", who));
}

/// Calls the action with the session's variables once the runs in flight have ended.
template <class State, class Action>
Status between_runs(State* state, const char* who, Action&& action) {
  if (state == nullptr) return moved_from(who);
  const OneThread one(state->is_busy);
  MILLRACE_TRY(one.check(who));
  for (const auto& run : state->in_flight) run->wait();
  state->forget_ended();
  return action(*state->variables);
}

}  // namespace

Status Session::run(ListView<TensorBinding> inputs, ListView<TensorBinding> outputs, ListView<DimBinding> dims,
                    const std::stop_token& stop) {
  return guard_allocations([&]() -> Status {
    if (state_ == nullptr) return moved_from("run");
    const OneThread one(state_->is_busy);
    MILLRACE_TRY(one.check("run"));
    state_->forget_ended();
    MILLRACE_TRY(state_->bind_arguments(inputs, outputs, dims));
    if (state_->program->device->info().is_synchronous && state_->staging == nullptr && state_->in_flight.empty()) {
      return state_->run_inline(stop);
    }
    MILLRACE_TRY_ASSIGN(const Timepoint end, state_->submit({}, stop));
    return end.wait();
  });
}

Result<Timepoint> Session::submit(ListView<TensorBinding> inputs, ListView<TensorBinding> outputs,
                                  ListView<DimBinding> dims, std::span<const Timepoint> wait,
                                  const std::stop_token& stop) {
  return guard_allocations([&]() -> Result<Timepoint> {
    if (state_ == nullptr) return moved_from("run");
    const OneThread one(state_->is_busy);
    MILLRACE_TRY(one.check("run"));
    state_->forget_ended();
    MILLRACE_TRY(state_->bind_arguments(inputs, outputs, dims));
    return state_->submit(wait, stop);
  });
}

std::span<const Argument> Session::variables() const {
  return state_ == nullptr ? std::span<const Argument>() : state_->program->variables;
}

Status Session::get(std::string_view variable, TensorBinding to) {
  return guard_allocations(
      [&] { return between_runs(state_.get(), "get", [&](SessionVariables& all) { return all.get(variable, to); }); });
}

Status Session::set(std::string_view variable, TensorBinding from) {
  return guard_allocations([&] {
    return between_runs(state_.get(), "set", [&](SessionVariables& all) { return all.set(variable, from); });
  });
}

Status Session::reset() {
  return guard_allocations(
      [&] { return between_runs(state_.get(), "reset", [](SessionVariables& all) { return all.reset(); }); });
}

void Session::measure(SubmissionTimes* times) {
  if (state_ != nullptr) state_->times = times;
}

}  // namespace millrace
