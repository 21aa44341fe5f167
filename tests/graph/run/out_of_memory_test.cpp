// SPDX-License-Identifier: Apache-2.0
// Every allocation of a compilation, a session and its runs fails once, except those of LLVM, whose kernels come from a
// cache.
#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "millrace/base/file.h"
#include "millrace/graph/lowered_graph.h"
#include "millrace/jit/kernel_cache.h"
#include "millrace/jit/kernel_compiler.h"
#include "millrace/millrace.h"
#include "tests/jit/cache/temporary_directory.h"
#include "tests/support/allocation_count.h"
#include "tests/support/sliced.h"

namespace millrace {
namespace {

constexpr std::string_view kBegin =
    "graph g(%x: f32[rows in 1..8, 8], %w: f32[8, 16], %i: i32[3]) {\n"
    "  %c = constant(2, 3) : f32[2]\n  %n = neg(%c)\n  %m = reduce_sum(%n) {axes = [0]}\n"
    "  %f = broadcast(%m) {shape = [8, 16]}\n  %v = mul(%w, %f)\n"
    "  %p = dot(%x, %v) {x_contract = [1], y_contract = [0]}\n"
    "  %g = gather(%p, %i) {axis = 0}\n  %h = exp(%g)\n"
    "  %o = pad(%h) {low = [1, 1], high = [0, 2], value = 1}\n"
    "  %b = slice(%o) {start = [1, 1], stop = [4, 17], step = [1, 1]}\n  %e = neg(%g)\n  %k = abs(%g)\n"
    "  %j = concat(%e, %k) {axis = 1}\n  %d = slice(%j) {start = [0, 8], stop = [3, 24], step = [1, 1]}\n"
    "  %u = scatter_add(%b, %i, %d) {axis = 0}\n  %t = tanh(%u)\n  %values, %indices = sort(%t) {axis = 1}\n"
    "  %s = variable(0) : f32[2]\n  %a = add(%s, %n)\n";
constexpr std::string_view kLoop =
    "  %more = constant(true) : bool[]\n  %l = while(%more, %a, %n) {\n    graph round(%n: f32[2]) {\n"
    "      %q = variable() : f32[2]\n      %d = add(%q, %n)\n      %z = reduce_sum(%d) {axes = [0]}\n"
    "      %o = greater(%z, %z)\n      update %q = %d\n      return again = %o\n    }\n  }\n  update %s = %l\n";
constexpr std::string_view kEnd = "  return values = %values, indices = %indices\n}\n";

const std::string& looping_text() {
  static const std::string text = std::string(kBegin) + std::string(kLoop) + std::string(kEnd);
  return text;
}
const std::string& straight_text() {
  static const std::string text = std::string(kBegin) + "  update %s = %a\n" + std::string(kEnd);
  return text;
}

struct Run {
  std::array<float, 2 * 8> x{};
  std::array<float, 8 * 16> w{};
  std::array<std::int32_t, 3> i{0, 1, -1};
  std::array<float, 3 * 16> values{};
  std::array<std::int64_t, 3 * 16> indices{};

