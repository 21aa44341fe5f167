// SPDX-License-Identifier: Apache-2.0
// Graphs of many nodes: kernels that differ only in numbers share their code, and nothing else changes.
#include <doctest/doctest.h>

#include "millrace/graph/code_object.h"
#include "millrace/graph/compile_report.h"
#include "millrace/graph/lowered_graph.h"
#include "millrace/graph/program_variant.h"
#include "millrace/jit/code_object.h"
#include "millrace/jit/kernel_compiler.h"
#include "millrace/millrace.h"
#include "tests/support/graphs/run_graph.h"
#include "tests/support/sliced.h"

namespace millrace {
namespace {

using T = millrace::Tensor;
using Build = T (*)(T x, std::int64_t i);

/// `count` outputs, each built of one input and its number.
Graph outputs_of(std::int64_t first, std::int64_t count, DType dtype, std::int64_t extent, Build build) {
  GraphBuilder graph("outputs");
  const T x = graph.input("x", dtype, {extent});
  for (std::int64_t i = first; i < first + count; ++i) graph.output("y" + std::to_string(i), build(x, i));
  return graph.finish().value();
}

Program compiled(Graph graph) { return compile(std::move(graph), {.context = test::test_context()}).value(); }

std::size_t num_kernels(const Graph& graph, const char* target = "cpu") {
  const Result<LoweredGraph> lowered = lower_graph(graph, test::test_context()->target(target).value());
  REQUIRE(lowered.status().message() == "");
  return lowered->schedule.kernels.size();
}

std::size_t code_bytes(const Program& program) {
  std::size_t bytes = 0;
  for (const ExecutableImage& image : program.variants()[0].images) bytes += image.bytes.size();
  return bytes;
}

reference::Tensor small_numbers(DType dtype, std::int64_t count) {
  std::vector<double> values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = dtype == DType::kBool ? static_cast<double>(i % 3 == 0) : static_cast<double>(i % 13);
  }
  return reference::make_tensor(dtype, {count}, values);
}

Graph concat_of(std::int64_t count, Shape (*shape)(std::int64_t i)) {
  GraphBuilder graph("concat");
  std::vector<T> parts;
  for (std::int64_t i = 0; i < count; ++i) parts.push_back(graph.input("x" + std::to_string(i), DType::kF32, shape(i)));
  graph.output("y", concat(parts, 0));
  return graph.finish().value();
}

TEST_CASE("the operands of a concat share one kernel, whose argument is where each goes") {
  const Program program = compiled(concat_of(64, [](std::int64_t) { return Shape{3, 5}; }));
  CHECK(program.report().num_kernels == 1);
  CHECK(program.report().num_dispatches == 64);
  CHECK(code_bytes(program) <= 16 * 1024);
  std::vector<reference::Tensor> inputs;
  std::vector<std::byte> expected;
  for (int i = 0; i < 64; ++i) {
    inputs.emplace_back(DType::kF32, reference::Extents{3, 5});
    for (std::byte& byte : inputs.back().bytes) byte = static_cast<std::byte>(i + 1);
    expected.insert(expected.end(), inputs.back().bytes.begin(), inputs.back().bytes.end());
  }
  const auto outputs = test::run_guarded(program, inputs);
  REQUIRE(outputs.status().message() == "");
  CHECK((*outputs)[0].bytes == expected);
}

// The first operand of a large one adds no offset to the index of its loop, so its code is another. With vectors of 16
// lanes, every second operand is aligned, so that its stores may bypass the caches.
TEST_CASE("operands of a concat that are large or of different extents share kernels, too") {
  CHECK(num_kernels(concat_of(64, [](std::int64_t) { return Shape{60, 70}; })) <= 3);
  CHECK(num_kernels(concat_of(1000, [](std::int64_t i) { return Shape{1 + i % 5, 4}; })) <= 5);
}

struct SymbolicCase {
  const char* name;
  std::size_t max_kernels;
  Graph (*make)(std::int64_t count);
};

const Dim kRows = Dim("n").at_least(64);

Graph outputs_of_rows(std::int64_t count, Build build) {
  GraphBuilder graph("outputs");
  const T x = graph.input("x", DType::kF32, {kRows, 7});
  for (std::int64_t i = 0; i < count; ++i) graph.output("y" + std::to_string(i), build(x, i));
  return graph.finish().value();
}

// The first operands have code of their own: the offset of one is nothing, that of another its extent. An offset that
// is known to be a multiple of the lanes allows streaming stores.
const SymbolicCase kSymbolicCases[] = {
    {"operands with symbolic rows", 4,
     [](std::int64_t count) { return concat_of(count, [](std::int64_t) { return Shape{3, Dim("m")}; }); }},
    {"a symbolic number of rows", 4,
     [](std::int64_t count) { return concat_of(count, [](std::int64_t) { return Shape{Dim("n"), 4}; }); }},
    {"operands of symbols alone", 4,
     [](std::int64_t count) { return concat_of(count, [](std::int64_t) { return Shape{Dim("n"), Dim("m")}; }); }},
    {"a symbol for each operand", 3,
     [](std::int64_t count) {
       return concat_of(count, [](std::int64_t i) { return Shape{Dim("n" + std::to_string(i)), Dim("m")}; });
     }},
    {"slices of a symbolic input", 2,
     [](std::int64_t count) {
       return outputs_of_rows(count, [](T x, std::int64_t i) { return exp(slice(x, {i, 0}, {kRows, 7})); });
     }},
    {"pads of a symbolic input", 2,
     [](std::int64_t count) {
       return outputs_of_rows(count, [](T x, std::int64_t i) { return pad(x, {i + 1, 0}, {2 * i, 0}, 1.0); });
     }},
};

TEST_CASE("kernels that differ in size expressions share their code, on CPUs and GPUs") {
  for (const SymbolicCase& c : kSymbolicCases) {
    CAPTURE(c.name);
    const Graph graph = c.make(64);
    for (const char* target : {"cpu:baseline", "cpu:avx512", "amdgpu:gfx1100"}) {
      CAPTURE(target);
      CHECK(num_kernels(graph, target) <= c.max_kernels);
    }
  }
}

/// What concat on axis 0 gives, of inputs of `columns` columns whose numbers go on from one to the next.
struct Rows {
  std::vector<reference::Tensor> inputs;
  std::vector<std::byte> all;
};
Rows rows_of(const std::vector<std::int64_t>& rows, std::int64_t columns) {
  Rows result;
  double next = 1;
  for (const std::int64_t count : rows) {
    std::vector<double> values(static_cast<std::size_t>(count * columns));
    for (double& value : values) value = next++;
    result.inputs.push_back(reference::make_tensor(DType::kF32, {count, columns}, values));
    const std::vector<std::byte>& bytes = result.inputs.back().bytes;
    result.all.insert(result.all.end(), bytes.begin(), bytes.end());
  }
  return result;
}

TEST_CASE("operands of symbolic extents are stored where plain loops store them") {
  const Program one_symbol = compiled(concat_of(40, [](std::int64_t) { return Shape{3, Dim("m")}; }));
  const Program two_symbols = compiled(concat_of(40, [](std::int64_t) { return Shape{Dim("n"), Dim("m")}; }));
  const Program many_symbols =
      compiled(concat_of(40, [](std::int64_t i) { return Shape{Dim("n" + std::to_string(i)), Dim("m")}; }));
  std::vector<std::int64_t> growing(40);
  for (std::size_t i = 0; i < growing.size(); ++i) growing[i] = static_cast<std::int64_t>(i * 7 % 11);
  for (const std::int64_t columns : {0, 1, 5, 64}) {
    CAPTURE(columns);
    const auto check = [&](const Program& program, const std::vector<std::int64_t>& rows) {
      const Rows expected = rows_of(rows, columns);
      const auto outputs = test::run_guarded(program, expected.inputs);
      REQUIRE(outputs.status().message() == "");
      CHECK((*outputs)[0].bytes == expected.all);
    };
    check(one_symbol, std::vector<std::int64_t>(40, 3));
    check(two_symbols, std::vector<std::int64_t>(40, 9));
    check(many_symbols, growing);
  }
}

TEST_CASE("slices and pads of a symbolic input equal the results of plain loops") {
  constexpr std::int64_t kCount = 40, kColumns = 7, kBound = 64;
  const Program slices =
      compiled(outputs_of_rows(kCount, [](T x, std::int64_t i) { return slice(x, {i, 0}, {kRows, kColumns}) + 1.0; }));
  const Program pads =
      compiled(outputs_of_rows(kCount, [](T x, std::int64_t i) { return pad(x, {i + 1, 0}, {2 * i, 0}, -1.0); }));
  for (const std::int64_t rows : {kBound, kBound + 37}) {
    CAPTURE(rows);
    std::vector<double> values(static_cast<std::size_t>(rows * kColumns));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i);
    const reference::Tensor x = reference::make_tensor(DType::kF32, {rows, kColumns}, values);
    const auto sliced = test::run_guarded(slices, std::span(&x, 1));
    const auto padded = test::run_guarded(pads, std::span(&x, 1));
    REQUIRE(sliced.status().message() == "");
    REQUIRE(padded.status().message() == "");
    for (std::int64_t i = 0; i < kCount; ++i) {
      CAPTURE(i);
      std::vector<double> cut(values.begin() + i * kColumns, values.end());
      for (double& value : cut) value += 1;
      std::vector<double> wide(static_cast<std::size_t>((i + 1) * kColumns), -1.0);
      wide.insert(wide.end(), values.begin(), values.end());
      wide.resize(wide.size() + static_cast<std::size_t>(2 * i * kColumns), -1.0);
      const auto number = static_cast<std::size_t>(i);
      CHECK((*sliced)[number].bytes == reference::make_tensor(DType::kF32, {rows - i, kColumns}, cut).bytes);
      CHECK((*padded)[number].bytes == reference::make_tensor(DType::kF32, {rows + 3 * i + 1, kColumns}, wide).bytes);
    }
  }
}

