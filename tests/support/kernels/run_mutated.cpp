// SPDX-License-Identifier: Apache-2.0
#include "tests/support/kernels/run_mutated.h"

#include <algorithm>
#include <bit>
#include <span>

#include "millrace/graph/program_variant.h"
#include "millrace/jit/code_object.h"
#include "millrace/millrace.h"
#include "tests/support/graphs/run_graph.h"

namespace millrace::test {
namespace {

// What the decoder of the device under test does to the code. Tests run one after another.
MutatedKernel mutant;
std::map<std::string, MachineCode> decoded;  // by the object's bytes

Result<MachineCode> decode_and_mutate(std::span<const std::byte> object) {
  const std::string key(reinterpret_cast<const char*>(object.data()), object.size());
  if (!decoded.contains(key)) {
    MILLRACE_TRY_ASSIGN(MachineCode code, decode_code_object(object));
    decoded.emplace(key, std::move(code));
  }
  MachineCode code = decoded.at(key);
  for (MachineCodeKernel& kernel : code.kernels) {
    if (kernel.symbol == mutant.symbol) mutate(kernel, mutant.mutation);
  }
  return code;
}

float uniform(std::mt19937& random, std::size_t) { return std::uniform_real_distribution<float>(-4, 4)(random); }
float with_ties(std::mt19937& random, std::size_t) { return static_cast<float>(random() % 5) - 2; }
float descending(std::mt19937&, std::size_t i) { return -static_cast<float>(i); }
float any_bits(std::mt19937& random, std::size_t) { return std::bit_cast<float>(static_cast<std::uint32_t>(random())); }

std::vector<std::vector<std::byte>> make_inputs(const Program& program, const Trial& trial) {
  std::mt19937 random(static_cast<std::uint32_t>(11 + trial.device_seed));
  std::vector<std::vector<std::byte>> inputs;
  for (const Argument& argument : program.inputs()) {
    std::vector<float> values(static_cast<std::size_t>(argument.type.shape.num_elements().constant()));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = trial.value(random, i);
    const auto bytes = std::as_bytes(std::span(values));
    inputs.emplace_back(bytes.begin(), bytes.end());
  }
  return inputs;
}

MutatedRun run(const Program& program, const TargetSpec& target, const Trial& trial, bool makes_profiles) {
  const IsaDeviceOptions options{
      .seed = trial.device_seed, .makes_profiles = makes_profiles, .max_wave_instructions = 2'000'000};
  const auto device = create_isa_device(target, decode_and_mutate, options).value();
  const Result<Program> moved = program.on(device);
  if (!moved.ok()) return {moved.status(), {}, {}};
  Session session = Session::create(*moved).value();
  std::vector<std::vector<std::byte>> inputs = make_inputs(program, trial), outputs;
  std::vector<TensorBinding> in, out;
  for (auto& input : inputs) in.push_back({input.data(), input.size()});
  for (const Argument& argument : program.outputs()) {
    const auto elements = static_cast<std::size_t>(argument.type.shape.num_elements().constant());
    outputs.emplace_back(elements * size_bytes(argument.type.dtype), std::byte{0x5a});
  }
  for (auto& output : outputs) out.push_back({output.data(), output.size()});
  MutatedRun outcome;
  outcome.status = session.run(in, out);
  for (const auto& output : outputs) outcome.outputs.insert(outcome.outputs.end(), output.begin(), output.end());
  outcome.dispatches = device->dispatches();
  return outcome;
}

}  // namespace

const std::vector<Trial> kTrials = {{0, uniform},  {1, with_ties}, {2, descending},
                                    {3, any_bits}, {4, uniform},   {5, uniform}};

Program compile_for_mutation(const Graph& graph, const TargetSpec& target) {
  CompileOptions options;
  options.context = test_context();
  mutant = {};
  options.on_device = create_isa_device(target, decode_and_mutate).value();
  return compile(graph, options).value();
}

MutatedRun run_mutated(const Program& program, const TargetSpec& target, const Trial& trial, const MutatedKernel& with,
                       bool makes_profiles) {
  mutant = with;
  MutatedRun outcome = run(program, target, trial, makes_profiles);
  mutant = {};
  return outcome;
}

void add_profiles(const Program& program, const MutatedRun& outcome, std::map<std::string, IsaProfile>& profiles) {
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
}

const MachineCodeKernel* find_decoded_kernel(const std::string& symbol, const std::string& gfx) {
  for (const auto& [key, code] : decoded) {
    if (code.gfx != gfx) continue;
    const auto found = std::ranges::find(code.kernels, symbol, &MachineCodeKernel::symbol);
    if (found != code.kernels.end()) return &*found;
  }
  return nullptr;
}

}  // namespace millrace::test
