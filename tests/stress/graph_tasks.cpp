// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <optional>

#include <fmt/format.h>

#include "millrace/millrace.h"
#include "tests/stress/branches.h"
#include "tests/stress/stress.h"

namespace millrace::stress {
namespace {

CompileOptions options_for(const Shared& shared, Random& random) {
  CompileOptions options;
  options.context = shared.context;
  options.lowering.compile.allow_reference = true;
  options.on_device = shared.device;
  // Devices of their own, whose threads begin and end meanwhile, and such as share them.
  constexpr std::array kOthers{"cpu", "cpu:threads=2", "cpu:threads=3", "cpu:threads=4"};
  if (random.chance(40)) {
    options.on_device = nullptr;
    options.device = kOthers[random.below(kOthers.size())];
  }
  return options;
}

/// Ok with the right results, or an error that the run was to have. `may_stop`: a stop was requested.
std::string judge(const Status& status, const Branches& run, bool may_stop, Tally& tally) {
  if (status.ok()) {
    if (run.wrong_index) return "a run with a wrong index succeeded";
    ++tally.runs_right;
    return run.compare();
  }
  const std::string& message = status.message();
  if (may_stop && status.code() == StatusCode::kCancelled && message.ends_with(kStopped)) {
    ++tally.runs_stopped;
    return {};
  }
  if (run.wrong_index && status.code() == StatusCode::kOutOfRange && message.starts_with("run: %") &&
      message.ends_with(run.wrong_index_text())) {
    ++tally.wrong_indices;
    return {};
  }
  return "run failed: " + message;
}

std::string run_once(Session& session, Branches& run, Random& random, Tally& tally) {
  run.fill(random);
  std::optional<LaterStop> stop;
  if (random.chance(25)) stop.emplace(std::chrono::microseconds(random.below(400)));
  const std::array inputs = run.inputs();
  const std::array outputs = run.outputs();
  const Status status = session.run(inputs, outputs, {}, stop ? stop->token() : std::stop_token());
  return judge(status, run, stop.has_value(), tally);
}

/// Several runs behind a gate that another thread opens, perhaps stopped before. What comes behind a run that has
/// failed may have failed with it.
std::string run_in_flight(Session& session, std::int64_t factor, Random& random, Tally& tally) {
  constexpr std::size_t kRuns = 3;
  std::vector<Branches> runs;
  for (std::size_t i = 0; i < kRuns; ++i) {
    runs.emplace_back(factor, random.from_to(1, Branches::kMaxRows));
    runs.back().fill(random);
    runs.back().correct_indices();
  }
  const auto gate = Semaphore::create();
  const Timepoint wait{gate, 1};
  std::stop_source stop;
  std::vector<Timepoint> ends;
  for (Branches& run : runs) {
    Result<Timepoint> end = session.submit(run.inputs(), run.outputs(), {}, {&wait, 1}, stop.get_token());
    if (!end.ok()) {
      stop.request_stop();
      (void)gate->signal(1);
      for (const Timepoint& each : ends) (void)each.wait();
      return "submit failed: " + end.status().message();
    }
    ends.push_back(*end);
  }
  const bool stops = random.chance(50), opens_first = random.chance(50);
  Status opened;
  {
    const std::jthread opener([&] { opened = gate->signal(1); });
    if (!opens_first && stops) stop.request_stop();
    if (opens_first && stops) {
      std::this_thread::sleep_for(std::chrono::microseconds(random.below(300)));
      stop.request_stop();
    }
  }
  std::string wrong = opened.ok() ? "" : "signal failed: " + opened.message();
  for (std::size_t i = 0; i < kRuns; ++i) {
    const std::string found = judge(ends[i].wait(), runs[i], stops, tally);
    if (wrong.empty()) wrong = found;
  }
  return wrong;
}

}  // namespace

std::string run_graph(Shared& shared, Random& random) {
  const std::size_t number = random.below(2 * shared.programs.size());
  const bool compiles = number >= shared.programs.size();
  const std::int64_t factor = compiles ? random.from_to(-1000, 1000) : shared.factors[number];
  std::optional<Program> program;
  if (compiles) {
    Result<Program> compiled = compile(Branches::graph(factor), options_for(shared, random));
    if (!compiled.ok()) return "compile failed: " + compiled.status().message();
    program = *std::move(compiled);
    ++shared.tally.compilations;
  } else {
    program = shared.programs[number];
    if (random.chance(30)) {
      Result<Program> moved =
          program->on(options_for(shared, random).on_device == nullptr ? shared.context->device("cpu:threads=2").value()
                                                                       : shared.device);
      if (!moved.ok()) return "on failed: " + moved.status().message();
      program = *std::move(moved);
    }
  }
  Result<Session> session = Session::create(*program);
  if (!session.ok()) return "create failed: " + session.status().message();
  const std::int64_t num_runs = random.from_to(1, 8);
  for (std::int64_t i = 0; i < num_runs; ++i) {
    Branches run(factor, random.from_to(1, Branches::kMaxRows));
    std::string wrong = random.chance(20) ? run_in_flight(*session, factor, random, shared.tally)
                                          : run_once(*session, run, random, shared.tally);
    if (!wrong.empty()) return wrong;
  }
  return {};
}

std::string stop_compilation(Shared& shared, Random& random) {
  CompileOptions options = options_for(shared, random);
  const LaterStop stop{std::chrono::microseconds(random.below(20'000))};
  options.stop = stop.token();
  const Status status = compile(Branches::graph(random.from_to(-1000, 1000)), options).status();
  ++(status.ok() ? shared.tally.compilations : shared.tally.compilations_stopped);
  if (status.ok() || (status.code() == StatusCode::kCancelled &&
                      status.message().starts_with("compile: stopped on request before kernel '"))) {
    return {};
  }
  return "compile failed: " + status.message();
}

std::string run_shared_session(Shared& shared, Random& random) {
  SharedSession& common = *shared.session;
  Branches run(common.factor, common.rows);
  run.fill(random);
  run.correct_indices();
  for (int i = 0; i < 10; ++i) {
    const Status status = common.session.run(run.inputs(), run.outputs());
    if (status.ok()) {
      ++shared.tally.runs_right;
      if (std::string wrong = run.compare(); !wrong.empty()) return wrong;
    } else if (status.message() ==
               "run: another thread is in the session, expected one at a time; make a session for each thread") {
      ++shared.tally.sessions_busy;
    } else {
      return "run failed: " + status.message();
    }
  }
  return {};
}

}  // namespace millrace::stress
