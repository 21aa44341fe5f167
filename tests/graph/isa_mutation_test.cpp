// SPDX-License-Identifier: Apache-2.0
// The device that executes machine code finds the mistakes that a compiler could make: each is put into the code of
// every kind of workgroup kernel, and must end in a finding or in other values.
#include <algorithm>
#include <map>
#include <random>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "millrace/graph/program_variant.h"
#include "millrace/hal/isa_device.h"
#include "millrace/jit/code_object.h"
#include "millrace/millrace.h"
#include "tests/support/mutate_code.h"
#include "tests/support/run_graph.h"
#include "tests/support/slice.h"

namespace millrace {
namespace {

using test::CodeMistake;
using test::CodeMutation;

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
    {"topk by selection", [](GraphBuilder& g) { all_of(g, topk(matrix(g, 1, 5000), 700)); }},
    {"scan of rows", [](GraphBuilder& g) { g.output("y", cumulative_sum(matrix(g, 2, 1500))); }},
    {"scan in pieces", [](GraphBuilder& g) { g.output("y", cumulative_sum(matrix(g, 1, 9000))); }},
    {"product", [](GraphBuilder& g) { g.output("y", matmul(matrix(g, 65, 70), g.input("w", DType::kF32, {70, 96}))); }},
    {"transpose", [](GraphBuilder& g) { g.output("y", transpose(matrix(g, 70, 130), {1, 0})); }},
};

// What the decoder of the device under test does to the code. Tests run one after another.
struct Mutant {
  std::string symbol;  // of the kernel; empty: no mistake
  CodeMutation mutation;
};
Mutant mutant;
std::map<std::string, MachineCode> decoded;  // by the object's bytes

Result<MachineCode> decode_and_mutate(std::span<const std::byte> object) {
  const std::string key(reinterpret_cast<const char*>(object.data()), object.size());
  if (!decoded.contains(key)) {
    MILLRACE_TRY_ASSIGN(MachineCode code, decode_code_object(object));
    decoded.emplace(key, std::move(code));
  }
  MachineCode code = decoded.at(key);
  for (MachineCodeKernel& kernel : code.kernels) {
    if (kernel.symbol == mutant.symbol) test::mutate(kernel, mutant.mutation);
  }
  return code;
}

/// Equal kernels have one name on every target.
const MachineCodeKernel& decoded_kernel(const std::string& symbol, const std::string& gfx) {
  for (const auto& [key, code] : decoded) {
    if (code.gfx != gfx) continue;
    const auto found = std::ranges::find(code.kernels, symbol, &MachineCodeKernel::symbol);
    if (found != code.kernels.end()) return *found;
  }
  FAIL("no kernel ", symbol);
  throw std::logic_error("unreachable");
}

std::vector<std::vector<std::byte>> random_inputs(const Program& program) {
  std::mt19937 random(11);
  std::uniform_real_distribution<float> uniform(-4, 4);
  std::vector<std::vector<std::byte>> inputs;
  for (const Argument& argument : program.inputs()) {
    std::vector<float> values(static_cast<std::size_t>(argument.type.shape.num_elements().constant()));
    for (float& value : values) value = uniform(random);
    const auto bytes = std::as_bytes(std::span(values));
    inputs.emplace_back(bytes.begin(), bytes.end());
  }
  return inputs;
}

/// One run's outputs, one after another, and its dispatches.
struct Outcome {
  Status status;
  std::vector<std::byte> outputs;
  std::vector<IsaDispatch> dispatches;
};

Outcome run(const Program& program, const TargetSpec& target, bool makes_profiles) {
  const IsaDeviceOptions options{.makes_profiles = makes_profiles, .max_wave_instructions = 2'000'000};
  const auto device = create_isa_device(target, decode_and_mutate, options).value();
  const Result<Program> moved = program.on(device);
  if (!moved.ok()) return {moved.status(), {}, {}};
  Session session = Session::create(*moved).value();
  std::vector<std::vector<std::byte>> inputs = random_inputs(program), outputs;
  std::vector<TensorBinding> in, out;
  for (auto& input : inputs) in.push_back({input.data(), input.size()});
  for (const Argument& argument : program.outputs()) {
    const auto elements = static_cast<std::size_t>(argument.type.shape.num_elements().constant());
    outputs.emplace_back(elements * size_bytes(argument.type.dtype), std::byte{0x5a});
  }
  for (auto& output : outputs) out.push_back({output.data(), output.size()});
  Outcome outcome;
  outcome.status = session.run(in, out);
  for (const auto& output : outputs) outcome.outputs.insert(outcome.outputs.end(), output.begin(), output.end());
  outcome.dispatches = device->dispatches();
  return outcome;
}

/// What became of the mistakes of one kind in one kernel.
struct Tally {
  std::size_t tried = 0, by_finding = 0, by_value = 0;
  std::vector<std::string> survivors;
  std::size_t found() const { return by_finding + by_value; }
};
using Tallies = std::map<CodeMistake, Tally>;

/// Waits and barriers that change nothing. LLVM waits where paths meet for what was issued on one of them, and at a
/// fence for all stores, also those that no other wave reads; a scan's first barrier has only loads before it.
bool is_known_to_be_needless(const MutatedGraph& row, CodeMistake mistake) {
  static constexpr std::pair<std::string_view, CodeMistake> kNeedless[] = {{"topk by lanes", CodeMistake::kNoWait},
                                                                           {"topk by selection", CodeMistake::kNoWait},
                                                                           {"scan of rows", CodeMistake::kNoWait},
                                                                           {"scan in pieces", CodeMistake::kNoWait},
                                                                           {"scan of rows", CodeMistake::kNoBarrier}};
  return std::ranges::find(kNeedless, std::pair(std::string_view(row.name), mistake)) != std::end(kNeedless);
}

/// The kernels of a program, with what their instructions did over all dispatches.
std::map<std::string, IsaProfile> profile_kernels(const Program& program, const Outcome& outcome) {
  std::map<std::string, IsaProfile> profiles;
  std::size_t number = 0;
  for (const auto& command : program.variants().front().commands->commands) {
    const auto* dispatch = std::get_if<DispatchCommand>(&command);
    if (dispatch == nullptr) continue;
    const IsaProfile& from = outcome.dispatches.at(number++).profile;
    if (from.executed.empty()) continue;
    IsaProfile& to = profiles[program.variants().front().images.at(static_cast<std::size_t>(dispatch->kernel)).symbol];
    to.executed.resize(from.executed.size());
    to.effective.resize(from.effective.size());
    for (std::size_t i = 0; i < from.executed.size(); ++i) {
      to.executed[i] += from.executed[i];
      to.effective[i] += from.effective[i];
    }
  }
  return profiles;
}

Program compile_for(const MutatedGraph& row, const TargetSpec& target) {
  GraphBuilder builder("mutated");
  row.build(builder);
  CompileOptions options;
  options.context = test::test_context();
  mutant = {};
  options.on_device = create_isa_device(target, decode_and_mutate).value();
  return compile(builder.finish().value(), options).value();
}

Outcome run_mutated(const Program& program, const TargetSpec& target, const Mutant& with) {
  mutant = with;
  Outcome outcome = run(program, target, false);
  mutant = {};
  return outcome;
}

/// Makes every mistake that the kernel allows, one at a time.
Tallies try_mutations(const MutatedGraph& row, const Program& program, const TargetSpec& target, const Outcome& right,
                      const std::string& symbol, const IsaProfile& profile) {
  Tallies tallies;
  const MachineCodeKernel kernel = decoded_kernel(symbol, target.gfx);
  for (const CodeMutation& mutation : test::find_mutations(kernel, profile)) {
    const Outcome outcome = run_mutated(program, target, {symbol, mutation});
    Tally& tally = tallies[mutation.mistake];
    ++tally.tried;
    if (!outcome.status.ok()) {
      ++tally.by_finding;
    } else if (outcome.outputs != right.outputs) {
      ++tally.by_value;
    } else {
      tally.survivors.push_back(fmt::format("{} on {}: {} at instruction {}, {}", row.name, target.gfx,
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
  }
}

/// Each kind of mistake that several places allow is found in each kernel. Without a wait or a barrier, every place is.
/// The rest may hit what changes no value: the address of a lane whose result nobody reads, or lanes that are off again
/// in the next block.
void check_kernel(const MutatedGraph& row, const Tallies& tallies) {
  for (const auto& [mistake, tally] : tallies) {
    CHECK_MESSAGE((tally.found() > 0 || tally.tried == 1), row.name, ": ", to_text(mistake), ": none of ", tally.tried,
                  " found, such as ", tally.survivors.front());
    const bool is_strict = mistake == CodeMistake::kNoWait || mistake == CodeMistake::kNoBarrier;
    if (!is_strict || is_known_to_be_needless(row, mistake)) continue;
    for (const std::string& survivor : tally.survivors) FAIL_CHECK("not found: ", survivor);
  }
}

TEST_CASE("mistakes in the machine code of workgroup kernels are found, a slice at a time") {
  const test::Slice slice = test::tested_slice();
  Tallies all;
  std::size_t number = 0;
  for (const char* gfx : {"gfx1100", "gfx90a", "gfx1201"}) {
    const TargetSpec target{.family = "amdgpu", .gfx = gfx};
    for (const MutatedGraph& row : kGraphs) {
      if (!slice.has(number++)) continue;
      const Program program = compile_for(row, target);
      const Outcome right = run(program, target, true);
      REQUIRE_MESSAGE(right.status.ok(), row.name, ": ", right.status.message());
      for (const auto& [symbol, profile] : profile_kernels(program, right)) {
        const Tallies tallies = try_mutations(row, program, target, right, symbol, profile);
        check_kernel(row, tallies);
        add(tallies, all);
      }
    }
  }
  for (const auto& [mistake, tally] : all) {
    MESSAGE(to_text(mistake), ": ", tally.tried, " tried, ", tally.by_finding, " found, ", tally.by_value,
            " gave other values");
    // Where there are many, most are found.
    CHECK((tally.tried < 100 || tally.found() * 10 >= tally.tried * 7));
  }
}

// LLVM 19.1.7 does not mark V_PERMLANEX16 convergent (fixed in llvm-project PR 142962): it sank into the branch of lane
// 0, which then read lanes that were off.
TEST_CASE("an exchange that sank into the branch of the first lane is found on every RDNA target") {
  for (const GfxTarget& gfx : gfx_targets()) {
    if (gfx.generation != GfxGeneration::kRdna) continue;
    const TargetSpec target{.family = "amdgpu", .gfx = std::string(gfx.name)};
    const Program program = compile_for(kGraphs[0], target);
    const Outcome right = run(program, target, true);
    REQUIRE(right.status.ok());
    std::size_t num_sunk = 0;
    for (const auto& [symbol, profile] : profile_kernels(program, right)) {
      const MachineCodeKernel kernel = decoded_kernel(symbol, target.gfx);
      for (const CodeMutation& mutation : test::find_mutations(kernel, profile)) {
        const std::string& text = kernel.instructions[mutation.number].text;
        if (mutation.mistake != CodeMistake::kSunkExchange || !text.starts_with("v_permlanex16_b32")) continue;
        const std::string message = run_mutated(program, target, {symbol, mutation}).status.message();
        CHECK_MESSAGE(message.find("takes the value of a lane that is off") != std::string::npos, text, ": ", message);
        ++num_sunk;
      }
    }
    CHECK_MESSAGE(num_sunk > 0, gfx.name);
  }
}

}  // namespace
}  // namespace millrace
