// SPDX-License-Identifier: Apache-2.0
// Sorts, TopK and scans of the results of elementwise nodes: whether they read through those nodes or from memory,
// their results have the same bits, and are those of the oracle.
#include <cmath>
#include <random>

#include <doctest/doctest.h>

#include "millrace/graph/lowered_graph.h"
#include "millrace/millrace.h"
#include "tests/reference/tensor.h"
#include "tests/support/graphs/check_graph.h"
#include "tests/support/graphs/run_graph.h"
#include "tests/support/ops/hard_rows.h"
#include "tests/support/ops/pairwise.h"
#include "tests/support/sliced.h"

namespace millrace {
namespace {

using ReferenceTensor = reference::Tensor;

struct Inputs {
  Tensor x, scale, bias, mask;
};

/// What computes the elements, of the inputs x[m, n], a scale per row, a bias per column, and a mask.
struct Producer {
  std::string_view name;
  Tensor (*compute)(const Inputs&);
};

Shape shape_of_x(const Inputs& in) { return in.x.shape(); }

constexpr Producer kProducers[] = {
    {"scale and bias",
     [](const Inputs& in) {
       const Shape shape = shape_of_x(in);
       return in.x * broadcast_to(in.scale, shape) + broadcast_to(in.bias, shape);
     }},
    {"numbers", [](const Inputs& in) { return in.x * 3 + 1; }},
    {"relu of a difference", [](const Inputs& in) { return relu(in.x - broadcast_to(in.bias, shape_of_x(in))); }},
    {"mask", [](const Inputs& in) { return where(in.mask, in.x, broadcast_to(in.scale, shape_of_x(in))); }},
    {"comparison",
     [](const Inputs& in) { return where(less(in.x, broadcast_to(in.bias, shape_of_x(in))), -in.x, abs(in.x)); }},
    {"minimum", [](const Inputs& in) { return min(in.x, broadcast_to(in.scale, shape_of_x(in))); }},
    {"cast", [](const Inputs& in) { return cast(in.x, in.x.dtype() == DType::kF16 ? DType::kF32 : DType::kF16); }},
    {"cast to integers", [](const Inputs& in) { return cast(in.x, DType::kI32); }},
    {"square root", [](const Inputs& in) { return cast(sqrt(cast(abs(in.x), DType::kF32)), in.x.dtype()); }},
};

/// What reads them; the results are outputs.
struct Reader {
  std::string_view name;
  void (*read)(GraphBuilder&, const Tensor&);
  std::int64_t k = 0;  // of a TopK
};

void put(GraphBuilder& graph, const ValuesAndIndices& both, bool values, bool indices) {
  if (values) graph.output("values", both.values);
  if (indices) graph.output("indices", both.indices);
}
SizeExpr bounded_k(const Tensor& x, std::int64_t k) { return min(x.shape()[x.shape().rank() - 1], SizeExpr(k)); }

constexpr Reader kReaders[] = {
    {"topk", [](GraphBuilder& g, const Tensor& x) { put(g, topk(x, bounded_k(x, 8)), true, true); }, 8},
    {"values of topk", [](GraphBuilder& g, const Tensor& x) { put(g, topk(x, bounded_k(x, 50)), true, false); }, 50},
    {"indices of the smallest",
     [](GraphBuilder& g, const Tensor& x) { put(g, topk(x, bounded_k(x, 3), {.largest = false}), false, true); }, 3},
    {"many of topk", [](GraphBuilder& g, const Tensor& x) { put(g, topk(x, bounded_k(x, 300)), true, true); }, 300},
    {"sort", [](GraphBuilder& g, const Tensor& x) { put(g, sort(x), true, false); }},
    {"argsort", [](GraphBuilder& g, const Tensor& x) { put(g, sort(x, -1, true), false, true); }},
    {"sort of both", [](GraphBuilder& g, const Tensor& x) { put(g, sort(x), true, true); }},
    {"sort of columns", [](GraphBuilder& g, const Tensor& x) { put(g, sort(x, 0), true, true); }},
    {"sum", [](GraphBuilder& g, const Tensor& x) { g.output("y", cumulative_sum(x, {.axis = -1})); }},
    {"reverse sum",
     [](GraphBuilder& g, const Tensor& x) {
       g.output("y", cumulative_sum(x, {.axis = -1, .exclusive = true, .reverse = true}));
     }},
    {"maximum", [](GraphBuilder& g, const Tensor& x) { g.output("y", cumulative_max(x, {.axis = -1})); }},
    {"sum of columns", [](GraphBuilder& g, const Tensor& x) { g.output("y", cumulative_sum(x, {.axis = 0})); }},
};

struct Case {
  DType dtype;
  std::int64_t m, n;
  const Producer* producer;
  const Reader* reader;
  bool is_dynamic = false;
};

/// The graph, whose computed elements are an output too if they are to be in memory.
Graph make_graph(const Case& test, bool in_memory) {
  GraphBuilder graph("computed");
  const SizeExpr m = test.is_dynamic ? SizeExpr(Dim("m").at_most(1000)) : SizeExpr(test.m);
  const SizeExpr n = test.is_dynamic ? SizeExpr(Dim("n").at_most(1 << 20)) : SizeExpr(test.n);
  Inputs in;
  in.x = graph.input("x", test.dtype, {m, n});
  in.scale = graph.input("scale", test.dtype, {m, 1});
  in.bias = graph.input("bias", test.dtype, {n});
  in.mask = graph.input("mask", DType::kBool, {m, n});
  const Tensor computed = test.producer->compute(in);
  test.reader->read(graph, computed);
  if (in_memory) graph.output("computed", computed);
  Result<Graph> finished = graph.finish();
  REQUIRE(finished.status().message() == "");
  return *finished;
}

/// Many ties, zeros of both signs, infinities and NaNs, as far as the dtype has them.
ReferenceTensor make_input(DType dtype, const reference::Extents& extents, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<double> numbers(static_cast<std::size_t>(reference::count(extents)));
  for (double& number : numbers) {
    number = static_cast<double>(random() % 4001) / (is_float(dtype) ? 64 : 32) -
             (is_signed(dtype) || is_float(dtype) ? 30 : 0);
    if (dtype == DType::kBool) number = static_cast<double>(random() % 2);
    if (!is_float(dtype) || random() % 40 != 0) continue;
    constexpr double kSpecial[] = {0, -0.0, INFINITY, -INFINITY, NAN, -1, 1e-6};
    number = kSpecial[random() % std::size(kSpecial)];
  }
  return reference::make_tensor(dtype, extents, numbers);
}

std::vector<ReferenceTensor> make_inputs(const Case& test) {
  return {make_input(test.dtype, {test.m, test.n}, 1), make_input(test.dtype, {test.m, 1}, 2),
          make_input(test.dtype, {test.n}, 3), make_input(DType::kBool, {test.m, test.n}, 4)};
}

/// Equal bits, except that any NaN is as good as another one.
bool are_same(const ReferenceTensor& a, const ReferenceTensor& b) {
  if (a.type != b.type) return false;
  const std::size_t bytes = size_bytes(a.type.dtype);
  for (std::int64_t i = 0; i < a.num_elements(); ++i) {
    if (std::equal(a.element(i), a.element(i) + bytes, b.element(i))) continue;
    if (!is_float(a.type.dtype)) return false;
    const double x = reference::read_element<double>(a.type.dtype, a.element(i));
    const double y = reference::read_element<double>(b.type.dtype, b.element(i));
    if (!std::isnan(x) || !std::isnan(y)) return false;
  }
  return true;
}

std::vector<ReferenceTensor> run(const Graph& graph, const CompileOptions& options,
                                 std::span<const ReferenceTensor> inputs) {
  const Result<Program> program = compile(graph, options);
  REQUIRE(program.status().message() == "");
  auto outputs = test::run_guarded(*program, inputs);
  REQUIRE(outputs.status().message() == "");
  return *std::move(outputs);
}

/// Whether all is one kernel.
bool is_read_through(const Graph& graph, const CompileOptions& options) {
  const Program program = compile(graph, options).value();
  return program.lowered().dispatch.regions.size() == 1 && program.lowered().sequences[0][0].kernels.size() == 1;
}

/// What the generator with lanes says of a load, among the reasons of all generators.
std::string reason_of_lanes(const std::string& reasons) {
  const std::string_view who = "xbyak: ";
  const std::size_t begin = reasons.find(who) + who.size();
  return reasons.substr(begin, reasons.find('\n', begin) - begin);
}

/// The algorithms and kernels of a graph that is one region, and why its load is not read.
std::string plan_of(const Case& test, const std::string& target) {
  CompileOptions options;
  options.context = test::test_context();
  options.device = target.starts_with("sim") ? target : "cpu";
  if (!target.starts_with("sim")) options.targets = {target};
  const Program program = compile(make_graph(test, false), options).value();
  REQUIRE(program.lowered().dispatch.regions.size() == 1);
  const KernelSequence& sequence = program.lowered().sequences[0][0];
  std::string text = sequence.algorithm;
  for (const SequenceKernel& entry : sequence.kernels) text += ", " + entry.kernel.name;
  for (const Refusal& refusal : sequence.refusals) {
    if (refusal.reason.starts_with("reading the load: ")) text += "; " + reason_of_lanes(refusal.reason);
  }
  return text;
}

void check_same(const Case& test, const CompileOptions& options, std::span<const ReferenceTensor> inputs) {
  CAPTURE(test::to_text(options));
  const auto computed = run(make_graph(test, false), options, inputs);
  const auto in_memory = run(make_graph(test, true), options, inputs);
  for (std::size_t i = 0; i < computed.size(); ++i) CHECK(are_same(computed[i], in_memory[i]));
}
void check_same(const Case& test, const CompileOptions& options) { check_same(test, options, make_inputs(test)); }

std::vector<CompileOptions> every_way() {
  std::vector<CompileOptions> ways = test::every_way_to_compile();
  CompileOptions gpu;
  gpu.context = test::test_context();
  gpu.device = "sim:gfx1100";
  ways.push_back(gpu);
  return ways;
}

constexpr DType kDTypes[] = {DType::kF32, DType::kF16, DType::kBF16, DType::kI32,
                             DType::kF64, DType::kU8,  DType::kI64,  DType::kU32};

TEST_CASE(
    "elements that are computed as they are read give the bits that they give from memory, for every pair of choices" *
    test::Sliced()) {
  constexpr std::int64_t kColumns[] = {1, 20, 257, 1000, 2500};
  const std::vector<CompileOptions> ways = every_way();
  const std::size_t counts[] = {std::size(kDTypes),  std::size(kColumns), std::size(kProducers),
                                std::size(kReaders), ways.size(),         2};
  std::size_t num_read_through = 0;
  for (const std::vector<std::size_t>& choice : test::pairwise_rows(counts)) {
    const Case test = {kDTypes[choice[0]], choice[5] == 0 ? 3 : 40, kColumns[choice[1]], &kProducers[choice[2]],
                       &kReaders[choice[3]]};
    CAPTURE(std::string(to_text(test.dtype)));
    CAPTURE(test.n);
    CAPTURE(test.producer->name);
    CAPTURE(test.reader->name);
    check_same(test, ways[choice[4]]);
    num_read_through += is_read_through(make_graph(test, false), ways[choice[4]]) ? 1u : 0u;
  }
  CHECK(num_read_through > 10);
}

TEST_CASE("each dtype, producer and reader is right on each level of lanes" * test::Sliced()) {
  for (CompileOptions& options : test::every_way_to_compile()) {
    if (!options.lowering.compile.force_generator.empty()) continue;
    for (const std::int64_t n : {33, 300}) {
      for (const Producer& producer : kProducers) {
        for (const Reader& reader : kReaders) {
          for (const DType dtype : {DType::kF32, DType::kF16, DType::kI32}) {
            const Case test = {dtype, 20, n, &producer, &reader};
            CAPTURE(std::string(to_text(dtype)));
            CAPTURE(n);
            CAPTURE(producer.name);
            CAPTURE(reader.name);
            check_same(test, options);
          }
        }
      }
    }
  }
}

TEST_CASE("long computed rows give the same results as from memory" * test::Sliced()) {
  for (CompileOptions& options : test::every_way_to_compile()) {
    if (!options.lowering.compile.force_generator.empty()) continue;
    for (const DType dtype : {DType::kF32, DType::kBF16, DType::kF64, DType::kU8}) {
      for (const std::int64_t n : {40'000, 150'001}) {
        for (const Producer& producer : std::span(kProducers).first(3)) {
          for (const Reader& reader : kReaders) {
            CAPTURE(std::string(to_text(dtype)));
            CAPTURE(n);
            CAPTURE(producer.name);
            CAPTURE(reader.name);
            check_same({dtype, 2, n, &producer, &reader}, options);
          }
        }
      }
    }
  }
}

/// Rows in memory are compared with the oracle by tests of ops.
TEST_CASE("the first k of hard computed rows are those of the same rows in memory" * test::Sliced()) {
  constexpr Reader kMaxByGroups = {
      "the maximum that groups find",
      [](GraphBuilder& g, const Tensor& x) { put(g, topk(x, bounded_k(x, 1000)), true, true); }, 1000};
  std::vector<Reader> readers = {kMaxByGroups};
  std::ranges::copy_if(kReaders, std::back_inserter(readers), [](const Reader& reader) { return reader.k > 0; });
  std::mt19937_64 random(5);
  std::size_t iteration = 0;
  for (CompileOptions& options : test::every_way_to_compile()) {
    if (!options.lowering.compile.force_generator.empty()) continue;
    for (const DType dtype : {DType::kF32, DType::kBF16, DType::kI32, DType::kF64}) {
      for (const std::int64_t n : {2500, 8400, 32'767, 100'003}) {
        for (const test::HardRow& hard : test::hard_rows(dtype)) {
          const Reader& reader = readers[iteration % readers.size()];
          const Producer& producer = kProducers[iteration++ / readers.size() % 4];
          CAPTURE(std::string(to_text(dtype)));
          CAPTURE(n);
          CAPTURE(hard.name);
          CAPTURE(producer.name);
          CAPTURE(reader.name);
          const Case test = {dtype, 2, n, &producer, &reader};
          std::vector<ReferenceTensor> inputs = make_inputs(test);
          inputs[0] = test::make_hard_rows(hard, dtype, {2, n}, 1, reader.k, random);
          check_same(test, options, inputs);
        }
      }
    }
  }
}

TEST_CASE("the first k of computed rows are the same if a row is cut into parts" * test::Sliced()) {
  for (CompileOptions& options : test::every_way_to_compile()) {
    if (!options.lowering.compile.force_generator.empty()) continue;
    for (const DType dtype : {DType::kF32, DType::kF64, DType::kBF16}) {
      const Reader& reader = kReaders[dtype == DType::kF64 ? 1 : dtype == DType::kBF16 ? 2 : 0];
      const Case test = {dtype, 2, (2 << 20) + 77, &kProducers[0], &reader};
      CAPTURE(std::string(to_text(dtype)));
      CAPTURE(reader.name);
      check_same(test, options);
    }
  }
  const Case test = {DType::kF32, 2, 3 << 20, &kProducers[0], &kReaders[0]};
  CHECK(plan_of(test, "cpu:avx2") == "lane_topk_parts, mul_add_topk_0_parts, mul_add_topk_0_merge");
}

TEST_CASE("rows computed in wider lanes than their keys give the same results as from memory") {
  for (CompileOptions& options : test::every_way_to_compile()) {
    if (!options.lowering.compile.force_generator.empty()) continue;
    const Case test = {DType::kI64, 2, 40'000, &kProducers[7], &kReaders[0]};
    const bool has_lanes = options.device != "cpu:baseline";
    CHECK_EQ(plan_of(test, options.device),
             has_lanes ? "lane_sort, cast_topk_0" : "topk_heap, cast_topk_0_load, cast_topk_0");
    check_same(test, options);
  }
}

TEST_CASE("sizes that a run binds do not change the results") {
  for (const CompileOptions& options : every_way()) {
    for (const Reader& reader : kReaders) {
      for (const std::int64_t n : {1, 100, 3000}) {
        const Case test = {DType::kF32, 5, n, &kProducers[0], &reader, true};
        CAPTURE(test::to_text(options));
        CAPTURE(reader.name);
        CAPTURE(n);
        check_same(test, options);
      }
    }
  }
}

TEST_CASE("computed sorts, TopK and scans agree with the oracle") {
  for (const CompileOptions& options : every_way()) {
    for (const Producer& producer : std::span(kProducers).first(4)) {
      for (const Reader& reader : kReaders) {
        CAPTURE(test::to_text(options));
        CAPTURE(producer.name);
        CAPTURE(reader.name);
        const Case test = {DType::kF32, 3, 260, &producer, &reader};
        CHECK(test::check_graph(make_graph(test, false), {}, options, 1) == "");
      }
    }
  }
}

const Producer& producer_of(std::string_view name) { return *std::ranges::find(kProducers, name, &Producer::name); }
const Reader& reader_of(std::string_view name) { return *std::ranges::find(kReaders, name, &Reader::name); }

TEST_CASE("rows are read once if lanes compute them, and the plan says which are stored first") {
  const auto plan = [](std::string_view producer, std::string_view reader, std::int64_t n = 300,
                       const std::string& target = "cpu:avx2", DType dtype = DType::kF32) {
    return plan_of({dtype, 20, n, &producer_of(producer), &reader_of(reader)}, target);
  };
  for (const char* const target : {"cpu:avx2", "cpu:avx512"}) {
    if (std::string(target) == "cpu:avx512" && host_isa_levels().back() != IsaLevel::kAvx512) continue;
    CHECK_EQ(plan("scale and bias", "topk", 300, target), "lane_sort, mul_add_topk_0");
    CHECK_EQ(plan("scale and bias", "topk", 300'000, target), "lane_sort, mul_add_topk_0");
    CHECK_EQ(plan("scale and bias", "argsort", 300, target), "lane_sort, mul_add_sort_0");
    CHECK_EQ(plan("scale and bias", "reverse sum", 300, target), "lane_scan, mul_add_cumulative_sum_0");
    CHECK_EQ(plan("scale and bias", "maximum", 300, target, DType::kBF16), "lane_scan, mul_add_cumulative_max_0");
  }
  CHECK_EQ(plan("square root", "values of topk"),
           "lane_sort, abs_sqrt_topk_0_load, abs_sqrt_topk_0; sqrt of f32 has no lane instruction");
  CHECK_EQ(plan("scale and bias", "sort", 200'000),
           "lane_sort, mul_add_sort_0_load, mul_add_sort_0; keys of 200000 elements exceed the cache, expected rows "
           "whose keys fit it");
  CHECK_EQ(plan("scale and bias", "sort", 300'000),
           "lane_sort_parts, mul_add_sort_0_load, mul_add_sort_0_cuts, mul_add_sort_0_chunks, mul_add_sort_0_buckets, "
           "mul_add_sort_0_runs");
  CHECK_EQ(plan("scale and bias", "sort", 700, "cpu:avx2", DType::kU8),
           "lane_sort, mul_add_sort_0_load, mul_add_sort_0; 700 elements of u8 are counted in memory, expected rows "
           "whose keys are sorted");
  CHECK_EQ(plan("scale and bias", "sort of columns"),
           "lane_sort, mul_add_sort_0_load, mul_add_sort_0; 'x0' has its elements 300 apart along the "
           "axis, expected contiguous ones");
  CHECK_EQ(plan("scale and bias", "topk", 300, "cpu:baseline"), "topk_heap, mul_add_topk_0_load, mul_add_topk_0");
  CHECK_EQ(plan("scale and bias", "sum", 300, "cpu:baseline"),
           "scan_lines, mul_add_cumulative_sum_0_load, mul_add_cumulative_sum_0");
  CHECK_EQ(plan("scale and bias", "topk", 300, "sim:gfx1100"), "gpu_topk_lanes, mul_add_topk_0_load, mul_add_topk_0");
}

}  // namespace
}  // namespace millrace
