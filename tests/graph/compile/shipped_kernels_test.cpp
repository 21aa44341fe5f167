// SPDX-License-Identifier: Apache-2.0
// The files of cache_kernels are all that an application without generators needs.
#include <algorithm>
#include <filesystem>
#include <map>
#include <random>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "millrace/graph/lowered_graph.h"
#include "millrace/jit/cache_directory.h"
#include "millrace/jit/kernel_cache.h"
#include "millrace/millrace.h"
#include "millrace/ops/op_def.h"
#include "tests/hip_standin/standin.h"
#include "tests/jit/cache/temporary_directory.h"
#include "tests/support/gpu/gpu_matrix.h"
#include "tests/support/graphs/run_graph.h"
#include "tests/support/kernels/plans_only.h"
#include "tests/support/ops/op_samples.h"
#include "tests/support/sliced.h"

namespace millrace {
namespace {

using reference::Tensor;
using test::OpCase;
using test::OpProblem;
using Tensors = std::vector<Tensor>;

/// A directory, the context that fills it, and an application that has nothing else.
struct Shipping {
  TemporaryDirectory directory;
  std::shared_ptr<const Context> filling = test::context_that_fills(directory.path());
  std::shared_ptr<const Context> shipped = test::context_without_generators(directory.path());

  /// Fills the directory for the targets, then runs the graph twice, where it is filled and where it is shipped:
  /// "" if both give the same bits, otherwise the difference. `options` are those of the application.
  std::string check(const Graph& graph, const Tensors& inputs, const std::vector<std::string>& targets,
                    CompileOptions options) const {
    const Result<CachedFiles> filled = cache_kernels(graph, {.targets = targets, .context = filling});
    if (!filled.ok()) return "filling: " + filled.status().message();
    options.context = shipped;
    const Result<Tensors> found = run(graph, inputs, options);
    if (!found.ok()) return "shipped: " + found.status().message();
    options.context = filling;
    const Result<Tensors> expected = run(graph, inputs, options);
    if (!expected.ok()) return "at home: " + expected.status().message();
    return std::ranges::equal(*found, *expected, {}, &Tensor::bytes, &Tensor::bytes) ? "" : "gives other bits";
  }

