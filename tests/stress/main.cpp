// SPDX-License-Identifier: Apache-2.0
// Many concurrent threads, programs, cancellations and failures on the threads of one context: for ThreadSanitizer.
//
//     stress [--seconds N] [--seed S] [--threads T]     by default 3 seconds, seed 1 and 4 threads
//
// Each thread runs random tasks until the time is over and each kind of event has occurred, and prints each failure;
// the exit code is then 1. Kernels are xbyak's and the interpreter's: a build without LLVM is small, and
// ThreadSanitizer observes the accesses of interpreted kernels.
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>

#include <fmt/format.h>

#include "millrace/hal/sim_device.h"
#include "millrace/jit/kernel_cache.h"
#include "millrace/jit/kernel_compiler.h"
#include "millrace/millrace.h"
#include "tests/stress/branches.h"
#include "tests/stress/stress.h"

namespace millrace::stress {
namespace {

struct Options {
  std::uint64_t seconds = 3, seed = 1, threads = 4;
};

struct Chance {
  const char* name;
  Task* task;
  unsigned percent;
};
constexpr std::array kTasks{Chance{"run_graph", run_graph, 45}, Chance{"stop_compilation", stop_compilation, 5},
                            Chance{"run_shared_session", run_shared_session, 15}, Chance{"run_list", run_list, 30},
                            Chance{"fail_allocation", fail_allocation, 5}};

void set_up(Shared& shared, Random& random) {
  auto context = std::make_shared<Context>();
  context->drivers = {cpu_driver()};
  context->generators = {make_xbyak_generator(), make_interpreter_generator()};
  context->cache = std::make_shared<KernelCache>(KernelCache::Options{});
  shared.context = std::move(context);
  const auto pool = shared.context->device("cpu:threads=3").value()->executor();
  shared.device =
      create_cpu_device(TargetSpec::parse("cpu").value(), {.executor = pool, .shares_small_work = true}).value();
  CompileOptions options;
  options.context = shared.context;
  options.on_device = shared.device;
  options.lowering.compile.allow_reference = true;
  for (int i = 0; i < 4; ++i) {
    shared.factors.push_back(random.from_to(-1000, 1000));
    shared.programs.push_back(compile(Branches::graph(shared.factors.back()), options).value());
  }
  shared.session = std::make_unique<SharedSession>(
      SharedSession{shared.factors[0], Branches::kMaxRows, Session::create(shared.programs[0]).value()});
}

const Chance& draw(Random& random) {
  std::uint64_t number = random.below(100);
  for (const Chance& each : kTasks) {
    if (number < each.percent) return each;
    number -= each.percent;
  }
  return kTasks.back();
}

using Counts = std::vector<std::pair<const char*, std::uint64_t>>;

Counts counts_of(const Tally& tally) {
  return {{"runs right", tally.runs_right},       {"runs stopped", tally.runs_stopped},
          {"wrong indices", tally.wrong_indices}, {"sessions busy", tally.sessions_busy},
          {"compilations", tally.compilations},   {"compilations stopped", tally.compilations_stopped},
          {"lists right", tally.lists_right},     {"lists stopped", tally.lists_stopped},
          {"lists failed", tally.lists_failed},   {"allocations failed", tally.allocations_failed}};
}

bool is_complete(const Tally& tally) {
  return std::ranges::all_of(counts_of(tally), [](const auto& count) { return count.second > 0; });
}

bool run(const Options& options) {
  Shared shared;
  Random random(options.seed);
  set_up(shared, random);
  const auto begin = std::chrono::steady_clock::now();
  const std::chrono::seconds duration(options.seconds);
  const auto is_over = [&] { return std::chrono::steady_clock::now() - begin >= duration; };
  // Where the system runs something else, an event that takes two threads comes late.
  const auto is_late = [&] { return std::chrono::steady_clock::now() - begin >= 20 * duration; };
  std::atomic<bool> is_right = true;
  {
    std::vector<std::jthread> threads;
    for (std::uint64_t thread = 0; thread < options.threads; ++thread) {
      threads.emplace_back([&, thread, seed = random.seed()] {
        Random own(seed);
        while (is_right && (!is_over() || !is_complete(shared.tally)) && !is_late()) {
          const Chance& each = draw(own);
          const std::string wrong = each.task(shared, own);
          if (wrong.empty()) continue;
          fmt::print("stress: thread {}, {}: {}\n", thread, each.name, wrong);
          is_right = false;
        }
      });
    }
  }
  for (const auto& [name, count] : counts_of(shared.tally)) fmt::print("stress: {} {}\n", count, name);
  if (is_right && !is_complete(shared.tally)) fmt::print("stress: some things never happened; give it more time\n");
  return is_right && is_complete(shared.tally);
}

}  // namespace
}  // namespace millrace::stress

int main(int argc, char** argv) {
  millrace::stress::Options options;
  for (int i = 1; i < argc; i += 2) {
    const std::string_view name = argv[i];
    std::uint64_t* option = name == "--seconds"   ? &options.seconds
                            : name == "--seed"    ? &options.seed
                            : name == "--threads" ? &options.threads
                                                  : nullptr;
    if (option == nullptr || i + 1 == argc) {
      fmt::print(stderr, "stress: found '{}', expected --seconds, --seed or --threads and a number\n", name);
      return 2;
    }
    *option = std::strtoull(argv[i + 1], nullptr, 10);
  }
  return millrace::stress::run(options) ? 0 : 1;
}