  Run() {
    for (std::size_t k = 0; k < x.size(); ++k) x[k] = static_cast<float>(k % 5) / 8;
    for (std::size_t k = 0; k < w.size(); ++k) w[k] = static_cast<float>(k % 7) / 8;
  }
  Status operator()(Session& session) {
    return session.run(std::array{bind(x, {2, 8}), bind(w), bind(i)}, std::array{bind(values), bind(indices)});
  }
};

CompileOptions options_for(const TemporaryDirectory& cache) {
  CompileOptions options;
  options.device = "cpu:avx2,threads=1";  // only allocations of the calling thread fail
  options.context = make_default_context({.cache_directory = cache.path(), .read_only_cache_directories = {}});
  return options;
}

/// A call takes ten times as long under a sanitizer, which tries some of the allocations.
#ifdef MILLRACE_SANITIZED
constexpr std::uint64_t kMaxTrials = 150;
#else
constexpr std::uint64_t kMaxTrials = UINT64_MAX;
#endif

/// From one allocation to the next that fails, of `num`.
std::uint64_t stride_of(std::uint64_t num) { return num / kMaxTrials + 1; }

/// Messages that single allocations lead to are met when all of them are tried.
void check_said(const std::set<std::string>& messages, const std::string& where) {
  CAPTURE(where);
  if (kMaxTrials == UINT64_MAX) CHECK(messages.contains(where + ": out of memory; free memory, or ask for less"));
}

/// Makes each allocation of `body(prepare())` fail in turn, alone and with all later ones; those of `prepare` never
/// fail. The body must succeed anyway or return kResourceExhausted, and give back all its memory. Returns the messages.
template <class Prepare, class Body>
std::set<std::string> fail_each_allocation(Prepare prepare, Body body) {
  REQUIRE(body(prepare()).message() == "");
  auto counted = prepare();
  const std::uint64_t before = num_allocations();
  REQUIRE(body(std::move(counted)).ok());
  const std::uint64_t num = num_allocations() - before;
  CAPTURE(num);
  std::set<std::string> messages;
  std::uint64_t num_leaks = 0;
  std::string wrong;
  for (const Failing which : {Failing::kOne, Failing::kAllFromThere}) {
    for (std::uint64_t n = 0; n < num; n += stride_of(num)) {
      const std::int64_t live = num_live_allocations();
      std::int64_t kept = 0;
      {
        auto prepared = prepare();
        Status status;
        {
          const FailingAllocation failing(n, which);
          status = body(std::move(prepared));
        }
        if (!status.ok() && status.code() != StatusCode::kResourceExhausted) wrong = status.message();
        kept = num_live_allocations();
        if (!status.ok()) messages.emplace(status.message());
        kept = num_live_allocations() - kept;
      }
      if (num_live_allocations() != live + kept) ++num_leaks;
    }
  }
  CHECK(messages.empty() == (num == 0));
  CHECK(wrong == "");
  CHECK(num_leaks == 0);
  CHECK(body(prepare()).message() == "");
  return messages;
}

int nothing() { return 0; }

TEST_CASE("parsing and building survive a lack of memory anywhere") {
  fail_each_allocation(nothing, [](int) { return parse_graph(looping_text()).status(); });
  const auto operands = [] { return std::pair(Shape{4, 8}, Shape{4, 8}); };
  fail_each_allocation(operands, [](std::pair<Shape, Shape> shapes) {
    GraphBuilder graph("g");
    const Tensor x = graph.input("x", DType::kF32, std::move(shapes.first));
    const std::array<std::byte, 4> two{};
    const Tensor y = graph.constant_bytes({DType::kF32, {}}, two);
    const Tensor z = graph.op1(Op::add, {x, graph.fill(DType::kF32, std::move(shapes.second), 2)});
    const std::vector<Tensor> sorted = graph.op(Op::sort, std::span(&z, 1), SortAttrs{});
    if (!sorted.empty()) graph.output("z", sorted[0]);
    graph.output("y", y);
    const Tensor state = graph.variable("state", {DType::kF32, {}}, 1);
    const Tensor bytes = graph.variable_bytes("bytes", {DType::kF32, {}}, two);
    graph.update(state, bytes);
    return graph.finish().status();
  });
}

struct Twice {
  static auto emit(auto& b, auto x) { return b.add(x[0], x[0]); }
};

/// What functions are given, lists too: those that a caller makes are the caller's to make.
struct Given {
  std::unique_ptr<GraphBuilder> graph = std::make_unique<GraphBuilder>("g");
  Tensor x = graph->input("x", DType::kF32, {4, 4});
  Tensor row = graph->input("row", DType::kF32, {4});
  Tensor i = graph->input("i", DType::kI32, {4, 4});
  Tensor q = graph->input("q", DType::kI8, {4, 4});
  Tensor zero_point = graph->input("zero_point", DType::kI8, {4});
  Tensor places = graph->input("places", DType::kI32, {4, 2});
  Tensor mask = graph->input("mask", DType::kBool, {4, 4});
  Tensor image = graph->input("image", DType::kF32, {1, 4, 4});
  Tensor weights = graph->input("weights", DType::kF32, {4, 4, 2});
  Tensor angles = graph->input("angles", DType::kF32, {4, 2});
  Shape flat{-1}, square{4, 4}, cube{2, 4, 4};
  std::vector<SizeExpr> low{1, 0}, high{2, 4}, none{0, 0};
  std::vector<std::int64_t> axes{0, 1};
};

struct Function {
  const char* name;
  void (*call)(Given&);
};

constexpr Function kFunctions[] = {
    {"number", [](Given& g) { 2.0 * g.x; }},
    {"matmul", [](Given& g) { matmul(g.x, g.x); }},
    {"reshape", [](Given& g) { reshape(g.x, std::move(g.flat)); }},
    {"broadcast_to", [](Given& g) { broadcast_to(g.x, std::move(g.cube)); }},
    {"broadcast", [](Given& g) { broadcast(g.x, std::move(g.square), std::move(g.axes)); }},
    {"slice", [](Given& g) { slice(g.x, std::move(g.low), std::move(g.high)); }},
    {"concat", [](Given& g) { concat(std::array{g.x, g.x}, 0); }},
    {"iota", [](Given& g) { iota(*g.graph, DType::kI32, std::move(g.square), 0); }},
    {"size_of", [](Given& g) { size_of(*g.graph, 3); }},
    {"topk", [](Given& g) { topk(g.x, g.i, 2); }},
    {"softmax", [](Given& g) { softmax(g.x); }},
    {"log_softmax", [](Given& g) { log_softmax(g.x); }},
    {"relu", [](Given& g) { relu(g.x); }},
    {"gelu", [](Given& g) { gelu(g.x); }},
    {"silu", [](Given& g) { silu(g.x); }},
    {"clamp", [](Given& g) { clamp(g.x, -1, 1); }},
    {"where", [](Given& g) { where(g.mask, g.x, g.row); }},
    {"rms_norm", [](Given& g) { rms_norm(g.x, g.row); }},
    {"group_norm", [](Given& g) { group_norm(g.x, 2, g.row, g.row); }},
    {"layer_norm", [](Given& g) { layer_norm(g.x, g.row, g.row); }},
    {"one_hot", [](Given& g) { one_hot(g.i, 4); }},
    {"trilu", [](Given& g) { trilu(g.x, true); }},
    {"gather_nd", [](Given& g) { gather_nd(g.image, g.places); }},
    {"conv1d", [](Given& g) { conv1d(g.image, g.weights); }},
    {"conv1d with a bias", [](Given& g) { conv1d(g.image, g.weights, g.row); }},
    {"resize", [](Given& g) { resize(g.x, std::move(g.axes), std::move(g.high), ResizeMode::kLinear); }},
    {"einsum", [](Given& g) { einsum("ij,jk->ki", std::array{g.x, g.x}); }},
    {"quantize_linear", [](Given& g) { quantize_linear(g.x, g.row, g.zero_point); }},
    {"dequantize_linear", [](Given& g) { dequantize_linear(g.q, g.row, g.zero_point); }},
    {"attention", [](Given& g) { attention(g.x, g.x, g.x, g.mask); }},
    {"broadcasting", [](Given& g) { g.x + g.row; }},
    {"elu", [](Given& g) { elu(g.x); }},
    {"gelu_tanh", [](Given& g) { gelu_tanh(g.x); }},
    {"logsumexp", [](Given& g) { logsumexp(g.x, std::move(g.axes)); }},
    {"l2_normalize", [](Given& g) { l2_normalize(g.x); }},
    {"batch_norm", [](Given& g) { batch_norm(g.x, g.row, g.row, g.row, g.row); }},
    {"split", [](Given& g) { split_evenly(g.x, 2, 0); }},
    {"stack", [](Given& g) { stack({g.x, g.x}, 1); }},
    {"tile", [](Given& g) { tile(g.x, std::move(g.high)); }},
    {"flip", [](Given& g) { flip(g.x, std::move(g.axes)); }},
    {"roll", [](Given& g) { roll(g.x, 1, 0); }},
    {"pad_reflect", [](Given& g) { pad_reflect(g.x, std::move(g.low), std::move(g.none)); }},
    {"scatter_elements", [](Given& g) { scatter_elements(g.x, cast(g.i, DType::kI32), g.x, 0); }},
    {"max_pool1d", [](Given& g) { max_pool1d(g.image); }},
    {"global_avg_pool", [](Given& g) { global_avg_pool(g.image); }},
    {"rotary_embedding", [](Given& g) { rotary_embedding(g.x, g.angles, g.angles); }},
    {"kernel", [](Given& g) { g.graph->kernel<Twice>("twice", g.x); }},
    {"named",
     [](Given& g) {
       const auto scope = g.graph->scope("a scope whose name does not fit into a string itself");
       exp(g.x).named("a value's name, which does not fit either");
     }},
};

TEST_CASE("functions on tensors report a lack of memory to the builder") {
  for (const Function& function : kFunctions) {
    CAPTURE(function.name);
    fail_each_allocation([] { return Given(); },
                         [&](Given given) {
                           function.call(given);
                           return given.graph->status();
                         });
  }
}

TEST_CASE("functions on tensors keep an earlier mistake") {
  for (const Function& function : kFunctions) {
    CAPTURE(function.name);
    Given given;
    given.graph->fail(invalid_argument("a mistake"));
    function.call(given);
    CHECK(given.graph->status().message() == "a mistake");
  }
}

TEST_CASE("sizes survive a lack of memory anywhere") {
  const SizeExpr rows = Dim("rows_of_a_long_name").at_least(1);
  fail_each_allocation(nothing, [](int) {
    std::map<std::string, Dim> symbols;
    return parse_size_expr("(3 * rows_of_a_long_name + columns_of_a_long_name) // 4", symbols).status();
  });
  fail_each_allocation(nothing, [&](int) {
    std::map<std::string, Dim> symbols;
    return rows.collect_symbols(symbols);
  });
  fail_each_allocation(nothing, [&](int) {
    const Status status = rows.evaluate({}).status();
    return status.code() == StatusCode::kResourceExhausted ? status : Status();
  });
}

TEST_CASE("each step of a compilation survives a lack of memory anywhere" * test::Sliced()) {
  const Graph graph = parse_graph(straight_text()).value();
  fail_each_allocation(nothing, [&](int) { return verify(graph); });
  fail_each_allocation(nothing, [&](int) { return collect_symbols(graph).status(); });
  using Pass = Status (*)(Graph&);
  for (const Pass pass : {fold_constants, merge_equal_nodes, simplify_algebra, eliminate_dead_nodes}) {
    fail_each_allocation([&] { return graph; }, [&](Graph copy) { return pass(copy); });
  }
  const Target target = make_default_context()->target("cpu:avx2").value();
  fail_each_allocation([&] { return graph; },
                       [&](Graph copy) { return lower_graph(std::move(copy), target).status(); });
  fail_each_allocation([&] { return graph; }, [&](Graph copy) { return form_dispatches(std::move(copy)).status(); });
  const DispatchGraph dispatch = form_dispatches(graph).value();
  fail_each_allocation(nothing, [&](int) { return verify(dispatch); });
  std::vector<std::vector<KernelSequence>> sequences;
  for (std::uint32_t i = 0; i < dispatch.regions.size(); ++i) {
    const RegionId id{i};
    fail_each_allocation(nothing, [&](int) { return lower_region(dispatch, id, target, {}).status(); });
    sequences.push_back(lower_region(dispatch, id, target, {}).value());
  }
  fail_each_allocation(nothing, [&](int) { return verify(dispatch, sequences, target); });
  const std::set<Value> constants = find_read_constants(dispatch, sequences);
  fail_each_allocation(nothing, [&](int) { return schedule_execution(dispatch, sequences, constants).status(); });
  Schedule schedule = schedule_execution(dispatch, sequences, constants).value();
  fail_each_allocation([&] { return schedule; }, [](Schedule copy) { return place_barriers(copy); });
  REQUIRE(place_barriers(schedule).ok());
  fail_each_allocation([&] { return schedule; }, [](Schedule copy) { return pack_transients(copy); });
  REQUIRE(pack_transients(schedule).ok());
  const LoweredGraph looping = lower_graph(parse_graph(looping_text()).value(), target).value();
  for (const Schedule& packed : {schedule, looping.schedule}) {
    fail_each_allocation(nothing, [&](int) { return verify(packed); });
    fail_each_allocation(nothing, [&](int) { return record_commands(packed).status(); });
  }
}

TEST_CASE("compile survives a lack of memory anywhere, and the next call works" * test::Sliced()) {
  const TemporaryDirectory cache;
  const Graph graph = parse_graph(looping_text()).value();
  const auto prepare = [&] { return std::pair(graph, options_for(cache)); };
  const std::set<std::string> messages = fail_each_allocation(prepare, [](std::pair<Graph, CompileOptions> given) {
    return compile(std::move(given.first), given.second).status();
  });
  for (const char* where : {"pass fold_constants", "lower: %p = dot", "kernel 'dot_1'", "compile: kernel 'dot_1'",
                            "constants, the largest %n of 8 bytes: buffer of 192 bytes"}) {
    check_said(messages, where);
  }
}

TEST_CASE("a context that many calls share is intact after each call that found no memory" * test::Sliced()) {
  const TemporaryDirectory cache;
  const Graph graph = parse_graph(looping_text()).value();
  REQUIRE(compile(graph, options_for(cache)).ok());
  const CompileOptions options = options_for(cache);
  const std::uint64_t before = num_allocations();
  REQUIRE(compile(graph, options).ok());
  const std::uint64_t num = num_allocations() - before;
  int num_wrong = 0;
  for (std::uint64_t n = 0; n < num; n += 7 * stride_of(num / 7)) {
    CompileOptions fresh = options_for(cache);  // its kernels are on disk, none in memory
    Graph copy = graph;
    Status status;
    {
      const FailingAllocation failing(n);
      status = compile(std::move(copy), fresh).status();
    }
    if (!status.ok() && status.code() != StatusCode::kResourceExhausted) ++num_wrong;
    if (!compile(graph, fresh).ok()) ++num_wrong;
    // A file that could not be read for a lack of memory is a good one.
    if (fresh.context->cache->stats().misses != 0) ++num_wrong;
  }
  CHECK(num_wrong == 0);
}

TEST_CASE("sessions and runs survive a lack of memory anywhere, and the next run is right") {
  const TemporaryDirectory cache;
  const Program program = compile(parse_graph(looping_text()).value(), options_for(cache)).value();
  Run expected;
  Session good = Session::create(program).value();
  REQUIRE(expected(good).message() == "");
  const std::set<std::string> messages = fail_each_allocation(nothing, [&](int) {
    Result<Session> session = Session::create(program);
    if (!session.ok()) return session.status();
    Run run;
    return run(*session);
  });
  check_said(messages, "run: intermediate values, the largest %v of 512 bytes: buffer of 1088 bytes");
  // A session in which a run failed runs on.
  Run run;
  const std::uint64_t before = num_allocations();
  {
    Session counted = Session::create(program).value();
    REQUIRE(run(counted).ok());
  }
  const std::uint64_t num = num_allocations() - before;
  for (std::uint64_t n = 0; n < num; ++n) {
    Session session = Session::create(program).value();
    Status status;
    {
      const FailingAllocation failing(n);
      status = run(session);
    }
    CHECK((status.ok() || status.code() == StatusCode::kResourceExhausted));
    run.values.fill(0);
    REQUIRE(run(session).message() == "");
    CHECK(run.values == expected.values);
    CHECK(run.indices == expected.indices);
  }
  std::array<float, 2> state{};
  fail_each_allocation(nothing, [&](int) { return good.get("s", bind(state)); });
  fail_each_allocation(nothing, [&](int) { return good.set("s", bind(state)); });
  fail_each_allocation(nothing, [&](int) { return good.reset(); });
  // The message of a run's own error needs memory too.
  expected.i[0] = 8;
  fail_each_allocation(nothing, [&](int) {
    const Status status = expected(good);
    return status.code() == StatusCode::kOutOfRange ? Status() : status;
  });
}

TEST_CASE("a file that is larger than memory is refused with its size, or mapped, and none of it is read") {
  const TemporaryDirectory directory;
  constexpr std::uintmax_t kBytes = std::uintmax_t{4} << 40;
  const auto write = [&](const std::string& name, const std::string& front) {
    const std::string path = directory.path() + "/" + name;
    REQUIRE(write_file("test", path, front).ok());
    std::filesystem::resize_file(path, front.size() + kBytes);
    return path;
  };
  const auto little_endian = [](auto number) {
    return std::string(reinterpret_cast<const char*>(&number), sizeof number);
  };
  const std::string kEnd = "4398046511104 bytes: out of memory; free memory, or ask for less";
  const std::string dict = "{'descr': '|u1', 'fortran_order': False, 'shape': (4398046511104,), }";
  const std::string npy =
      write("w.npy", std::string("\x93NUMPY\1\0", 8) + little_endian(static_cast<std::uint16_t>(dict.size())) + dict);
  const std::string json = R"({"w":{"dtype":"U8","shape":[4398046511104],"data_offsets":[0,4398046511104]}})";
  const std::string tensors = write("w.safetensors", little_endian(std::uint64_t{json.size()}) + json);
  const std::string graph = write("w.mr", "");
  const auto check = [](const Status& status, const std::string& message) {
    CHECK(status.code() == StatusCode::kResourceExhausted);
    CHECK(status.message() == message);
  };
  check(read_npy(npy).status(), "npy '" + npy + "': " + kEnd);
  check(NpyReader::open(npy).value().read().status(), "npy '" + npy + "': " + kEnd);
  CHECK(Safetensors::read(tensors)->get("w")->bytes.size() == kBytes);
  check(read_graph(graph).status(), "graph '" + graph + "': " + kEnd);
  CHECK(NpyReader::open(npy).value().map()->bytes.size() == kBytes);
  const std::string text = "graph g() { %c = constant(file(\"w.npy\")) return c = %c }";
  CHECK(parse_graph(text, {.name = "g.mr", .directory = directory.path()}).status().message() == "");
}

TEST_CASE("reading a file of tensors survives a lack of memory anywhere") {
  const TemporaryDirectory directory;
  const std::string npy = directory.path() + "/w.npy", tensors = directory.path() + "/w.safetensors";
  const std::vector<std::byte> bytes(24);
  const TensorType type{DType::kF32, {2, 3}};
  const std::string name = "a name that is too long to be kept in place";
  REQUIRE(write_npy(npy, type, bytes).ok());
  REQUIRE(write_safetensors(tensors, {{name, {type, bytes}}, {"v", {type, bytes}}}).ok());
  const auto read = [&](int) { return Safetensors::read(tensors).status(); };
  check_said(fail_each_allocation(nothing, read), "safetensors '" + tensors + "'");
  check_said(fail_each_allocation(nothing, [&](int) { return read_npy(npy).status(); }), "npy '" + npy + "'");
  // What is wrong with a header is met while others of its parts are held.
  const std::string header = R"({"__metadata__":{"format":"pt"},"w":{"dtype":"F32","shape":[[[1,2]]],"data_offsets":)"
                             R"([0,{"x":[1,2,3,4,5,6,7,8]}]},"v":{"dtype":"F32","shape":[1,2,3,4,5,6]},)";
  std::string file(8, '\0');
  file[0] = static_cast<char>(header.size());
  file += header;
  fail_each_allocation(
      [&] {
        const auto all = std::as_bytes(std::span(file));
        return std::vector<std::byte>(all.begin(), all.end());
      },
      [](std::vector<std::byte> given) {
        const Status status = Safetensors::parse("f", std::move(given)).status();
        return status.code() == StatusCode::kDataLoss ? Status() : status;
      });
}

TEST_CASE("a lack of memory to write a file is reported with its path, control characters escaped") {
  const TemporaryDirectory directory;
  const std::string path = directory.path() + "/a\nb", where = directory.path() + "/a\\nb'";
  const std::vector<std::byte> bytes(4);
  const TensorType type{DType::kF32, {1}};
  const std::map<std::string, Safetensors::Entry> entries = {{"w", {type, bytes}}};
  const auto count_said = [&](const std::string& expected, auto write) {
    int num_said = 0;
    bool is_written = false;
    for (std::uint64_t before = 0; !is_written && before < 1000; ++before) {
      Status status;
      {
        const FailingAllocation failing(before);
        status = write();
      }
      is_written = status.ok();
      if (is_written) continue;
      CHECK(status.message() == expected);
      ++num_said;
    }
    CHECK(is_written);
    return num_said;
  };
  const std::string end = ": out of memory; free memory, or ask for less";
  CHECK(count_said("npy '" + where + end, [&] { return write_npy(path, type, bytes); }) > 0);
  CHECK(count_said("safetensors '" + where + end, [&] { return write_safetensors(path, entries); }) > 0);
}

}  // namespace
}  // namespace millrace