 private:
  static Result<Tensors> run(const Graph& graph, const Tensors& inputs, const CompileOptions& options) {
    MILLRACE_TRY_ASSIGN(const Program program, compile(graph, options));
    return test::run_guarded(program, inputs, {}, 1);
  }
};

/// The best two levels of the host, as "cpu:avx2".
std::vector<std::string> two_levels() {
  std::vector<std::string> levels;
  for (const IsaLevel isa : host_isa_levels()) levels.push_back(TargetSpec{.isa = isa}.to_text());
  if (levels.size() > 2) levels.erase(levels.begin(), levels.end() - 2);
  return levels;
}

/// What applications on this host compile for: the device's best target, which may have features beyond the level, and
/// a lower level that is asked for.
std::vector<CompileOptions> ways_of_applications() {
  std::vector<CompileOptions> ways(1);
  for (const std::string& level : two_levels()) ways.push_back({.targets = {level}});
  return ways;
}

std::string check_on_host(const Shipping& shipping, const Graph& graph, const Tensors& inputs) {
  for (const CompileOptions& options : ways_of_applications()) {
    const std::string wrong = shipping.check(graph, inputs, two_levels(), options);
    if (!wrong.empty()) return fmt::format("{}: {}", options.targets.empty() ? "cpu" : options.targets[0], wrong);
  }
  return {};
}

/// The op alone, of inputs or of constants; nothing if it has no operand to choose for.
Graph op_graph(Op op, const Attributes& attributes, const Tensors& operands, bool of_constants) {
  Graph graph;
  Node node{OpNode{op, attributes}, {}, {}};
  std::vector<TensorType> types;
  for (const Tensor& operand : operands) {
    const std::string name = fmt::format("x{}", types.size());
    Node source{InputNode{name}, {}, {operand.type}};
    if (of_constants) source.what = ConstantNode{SharedBytes(operand.bytes)};
    const NodeId id = graph.nodes.push_back(std::move(source));
    if (!of_constants) graph.inputs.push_back(id);
    node.operands.push_back({id, 0});
    types.push_back(operand.type);
  }
  node.results = infer_types(op, types, attributes).value().results;
  const auto num_results = static_cast<std::uint32_t>(node.results.size());
  const NodeId id = graph.nodes.push_back(std::move(node));
  for (std::uint32_t i = 0; i < num_results; ++i) graph.outputs.push_back({fmt::format("y{}", i), {id, i}});
  REQUIRE(verify(graph).message() == "");
  return graph;
}

struct SampledOp {
  Tensors operands;
  Graph graph;
  Tensors inputs;
};

SampledOp sample_op(const OpCase& row, const OpProblem& problem, DType dtype, bool of_constants, std::size_t seed) {
  std::mt19937_64 random(seed);
  SampledOp op;
  op.operands = sample_operands(row, problem, dtype, random);
  op.graph = op_graph(row.op, attributes_for(problem, dtype), op.operands, of_constants);
  if (!of_constants) op.inputs = op.operands;
  return op;
}

/// f32 and a dtype of 16 bits, where the row has them; else the row's first.
std::vector<DType> shipped_dtypes(const OpCase& row) {
  std::vector<DType> dtypes = {row.dtypes.front()};
  const auto has_16_bits = [](DType dtype) { return size_bytes(dtype) == 2; };
  if (const auto found = std::ranges::find_if(row.dtypes, has_16_bits); found != row.dtypes.end()) {
    dtypes.push_back(*found);
  }
  return dtypes;
}

TEST_CASE("the matrix of ops runs from shipped kernels, a slice at a time" * test::Sliced()) {
  const Shipping shipping;
  const test::Slice slice = test::tested_slice();
  std::size_t number = 0, num_run = 0;
  for (const OpCase& row : test::op_cases()) {
    for (const DType dtype : shipped_dtypes(row)) {
      for (const OpProblem& problem : row.problems(8)) {
        for (const bool of_constants : {false, true}) {
          const std::size_t seed = number++;
          if (!slice.has(seed) || (of_constants && problem.operands.empty())) continue;
          const SampledOp op = sample_op(row, problem, dtype, of_constants, seed);
          const std::string wrong = check_on_host(shipping, op.graph, op.inputs);
          CHECK_MESSAGE(wrong == "", to_text(op.graph));
          ++num_run;
        }
      }
    }
  }
  CHECK(num_run > number / slice.count / 2);
  CHECK(shipping.shipped->cache->stats().misses == 0);
  MESSAGE("slice ", to_text(slice), ": ", num_run, " graphs");
}

/// GPUs that this host does not have, whose code objects the stand-in of HIP's runtime loads.
class StandinGpus {
 public:
  StandinGpus() {
    for (std::uint32_t ordinal = 0; ordinal < 2; ++ordinal)
      devices_.push_back(standin_.open({.ordinal = ordinal}).value());
  }
  /// Null if the program has no variant for this target.
  std::shared_ptr<Device> find(const TargetSpec& target) const {
    for (const std::shared_ptr<HipDevice>& device : devices_) {
      if (device->targets().front() == target) return device;
    }
    return nullptr;
  }

