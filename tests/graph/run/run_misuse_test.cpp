// SPDX-License-Identifier: Apache-2.0
// Calls that compile() and Session::run() refuse.
#include <array>

#include <doctest/doctest.h>

#include "millrace/graph/compile.h"
#include "millrace/graph/compile_report.h"
#include "millrace/hal/device.h"
#include "millrace/jit/kernel_cache.h"
#include "millrace/jit/kernel_compiler.h"
#include "tests/graph/misuse.h"

namespace millrace {
namespace {

std::shared_ptr<const Context> context() {
  static const std::shared_ptr<const Context> kContext = make_default_context({.cache_directory = ""});
  return kContext;
}

CompileOptions options(std::string generator = "interpreter") {
  CompileOptions options;
  options.device = "cpu:baseline";
  options.context = context();
  options.lowering.compile.force_generator = std::move(generator);
  return options;
}

/// y = x + b over f32[4]; n is i64[0].
Graph sum_graph() {
  GraphBuilder builder;
  Tensor x = f32(builder, {4});
  builder.input("n", DType::kI64, {0});
  builder.output("y", x + builder.input("b", DType::kF32, {4}));
  builder.output("z", exp(x));
  return builder.finish().value();
}

std::string compile_error(const CompileOptions& options) { return compile(sum_graph(), options).status().message(); }

TEST_CASE("a damaged graph is not compiled") {
  Graph graph = sum_graph();
  graph.outputs.clear();
  CHECK(compile(graph, options()).status().message() == "the graph has no output; name what it computes with output()");
  CHECK_FALSE(compile({}, options()).ok());
}

TEST_CASE("an unknown device is not compiled for") {
  CompileOptions wrong = options();
  wrong.device = "cuda";
  CHECK(compile_error(wrong) ==
        "device 'cuda' is not known; devices built in: cpu, hip, sim; code generators built in: xbyak, llvm, "
        "interpreter; say "
        "'cpu' for this host");
  wrong.device = "cpu:avx9";
  CHECK(compile_error(wrong) ==
        "device 'cpu:avx9': target 'cpu:avx9': cpu level 'avx9' is not known, expected baseline, avx2 or avx512; say "
        "cpu for the host's best");
}

TEST_CASE("a context with nothing in it compiles nothing") {
  CompileOptions empty = options();
  empty.context = std::make_shared<Context>();
  CHECK(compile_error(empty) ==
        "compile: generator 'interpreter' is not known; code generators built in: none; force one of these");
  empty.lowering.compile.force_generator = "";
  CHECK(
      compile_error(empty) ==
      "device 'cpu:baseline' is not known; devices built in: none; code generators built in: none; say 'cpu' for this "
      "host");
}

TEST_CASE("a context without a cache compiles every kernel anew") {
  auto bare = std::make_shared<Context>(*context());
  bare->cache = nullptr;
  CompileOptions uncached = options();
  uncached.context = bare;
  CHECK(compile_error(uncached) == "");
}

TEST_CASE("an unknown generator or algorithm is named, with the known ones") {
  CHECK(
      compile_error(options("ptx")) ==
      "compile: generator 'ptx' is not known; code generators built in: xbyak, llvm, interpreter; force one of these");
  CHECK(
      compile_error(options("xbyak")) ==
      "region add_0 (%3 = add): lower 'add_0' for cpu:baseline: no algorithm lowers it; loop_pad_first: no operand is "
      "padded; "
      "loop_direct: kernel add_0: generator 'xbyak' does not support cpu:baseline; there are llvm, interpreter; force "
      "one of these, or choose a target that it supports");
  CompileOptions wrong = options();
  wrong.lowering.force_algorithm = "quicksort";
  CHECK(
      compile_error(wrong) ==
      "region add_0 (%3 = add): lower 'add_0': unknown algorithm 'quicksort'; expected one of loop_pad_first, "
      "lane_arg_parts, reduce_parts, loop_direct, row_network, lane_topk_parts, lane_sort_parts, lane_sort, topk_heap, "
      "counting_sort, radix_sort, merge_sort, "
      "gpu_topk_lanes, "
      "gpu_tile_sort, gpu_topk_parts, gpu_topk_select, gpu_radix_sort, lane_scan_parts, lane_scan, scan_lines, "
      "gpu_scan_columns, gpu_scan_rows, gpu_scan_pieces, scatter_lines");
  wrong.lowering.force_algorithm = "merge_sort";
  CHECK(
      compile_error(wrong) ==
      "region add_0 (%3 = add): lower 'add_0' for cpu:baseline: no algorithm lowers it; merge_sort: lowers sorts, not "
      "loops");
}

/// A session of sum_graph() with arguments that are right.
struct SumRun {
  std::array<float, 4> x{1, 2, 3, 4}, b{}, y{}, z{};
  std::vector<TensorBinding> inputs{bind(x), {nullptr, 0}, bind(b)};
  std::vector<TensorBinding> outputs{bind(y), bind(z)};
  Session session = Session::create(compile(sum_graph(), options()).value()).value();