TEST_CASE("a thousand nodes that differ in a constant are one kernel") {
  const Program program =
      compiled(outputs_of(0, 1000, DType::kF32, 40, [](T x, std::int64_t i) { return x + 0.5 * i; }));
  CHECK(program.report().num_kernels == 1);
  CHECK(program.report().num_dispatches == 1000);
  CHECK(code_bytes(program) <= 16 * 1024);
}

struct SharedCase {
  const char* name;
  std::int64_t extent;
  std::int64_t count;
  bool takes_bool;
  Build build;
};

constexpr SharedCase kSharedCases[] = {
    {"a number in a body", 37, 20, false,
     [](T x, std::int64_t i) { return x * static_cast<double>(i + 2) + static_cast<double>(3 * i + 1); }},
    {"where a slice begins", 60, 20, true, [](T x, std::int64_t i) { return slice(x, {i}, {i + 40}); }},
    {"where a reduced slice begins", 60, 20, false,
     [](T x, std::int64_t i) { return reduce_max(slice(x, {i}, {i + 40}), {0}); }},
    {"padding", 20, 40, true, [](T x, std::int64_t i) { return pad(x, {i + 1}, {50 - i}, i % 2 == 0 ? 1 : 0); }},
    {"divisors", 19, 75, false, [](T x, std::int64_t i) { return x / (i + 3); }},
};