 private:
  HipStandin standin_{two_architectures(3)};
  std::vector<std::shared_ptr<HipDevice>> devices_;
};

TEST_CASE("the matrix of ops and GPUs runs from shipped code objects, a slice at a time" * test::Sliced()) {
  const Shipping shipping;
  const StandinGpus gpus;
  std::size_t num_run = 0;
  for_each_op_problem(test::tested_slice(), [&](const test::GpuProblem& each) {
    const std::shared_ptr<Device> device = gpus.find(each.target);
    if (device == nullptr || each.number % 16 != 0) return;
    const bool of_constants = num_run++ % 2 == 0 && !each.problem.operands.empty();
    const SampledOp op = sample_op(each.row, each.problem, each.dtype, of_constants, each.number);
    const std::string wrong = shipping.check(op.graph, op.inputs, {each.target.to_text()}, {.on_device = device});
    CHECK_MESSAGE(wrong == "", to_text(op.graph));
  });
  CHECK(num_run > 0);
  CHECK(shipping.shipped->cache->stats().misses == 0);
  MESSAGE("slice ", to_text(test::tested_slice()), ": ", num_run, " graphs");
}

/// A square of weights has more elements than are folded when a graph is compiled.
constexpr std::int64_t kWidth = 264;

std::vector<float> ramp(double step, double first) {
  std::vector<float> values(kWidth * kWidth);
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(first + step * static_cast<double>(i % 37));
  return values;
}

Tensor rows_of(float value) {
  return reference::make_tensor<float>(DType::kF32, {4, kWidth}, std::vector<float>(4 * kWidth, value));
}

/// A network whose weights the application gives in forms that are prepared at load.
Graph prepared_graph(const std::string& what) {
  GraphBuilder graph("net");
  const millrace::Tensor x = graph.input("x", DType::kF32, {4, kWidth});
  const auto weights = [&](double first) { return graph.constant({kWidth, kWidth}, ramp(0.25, first)); };
  const auto row = [&](double first) {
    const std::vector<float> all = ramp(0.125, first);
    return graph.constant({kWidth}, std::vector<float>(all.begin(), all.begin() + kWidth));
  };
  if (what == "add(transpose(w), w)") {
    const millrace::Tensor w = weights(-3);
    graph.output("y", matmul(x, transpose(w, {1, 0}) + w));
  } else if (what == "batch_norm") {
    graph.output("y", batch_norm(matmul(x, weights(-2)), row(1), row(2), row(-1), row(3)));
  } else if (what == "dequantised weights") {
    std::vector<std::int8_t> bytes(kWidth * kWidth);
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::int8_t>(i * 7 % 31 - 15);
    graph.output("y", matmul(x, cast(graph.constant({kWidth, kWidth}, bytes), DType::kF32) * row(0.5)));
  } else {
    REQUIRE(what == "weights of a loop");
    const auto state = graph.while_loop(
        {x, sigmoid(reduce_max(x, {0, 1}))}, [&](std::span<const millrace::Tensor> s) { return less(s[1], 4.0); },
        [&](std::span<const millrace::Tensor> s) {
          return std::vector{tanh(matmul(s[0], transpose(weights(-4), {1, 0}) + weights(-4))), s[1] + 1.0};
        });
    graph.output("y", state[0]);
  }
  return graph.finish().value();
}

TEST_CASE("the kernels that prepare constants at load are shipped, for CPUs and for GPUs" * test::Sliced()) {
  const StandinGpus gpus;
  const Tensor x = rows_of(0.75f);
  for (const std::string what : {"add(transpose(w), w)", "batch_norm", "dequantised weights", "weights of a loop"}) {
    CAPTURE(what);
    const Shipping shipping;
    const Graph graph = prepared_graph(what);
    const LoweredGraph lowered = lower_graph(graph, shipping.filling->target("cpu").value()).value();
    REQUIRE(lowered.setup != nullptr);
    REQUIRE(lowered.setup->report.num_kernels > 0);
    CHECK(check_on_host(shipping, graph, {x}) == "");
    for (const std::string target : {"amdgpu:gfx1100", "amdgpu:gfx90a"}) {
      const std::shared_ptr<Device> device = gpus.find(TargetSpec::parse(target).value());
      REQUIRE(device != nullptr);
      CHECK(shipping.check(graph, {x}, {target}, {.on_device = device}) == "");
    }
    CHECK(shipping.shipped->cache->stats().misses == 0);
  }
}

TEST_CASE("a program that moves between devices needs only the kernels that are shipped for its targets") {
  const StandinGpus gpus;
  const Shipping shipping;
  const Graph graph = prepared_graph("dequantised weights");
  const std::vector<std::string> targets = {two_levels().front(), "amdgpu:gfx90a", "amdgpu:gfx1100"};
  REQUIRE(cache_kernels(graph, {.targets = targets, .context = shipping.filling}).status().message() == "");
  const Program program = compile(graph, {.targets = targets, .context = shipping.shipped}).value();
  const Tensors x = {rows_of(0.5f)};
  const Tensors expected = test::run_guarded(program, x, {}, 1).value();
  for (const std::string target : {"amdgpu:gfx1100", "amdgpu:gfx90a"}) {
    const Program moved = program.on(gpus.find(TargetSpec::parse(target).value())).value();
    CHECK(test::run_guarded(moved, x, {}, 1).value()[0].bytes.size() == expected[0].bytes.size());
  }
  CHECK(shipping.shipped->cache->stats().misses == 0);
}

TEST_CASE("kernels that are shipped with one tune run with another if they are generic") {
  const Graph graph = prepared_graph("batch_norm");
  const Tensors x = {rows_of(0.5f)};
  const std::string level = two_levels().back(), tuned = level + ",tune=intel";
  CHECK(Shipping().check(graph, x, {level}, {.targets = {tuned}}) == "");
  CHECK(Shipping().check(graph, x, {level}, {.device = tuned}) == "");
  CHECK(Shipping().check(graph, x, {tuned}, {.targets = {tuned}}) == "");
  const std::string wrong = Shipping().check(graph, x, {tuned}, {.targets = {level}});
  CAPTURE(wrong);
  CHECK(wrong.starts_with("shipped: "));
  CHECK(wrong.find(" is in no kernel cache, and cannot be generated: ") != std::string::npos);
}

TEST_CASE("filling counts the kernels that it writes, and those that exist already") {
  const TemporaryDirectory directory;
  const Graph graph = prepared_graph("batch_norm");
  const std::vector<std::string> targets = {"cpu:avx2", "amdgpu:gfx1030"};
  const auto fill = [&](const std::shared_ptr<const Context>& context) {
    const CachedFiles files = cache_kernels(graph, {.targets = targets, .context = context}).value();
    return std::pair{files.written, files.present};
  };
  const auto first = test::context_that_fills(directory.path());
  const auto [written, present] = fill(first);
  CHECK(written > 4);
  CHECK(present == 0);
  CHECK(fill(first) == std::pair<std::uint64_t, std::uint64_t>{0, 0});  // known to the context
  // A code object that is there needs no kernels of its own.
  const auto [written_again, present_again] = fill(test::context_that_fills(directory.path()));
  CHECK(written_again == 0);
  CHECK(present_again > 0);
  CHECK(present_again < written);
}

std::string complaint_of_filling(const CompileOptions& options) {
  return cache_kernels(prepared_graph("batch_norm"), options).status().message();
}

TEST_CASE("filling without a target, a cache or a directory is refused") {
  CHECK(complaint_of_filling({}) ==
        "cache_kernels: no target given, expected one or more; say {\"cpu:avx2\", \"cpu:avx512\"}");
  const auto without_cache = std::make_shared<Context>(*make_default_context());
  without_cache->cache = nullptr;
  CHECK(complaint_of_filling({.targets = {"cpu:baseline"}, .context = without_cache}) ==
        "cache_kernels: the context has no kernel cache; make it with a cache_directory");
  CHECK(complaint_of_filling({.targets = {"cpu:baseline"}, .context = test::context_that_fills("")}) ==
        "kernel cache: no directory to write to; name one");
}

std::string complaint_of(const Graph& graph, const std::shared_ptr<const Context>& context) {
  return compile(graph, {.targets = {"cpu:baseline"}, .context = context}).status().message();
}

TEST_CASE("a missing kernel is reported with its node, the target and the searched directories") {
  const TemporaryDirectory directory;
  const auto context = test::context_without_generators(directory.path());
  const Graph graph = parse_graph("graph g(%x: f32[8]) {\n  %hot = exp(%x)\n  return y = %hot\n}\n").value();
  const std::string text =
      "%hot = exp: kernel 'exp_0' for cpu:baseline is in no kernel cache, and cannot be generated: llvm: is away; ";
  CHECK(complaint_of(graph, context) == text + "searched " + directory.path());
  CHECK(complaint_of(graph, test::context_without_generators("/no/such/directory")) ==
        text + "searched /no/such/directory (does not exist)");
  const auto without_cache = std::make_shared<Context>(*context);
  without_cache->cache = nullptr;
  CHECK(complaint_of(graph, without_cache) ==
        "%hot = exp: kernel 'exp_0' for cpu:baseline cannot be generated: llvm: is away; this context has no kernel "
        "cache");
}

/// The files of the directory, by the names of their kernels.
std::map<std::string, std::string> files_by_kernel(const std::string& directory) {
  std::map<std::string, std::string> files;
  for (const CachedKernel& kernel : list_cached_kernels(directory).value()) {
    files[kernel.name] = directory + "/" + kernel.key;
  }
  return files;
}

TEST_CASE("the node of a missing kernel is named in loops, and among prepared constants") {
  const Shipping shipping;
  const Graph graph = parse_graph(R"(graph g(%x: f32[8], %more: bool[]) {
  %table = iota() {shape = [8], dtype = f32, axis = 0}
  %wave = sin(%table)
  %start = mul(%x, %wave)
  %last = while(%more, %start) {
    graph round() {
      %s = variable() : f32[8]
      %next = tanh(%s)
      %maximum = reduce_max(%next) {axes = [0]}
      %half = constant(0.5) : f32[]
      %again = greater(%maximum, %half)
      update %s = %next
      return again = %again
    }
  }
  return y = %last
})")
                          .value();
  REQUIRE(cache_kernels(graph, {.targets = {"cpu:baseline"}, .context = shipping.filling}).status().message() == "");
  const std::map<std::string, std::string> nodes = {{"iota_sin_0", "constants prepared at load: %wave = sin"},
                                                    {"mul_0", "%start = mul"},
                                                    {"tanh_0", "%next = tanh"},
                                                    {"reduce_max_greater_1", "%again = greater"}};
  const std::map<std::string, std::string> files = files_by_kernel(shipping.directory.path());
  CHECK(files.size() == nodes.size());
  for (const auto& [kernel, file] : files) {
    CAPTURE(kernel);
    std::filesystem::rename(file, file + ".away");
    const auto context = test::context_without_generators(shipping.directory.path());
    CHECK(complaint_of(graph, context) ==
          fmt::format("{}: kernel '{}' for cpu:baseline is in no kernel cache, and cannot be generated: llvm: is away; "
                      "searched {}",
                      nodes.at(kernel), kernel, shipping.directory.path()));
    std::filesystem::rename(file + ".away", file);
  }
}

}  // namespace
}  // namespace millrace