  std::string error() { return session.run(inputs, outputs).message(); }
};

TEST_CASE("right arguments run, repeatedly, with wrong ones between them") {
  SumRun run;
  CHECK(run.error() == "");
  CHECK(run.y[3] == 4);
  run.inputs.pop_back();
  CHECK(run.error() ==
        "run: 2 inputs given, expected 3: 'b' is missing; bind each once, in the program's order or by name");
  run.inputs.push_back(bind(run.x));  // an input may be bound twice
  CHECK(run.error() == "");
  CHECK(run.y[3] == 8);
}

TEST_CASE("run refuses a wrong number of arguments") {
  SumRun run;
  run.outputs.push_back(bind(run.b));
  CHECK(run.error() == "run: 3 outputs given, expected 2; bind each once, in the program's order or by name");
  run.outputs.clear();
  CHECK(run.error() ==
        "run: 0 outputs given, expected 2: 'y', 'z' are missing; bind each once, in the program's order or by name");
  run.inputs.clear();
  CHECK(
      run.error() ==
      "run: 0 inputs given, expected 3: 'x', 'n', 'b' are missing; bind each once, in the program's order or by name");
  run.inputs = {bind("b", run.b), bind("n", std::span<const std::int64_t>())};
  CHECK(run.error() ==
        "run: 2 inputs given, expected 3: 'x' is missing; bind each once, in the program's order or by name");
}

TEST_CASE("run refuses arguments of another size, before anything is written") {
  SumRun run;
  run.inputs[0].size_bytes = 12;
  CHECK(run.error() == "run: input 'x' has 12 bytes, expected 16 for f32[4]; bind the whole tensor");
  run.inputs[0].size_bytes = 16;
  std::array<std::int64_t, 2> n{};
  run.inputs[1] = bind(n);
  CHECK(run.error() == "run: input 'n' has 16 bytes, expected 0 for i64[0]; bind the whole tensor");
  run.inputs[1] = {};
  run.outputs[1].size_bytes = 20;
  CHECK(run.error() == "run: output 'z' has 20 bytes, expected 16 for f32[4]; bind the whole tensor");
  CHECK(run.y[3] == 0);
}

TEST_CASE("run refuses null for arguments with bytes") {
  SumRun run;
  run.inputs[2].data = nullptr;
  CHECK(run.error() == "run: input 'b' is null, expected 16 bytes for f32[4]; bind memory");
  run.inputs[2] = bind(run.b);
  run.outputs[0].data = nullptr;
  CHECK(run.error() == "run: output 'y' is null, expected 16 bytes for f32[4]; bind memory");
}

TEST_CASE("run refuses elements of another dtype if C++ knows it, and takes bits as integers and bytes") {
  SumRun run;
  std::array<double, 2> two{};
  run.inputs[0] = bind(two);
  CHECK(run.error() ==
        "run: input 'x' is bound to elements of f64, expected f32 for f32[4]; bind elements of that "
        "dtype");
  run.inputs[0] = bind(run.x);
  std::array<std::int32_t, 4> four{};
  run.outputs[0] = bind(four);
  CHECK(run.error() ==
        "run: output 'y' is bound to elements of i32, expected f32 for f32[4]; bind elements of that "
        "dtype");
  std::array<std::byte, 16> bytes{};
  run.outputs[0] = bind(bytes);
  CHECK(run.error().find("bound to elements") == std::string::npos);

  GraphBuilder graph;
  graph.output("y", cast(graph.input("x", DType::kF16, {2}), DType::kBool));
  Session session = Session::create(compile(graph.finish().value(), options()).value()).value();
  std::array<std::uint16_t, 2> x{0x3c00, 0};
  std::array<std::uint8_t, 2> y{7, 7};
  const TensorBinding inputs[] = {bind(x)}, outputs[] = {bind(y)};
  CHECK(session.run(inputs, outputs).message() == "");
  CHECK(y == std::array<std::uint8_t, 2>{1, 0});
}

TEST_CASE("run refuses memory that is not aligned to its elements") {
  SumRun run;
  std::array<float, 8> room{};
  run.outputs[1] = {reinterpret_cast<std::byte*>(room.data()) + 2, 16};
  CHECK(run.error() == "run: output 'z' is not aligned to 4 bytes, as f32 needs; bind aligned memory");
  run.inputs[0] = {reinterpret_cast<std::byte*>(room.data()) + 1, 16};
  CHECK(run.error() == "run: input 'x' is not aligned to 4 bytes, as f32 needs; bind aligned memory");
}

TEST_CASE("run refuses outputs that share memory with anything") {
  SumRun run;
  std::array<float, 8> room{};
  run.outputs = {{room.data(), 16}, {room.data() + 3, 16}};
  CHECK(run.error() == "run: output 'z' shares memory with output 'y'; give it its own");
  run.outputs = {{room.data(), 16}, {room.data() + 4, 16}};
  CHECK(run.error() == "");
  run.outputs[1] = bind(run.b);
  CHECK(run.error() == "run: output 'z' shares memory with input 'b'; give it its own");
  run.outputs[1] = bind(run.z);
  run.inputs[1] = {run.z.data() + 1, 0};  // no bytes, so none shared
  CHECK(run.error() == "");
}

TEST_CASE("a session that was moved from says so") {
  SumRun run;
  Session taken = std::move(run.session);
  CHECK(run.error() == "run: the session was moved from; create another");
  CHECK(taken.run(run.inputs, run.outputs).ok());
  CHECK(Session::create(Program(nullptr)).status().message() ==
        "session: the program is empty; pass a program that compile() returned");
}

TEST_CASE("a session keeps its program") {
  std::array<float, 4> x{1, 2, 3, 4}, b{}, y{}, z{};
  Session session = [&] {
    const Program program = compile(sum_graph(), options()).value();
    return Session::create(program).value();
  }();
  const std::vector<TensorBinding> inputs = {bind(x), {}, bind(b)}, outputs = {bind(y), bind(z)};
  CHECK(session.run(inputs, outputs).ok());
  CHECK(y == x);
}

}  // namespace
}  // namespace millrace