TEST_CASE("kernels that share their code compute the same bits as each kernel alone" * test::Sliced()) {
  for (const SharedCase& c : kSharedCases) {
    for (const DType dtype : kAllDTypes) {
      if (dtype == DType::kBool && !c.takes_bool) continue;
      CAPTURE(c.name);
      CAPTURE(to_text(dtype));
      const reference::Tensor x = small_numbers(dtype, c.extent);
      const Program shared = compiled(outputs_of(0, c.count, dtype, c.extent, c.build));
      CHECK(shared.report().num_kernels * 4 <= static_cast<std::size_t>(c.count));
      const auto together = test::run_guarded(shared, std::span(&x, 1));
      REQUIRE(together.status().message() == "");
      for (std::int64_t i = 0; i < c.count; i += 7) {
        CAPTURE(i);
        const Program one = compiled(outputs_of(i, 1, dtype, c.extent, c.build));
        const auto alone = test::run_guarded(one, std::span(&x, 1));
        REQUIRE(alone.status().message() == "");
        CHECK((*alone)[0].bytes == (*together)[static_cast<std::size_t>(i)].bytes);
      }
    }
  }
}

TEST_CASE("few kernels keep their numbers as constants") {
  const Build add = [](T x, std::int64_t i) { return x + static_cast<double>(i + 1); };
  CHECK(num_kernels(outputs_of(0, 15, DType::kF32, 40, add)) == 15);
  CHECK(num_kernels(outputs_of(0, 16, DType::kF32, 40, add)) == 1);
}

