// SPDX-License-Identifier: Apache-2.0
// An application's own kernels: the types that they may return, and their names.
#include <doctest/doctest.h>

#include "millrace/graph/compile_report.h"
#include "millrace/graph/text.h"
#include "tests/graph/misuse.h"
#include "tests/reference/evaluate.h"
#include "tests/support/difference.h"
#include "tests/support/graphs/run_graph.h"

namespace millrace {
namespace {

using reference::make_tensor;

struct ToF16 {
  static auto emit(auto& b, auto x) { return b.convert(DType::kF16, x[0]); }
};
struct ToBF16 {
  static auto emit(auto& b, auto x) { return b.convert(DType::kBF16, x[0]); }
};
struct Twice {
  static auto emit(auto& b, auto x) { return b.add(x[0], x[0]); }
};
struct Thrice {
  static auto emit(auto& b, auto x) { return b.add(x[0], b.add(x[0], x[0])); }
};

Graph finished(GraphBuilder& builder) { return builder.finish().value(); }

/// A graph of one kernel and of the ops that are fused after it.
template <class Body>
Graph narrowing_graph(DType from, std::int64_t count) {
  GraphBuilder builder;
  Tensor y = builder.kernel<Body>("narrow", builder.input("x", from, {count}));
  builder.output("y", y);
  builder.output("wide", cast(y, DType::kF64) + 1.0);
  return finished(builder);
}

/// Values next to, on and between the halfway points of f16 and bf16, where an intermediate rounding would show.
std::vector<double> halfway_values(DType from) {
  std::vector<double> values = {0, 1, 2049, 2051, 4098, 65504, 100000, 257, 259, 33024, 16777217};
  if (from == DType::kI64) {
    values.insert(values.end(), {0x1.01p60 + 1024, 0x1.01p60 - 1024, 0x1.03p60 + 1024});
  } else {
    for (const double middle : {1 + 0x1p-11, 1 + 3 * 0x1p-11, 1 + 0x1p-8, 1 + 3 * 0x1p-8, 0x1p-25, 3 * 0x1p-25}) {
      for (const double shift : {0.0, 0x1p-20, -0x1p-20, 0x1p-50, -0x1p-50}) values.push_back(middle * (1 + shift));
    }
    values.insert(values.end(), {INFINITY, -INFINITY, -0.0, 65520, 65519.99, 0x1p-149});
  }
  return values;
}

template <class Body>
void check_narrowing(DType from, DType to) {
  CAPTURE(to_text(from));
  CAPTURE(to_text(to));
  const std::vector<double> values = halfway_values(from);
  const auto x = make_tensor<double>(from, {static_cast<std::int64_t>(values.size())}, values);
  const auto y = reference::evaluate(Op::cast, CastAttrs{to}, {&x, 1})[0];
  const auto wide = reference::evaluate(Op::cast, CastAttrs{DType::kF64}, {&y, 1})[0];
  std::vector<double> sums = reference::read_all<double>(wide);
  for (double& sum : sums) sum += 1;
  const Graph graph = narrowing_graph<Body>(from, static_cast<std::int64_t>(values.size()));
  CHECK(graph.type(graph.outputs[0].value).dtype == to);
  for (const CompileOptions& options : test::every_way_to_compile()) {
    CAPTURE(test::to_text(options));
    const Program program = compile(graph, options).value();
    const auto found = test::run_guarded(program, {&x, 1}).value();
    CHECK(test::find_difference(found[0], y, {}) == "");
    CHECK(test::find_difference(found[1], make_tensor<double>(DType::kF64, x.extents(), sums), {}) == "");
  }
}

TEST_CASE("an application's kernel may return f16 and bf16, rounded once") {
  for (const DType from : {DType::kF32, DType::kF64, DType::kI64}) {
    check_narrowing<ToF16>(from, DType::kF16);
    check_narrowing<ToBF16>(from, DType::kBF16);
  }
}

TEST_CASE("a kernel that returns f16 folds as it runs") {
  GraphBuilder builder;
  const double values[] = {1 + 0x1p-11 + 0x1p-50, 65519.99, 0.1};
  builder.output("y", builder.kernel<ToF16>("narrow", builder.constant<double>({3}, values)));
  const Program program = compile(finished(builder), test::every_way_to_compile()[0]).value();
  CHECK(program.report().num_kernels == 0);
  const auto expected = make_tensor<double>(DType::kF16, {3}, {1 + 0x1p-10, 65504, 0.0999755859375});
  CHECK(test::find_difference(test::run_guarded(program, {}).value()[0], expected, {}) == "");
}

/// Its second operand is missing on the host alone, which folds constants.
struct HostReadsMore {
  template <class B>
  static auto emit(B& b, auto x) {
    return b.add(x[0], x[std::is_same_v<B, HostEval> ? 1 : 0]);
  }
};

TEST_CASE("a kernel that reads too many operands during constant folding fails to compile, by name") {
  GraphBuilder builder;
  const double values[] = {1, 2};
  builder.output("y", builder.kernel<HostReadsMore>("mine", builder.constant<double>({2}, values)));
  CHECK(compile(finished(builder), test::every_way_to_compile()[0]).status().message() ==
        "%1 = kernel mine: the body on the host reads x[1], expected an index below 1, the number of its operands; "
        "correct the index, or pass more operands");
}

TEST_CASE("a graph refuses two kernels of one name") {
  GraphBuilder builder;
  Tensor x = f32(builder, {4});
  builder.output("y", builder.kernel<Thrice>("mine", builder.kernel<Twice>("mine", builder.kernel<Twice>("mine", x))));
  CHECK(builder.finish().status().message() ==
        "%3 = kernel mine: the body differs from that of %1, expected one body for a name; rename one kernel");
}

TEST_CASE("a text's kernel must have a unique name") {
  const ParseOptions options{.name = "g.mr",
                             .kernels = {make_custom_kernel<Twice>("mine"), make_custom_kernel<Twice>("mine")}};
  const char* text = "graph g(%x: f32[4]) {\n  %y = kernel mine(%x)\n  return y = %y\n}";
  CHECK(parse_graph(text, options).ok());
  const ParseOptions two{.name = "g.mr",
                         .kernels = {make_custom_kernel<Twice>("mine"), make_custom_kernel<Thrice>("mine")}};
  CHECK(parse_graph(text, two).status().message() ==
        "g.mr:2:15: found kernel \"mine\", expected one of that name in ParseOptions::kernels, which has two; rename "
        "one\n"
        "  %y = kernel mine(%x)\n"
        "              ^");
}

template <class Body>
std::vector<double> run_mine() {
  GraphBuilder builder;
  builder.output("y", builder.kernel<Body>("mine", f32(builder, {2})));
  const auto x = make_tensor<double>(DType::kF32, {2}, {1, 5});
  const Program program = compile(finished(builder), test::every_way_to_compile()[0]).value();
  return reference::read_all<double>(test::run_guarded(program, {&x, 1}).value()[0]);
}

TEST_CASE("kernels of one name in two programs of one context are compiled each from its body") {
  CHECK(run_mine<Twice>() == std::vector<double>{2, 10});
  CHECK(run_mine<Thrice>() == std::vector<double>{3, 15});
}

}  // namespace
}  // namespace millrace
