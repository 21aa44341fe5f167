// SPDX-License-Identifier: Apache-2.0
// The device that executes machine code finds the mistakes that a compiler could make: each is put into the code of
// every kind of workgroup kernel, and must end in a finding or in other values.
#include <algorithm>
#include <map>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "millrace/millrace.h"
#include "tests/support/kernels/run_mutated.h"
#include "tests/support/slice.h"

namespace millrace {
namespace {

using test::CodeMistake;
using test::CodeMutation;
using test::kTrials;
using test::MutatedRun;

struct MutatedGraph {
  const char* name;
  void (*build)(GraphBuilder&);
};

Tensor matrix(GraphBuilder& graph, std::int64_t rows, std::int64_t n) {
  return graph.input("x", DType::kF32, {rows, n});
}
void all_of(GraphBuilder& graph, const ValuesAndIndices& results) {
  graph.output("values", results.values);
  graph.output("indices", results.indices);
}

/// A kernel of each kind that has more than one thread's work to order.
constexpr MutatedGraph kGraphs[] = {
    {"sum of rows of 30", [](GraphBuilder& g) { g.output("y", reduce_sum(matrix(g, 5, 30), {1})); }},
    {"sum of rows of 1000", [](GraphBuilder& g) { g.output("y", reduce_sum(matrix(g, 3, 1000), {1})); }},
    {"sum of a row", [](GraphBuilder& g) { g.output("y", reduce_sum(matrix(g, 1, 5003), {1})); }},
    {"argmax", [](GraphBuilder& g) { g.output("y", argmax(matrix(g, 3, 100), 1)); }},
    {"softmax", [](GraphBuilder& g) { g.output("y", softmax(matrix(g, 2, 300), 1)); }},
    {"sort in a tile", [](GraphBuilder& g) { all_of(g, sort(matrix(g, 2, 300))); }},
    {"sort by radix", [](GraphBuilder& g) { all_of(g, sort(matrix(g, 1, 5000))); }},
    {"topk by lanes", [](GraphBuilder& g) { all_of(g, topk(matrix(g, 5, 256), 8)); }},
    {"topk by parts", [](GraphBuilder& g) { all_of(g, topk(matrix(g, 1, 3000), 50)); }},
    {"topk by selection", [](GraphBuilder& g) { all_of(g, topk(matrix(g, 1, 9000), 700)); }},
    {"scan of rows", [](GraphBuilder& g) { g.output("y", cumulative_sum(matrix(g, 2, 1500))); }},
    {"scan in pieces", [](GraphBuilder& g) { g.output("y", cumulative_sum(matrix(g, 1, 9000))); }},
    {"product", [](GraphBuilder& g) { g.output("y", matmul(matrix(g, 65, 70), g.input("w", DType::kF32, {70, 96}))); }},
    {"transpose", [](GraphBuilder& g) { g.output("y", transpose(matrix(g, 70, 130), {1, 0})); }},
};

constexpr const char* kMutatedTargets[] = {"gfx1100", "gfx90a", "gfx1201", "gfx942"};

/// What became of the mistakes of one kind in one kernel.
struct Tally {
  std::size_t tried = 0, by_finding = 0, by_value = 0;
  std::size_t later = 0;     // not by the first trial
  std::size_t needless = 0;  // survivors that are known, with the reason
  std::vector<std::string> survivors;
  std::size_t found() const { return by_finding + by_value; }
};
using Tallies = std::map<CodeMistake, Tally>;

/// An instruction that can be removed, identified by its text and the text that follows it.
struct Needless {
  std::string_view graph, text, next, after = {};
};
constexpr Needless kNeedless[] = {
    // For the address of x, which the block before this one waited for. Both blocks are for the same lanes. What lands
    // is a later load of scalars, which has a wait of its own.
    {"topk by lanes", "s_wait", "v_add_co_u32"},
    {"topk by lanes", "s_wait", "v_mov_b32_e32"},
    // For the limit, which the other half of the unrolled loop waited for. It has the lower rows: where it is left out,
    // so is this one. What lands is its store, which has a wait before the next barrier.
    {"topk by selection", "s_wait", "v_cmp_lt_u64"},
    // For the new count of remaining records, at the end of the last round of these rows: no thread adds to it again.
    {"topk by selection", "s_waitcnt lgkmcnt(0)", "s_barrier", "ds_read_b64"},
    // At a barrier that is also a fence for global stores. No other wave of the dispatch reads the results of a scan.
    {"scan of rows", "s_waitcnt_vscnt", "s_barrier"},
    {"scan of rows", "s_wait_storecnt", "s_barrier"},
    {"scan in pieces", "s_waitcnt_vscnt", "s_barrier"},
    {"scan in pieces", "s_wait_storecnt", "s_barrier"},
    // A row's first barrier: the kernel has only loaded x before it.
    {"scan of rows", "s_barrier", "v_add_f32"},
    {"scan of rows", "s_barrier", "s_waitcnt vmcnt(0)"},
};

bool is_known_to_be_needless(const MutatedGraph& row, const MachineCodeKernel& kernel, const CodeMutation& mutation) {
  std::vector<std::string_view> following;
  for (std::size_t i = mutation.number + 1; i < kernel.instructions.size() && following.size() < 2; ++i) {
    const std::string_view text = kernel.instructions[i].text;
    if (!text.starts_with("s_delay_alu")) following.push_back(text);
  }
  if (following.size() < 2) return false;
  return std::ranges::any_of(kNeedless, [&](const Needless& known) {
    return row.name == known.graph && kernel.instructions[mutation.number].text.starts_with(known.text) &&
           following[0].starts_with(known.next) && following[1].starts_with(known.after);
  });
}

/// A program, its results in each trial, and, per kernel, the actions of its instructions in all trials.
struct Tested {
  const MutatedGraph& row;
  TargetSpec target;
  Program program;
  std::vector<MutatedRun> right;
  std::map<std::string, IsaProfile> profiles;
};

Tested make_tested(const MutatedGraph& row, const TargetSpec& target) {
  GraphBuilder builder("mutated");
  row.build(builder);
  Tested tested{row, target, test::compile_for_mutation(builder.finish().value(), target), {}, {}};
  for (const test::Trial& trial : kTrials) {
    const MutatedRun& outcome = tested.right.emplace_back(test::run_mutated(tested.program, target, trial, {}, true));
    REQUIRE_MESSAGE(outcome.status.ok(), std::string(row.name), ": ", outcome.status.message());
    test::add_profiles(tested.program, outcome, tested.profiles);
  }
  return tested;
}

/// Makes every mistake that the kernel allows, one at a time, and tries it until a trial shows it. One that none shows
/// gave the right outputs, bit by bit, in all.
Tallies try_mutations(const Tested& tested, const std::string& symbol, const IsaProfile& profile) {
  Tallies tallies;
  const MachineCodeKernel kernel = *test::find_decoded_kernel(symbol, tested.target.gfx);
  for (const CodeMutation& mutation : test::find_mutations(kernel, profile)) {
    Tally& tally = tallies[mutation.mistake];
    ++tally.tried;
    bool is_found = false;
    for (std::size_t i = 0; i < kTrials.size() && !is_found; ++i) {
      const MutatedRun outcome = test::run_mutated(tested.program, tested.target, kTrials[i], {symbol, mutation});
      is_found = !outcome.status.ok() || outcome.outputs != tested.right[i].outputs;
      if (is_found) ++(outcome.status.ok() ? tally.by_value : tally.by_finding);
      if (is_found && i > 0) ++tally.later;
    }
    if (!is_found && is_known_to_be_needless(tested.row, kernel, mutation)) {
      ++tally.needless;
    } else if (!is_found) {
      tally.survivors.push_back(fmt::format("{} on {}: {} at instruction {}, {}", tested.row.name, tested.target.gfx,
                                            to_text(mutation.mistake), mutation.number,
                                            kernel.instructions[mutation.number].text));
    }
  }
  return tallies;
}

void add(const Tallies& of_kernel, Tallies& all) {
  for (const auto& [mistake, tally] : of_kernel) {
    all[mistake].tried += tally.tried;
    all[mistake].by_finding += tally.by_finding;
    all[mistake].by_value += tally.by_value;
    all[mistake].later += tally.later;
  }
}

/// Each kind of mistake is found in each kernel that allows it, except where it allows one change of EXEC alone.
/// Without a wait or a barrier, every place is, except for one in a kernel that is known. The rest may hit what changes
/// no value: the address of a lane whose result nobody reads, or lanes that are off again in the next block. These gave
/// the right outputs in all trials.
void check_kernel(const MutatedGraph& row, const Tallies& tallies) {
  for (const auto& [mistake, tally] : tallies) {
    const bool is_lone_exec = mistake == CodeMistake::kNoExec && tally.tried == 1;
    CHECK_MESSAGE((tally.found() > 0 || tally.tried == tally.needless || is_lone_exec), std::string(row.name), ": ",
                  to_text(mistake), ": none of ", tally.tried, " found");
    CHECK_MESSAGE(tally.needless <= 1, std::string(row.name), ": ", to_text(mistake));
    if (mistake != CodeMistake::kNoWait && mistake != CodeMistake::kNoBarrier) continue;
    for (const std::string& survivor : tally.survivors) FAIL_CHECK("not found: ", survivor);
  }
}

/// The minimum number of places in a hundred that must be found. LLVM often switches lanes on only to switch them off
/// again at once.
std::size_t min_percentage(CodeMistake mistake) {
  switch (mistake) {
    case CodeMistake::kNoExec:
      return 85;
    case CodeMistake::kOtherOffset:
      return 95;
    case CodeMistake::kSunkExchange:
      return 90;
    default:
      return 98;
  }
}

TEST_CASE("no slice of the kernels to mutate is empty, however many slices there are") {
  constexpr std::size_t kTotal = std::size(kMutatedTargets) * std::size(kGraphs);
  for (const std::size_t count : {std::size_t{1}, std::size_t{16}, kTotal, std::size_t{64}, std::size_t{1000}}) {
    std::vector<bool> is_tested(kTotal);
    for (std::size_t index = 0; index < count; ++index) {
      const test::Slice slice = test::Slice{index, count}.within(kTotal);
      bool has_any = false;
      for (std::size_t number = 0; number < kTotal; ++number) {
        if (slice.has(number)) has_any = is_tested[number] = true;
      }
      CHECK_MESSAGE(has_any, index, " of ", count);
    }
    CHECK(std::ranges::find(is_tested, false) == is_tested.end());
  }
}

TEST_CASE("mistakes in the machine code of workgroup kernels are found, a slice at a time") {
  const test::Slice slice = test::tested_slice().within(std::size(kMutatedTargets) * std::size(kGraphs));
  Tallies all;
  std::size_t number = 0;
  for (const char* gfx : kMutatedTargets) {
    for (const MutatedGraph& row : kGraphs) {
      if (!slice.has(number++)) continue;
      const Tested tested = make_tested(row, {.family = "amdgpu", .gfx = gfx});
      for (const auto& [symbol, profile] : tested.profiles) {
        const Tallies tallies = try_mutations(tested, symbol, profile);
        check_kernel(row, tallies);
        add(tallies, all);
      }
    }
  }
  CHECK(!all.empty());
  for (const auto& [mistake, tally] : all) {
    MESSAGE(to_text(mistake), ": ", tally.tried, " tried, ", tally.by_finding, " found, ", tally.by_value,
            " gave other values; ", tally.later, " of them not in the first trial");
    // A slice may have few.
    CHECK((tally.tried < 500 || tally.found() * 100 >= tally.tried * min_percentage(mistake)));
  }
}

// LLVM 19.1.7 does not mark V_PERMLANEX16 convergent (fixed in llvm-project PR 142962): it sank into the branch of lane
// 0, which then read lanes that were off.
TEST_CASE("an exchange that sank into the branch of the first lane is found on every RDNA target") {
  for (const GfxTarget& gfx : gfx_targets()) {
    if (gfx.generation != GfxGeneration::kRdna) continue;
    const Tested tested = make_tested(kGraphs[0], {.family = "amdgpu", .gfx = std::string(gfx.name)});
    std::size_t num_sunk = 0;
    for (const auto& [symbol, profile] : tested.profiles) {
      const MachineCodeKernel kernel = *test::find_decoded_kernel(symbol, tested.target.gfx);
      for (const CodeMutation& mutation : test::find_mutations(kernel, profile)) {
        const std::string& text = kernel.instructions[mutation.number].text;
        if (mutation.mistake != CodeMistake::kSunkExchange || !text.starts_with("v_permlanex16_b32")) continue;
        const std::string message =
            test::run_mutated(tested.program, tested.target, kTrials[0], {symbol, mutation}).status.message();
        CHECK_MESSAGE(message.find("reads the value of an inactive lane") != std::string::npos, text, ": ", message);
        ++num_sunk;
      }
    }
    CHECK_MESSAGE(num_sunk > 0, gfx.name);
  }
}

}  // namespace
}  // namespace millrace