TEST_CASE("code is generated per combination of divisors and shift counts, up to 64") {
  const Build divide = [](T x, std::int64_t i) { return x / (2 * i + 3); };
  CHECK(num_kernels(outputs_of(0, 64, DType::kI32, 40, divide)) == 64);
  CHECK(num_kernels(outputs_of(0, 65, DType::kI32, 40, divide)) == 1);
  // With a few divisors, the other numbers are still arguments.
  const Build both = [](T x, std::int64_t i) { return (x + static_cast<double>(i)) / (i % 2 == 0 ? 3 : 5); };
  CHECK(num_kernels(outputs_of(1, 100, DType::kI32, 40, both)) == 2);
}

TEST_CASE("each step of a shared kernel has its own groups, sizes and operations") {
  GraphBuilder graph("extents");
  for (std::int64_t i = 0; i < 20; ++i) {
    const T x = graph.input("x" + std::to_string(i), DType::kF32, {1000 + 64 * i});
    graph.output("y" + std::to_string(i), x + 1.0);
  }
  const Target target = test::test_context()->target("cpu").value();
  const LoweredGraph lowered = lower_graph(graph.finish().value(), target).value();
  CHECK(lowered.schedule.kernels.size() == 1);
  REQUIRE(lowered.schedule.steps.size() == 20);
  for (std::uint32_t i = 0; i < 20; ++i) {
    const Step& step = lowered.schedule.steps[StepId{i}];
    CHECK(step.flops == SizeExpr(1000 + 64 * i));
    CHECK(step.sizes == lowered.sequences[i][0].kernels[0].kernel.sizes);
    CHECK_FALSE(step.sizes.empty());
  }
}

TEST_CASE("kernels for GPUs share their code, and a code object has it once") {
  const Target target = test::test_context()->target("amdgpu:gfx1100").value();
  const Graph graph = outputs_of(
      1, 40, DType::kF32, 2000, [](T x, std::int64_t i) { return slice(x, {i}, {i + 1900}) * static_cast<double>(i); });
  const LoweredGraph lowered = lower_graph(graph, target).value();
  CHECK(lowered.schedule.kernels.size() <= 2);
  const auto object = make_code_object(lowered, target);
  REQUIRE(object.status().message() == "");
  const CodeObjectInfo info = read_code_object(*object).value();
  CHECK(info.kernels.size() == lowered.schedule.kernels.size());
  for (const PlannedKernel& kernel : lowered.schedule.kernels) {
    CHECK(check_code_object(info, kernel, target.spec()).message() == "");
  }
}

TEST_CASE("kernels of the interpreter share nothing, because its findings name the kernel") {
  const Build add = [](T x, std::int64_t i) { return x + static_cast<double>(i + 1); };
  CHECK(num_kernels(outputs_of(0, 20, DType::kF32, 40, add), "sim:gfx1100") == 20);
}

TEST_CASE("among many arguments, too, an output that shares memory is named") {
  const Program program =
      compiled(outputs_of(0, 40, DType::kF32, 8, [](T x, std::int64_t i) { return x + static_cast<double>(i); }));
  Session session = Session::create(program).value();
  std::vector<float> x(8), room(8 * 40);
  const TensorBinding inputs[] = {bind(x)};
  std::vector<TensorBinding> outputs;
  for (std::size_t i = 0; i < 40; ++i) outputs.push_back(bind(std::span(room).subspan(8 * (39 - i), 8)));
  CHECK(session.run(inputs, outputs).message() == "");
  outputs[30] = bind(std::span(room).subspan(8 * 20 + 1, 8));
  CHECK(session.run(inputs, outputs).message() == "run: output 'y30' shares memory with output 'y18'; give it its own");
  outputs[30] = bind(x);
  CHECK(session.run(inputs, outputs).message() == "run: output 'y30' shares memory with input 'x'; give it its own");
}

}  // namespace
}  // namespace millrace
