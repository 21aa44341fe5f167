// SPDX-License-Identifier: Apache-2.0
#include "tests/cliff_cases.h"

#include <fmt/format.h>

namespace millrace::test {
namespace {

/// `count` ops in turn, each on the one before.
struct Chain {
  std::string nodes;
  std::string last;
};
Chain chain(std::string first, int count, const std::vector<std::string>& ops) {
  Chain result{"", std::move(first)};
  for (int i = 0; i < count; ++i) {
    const std::string& op = ops[static_cast<std::size_t>(i) % ops.size()];
    const bool is_binary = op == "pow" || op == "div" || op == "add";
    result.nodes += fmt::format("%c{} = {}({}{}) ", i, op, result.last, is_binary ? ", %z" : "");
    result.last = fmt::format("%c{}", i);
  }
  return result;
}
const std::vector<std::string> kTranscendental = {"exp", "tanh", "sin", "erf", "log", "sigmoid", "cos", "expm1"};

std::string graph(std::string_view inputs, std::string_view nodes, std::string_view result) {
  return fmt::format("graph g({}) {{ {} return y = {} }}", inputs, nodes, result);
}

CliffCase one_op(std::string name, std::string_view input, std::string_view node) {
  return {std::move(name), graph(fmt::format("%x: {}", input), fmt::format("%y = {}", node), "%y")};
}

CliffCase dot(std::string_view dtype, int count, std::size_t max_kernels) {
  const Chain after = chain("%d", count, kTranscendental);
  const std::string nodes = "%d = dot(%x, %y) {x_contract = [1], y_contract = [0]} " + after.nodes;
  return {fmt::format("dot_{}_then_{}", dtype, count),
          graph(fmt::format("%x: {0}[200, 300], %y: {0}[300, 250]", dtype), nodes, after.last), max_kernels};
}

CliffCase conv(std::string_view dtype, int stride, int count, std::size_t max_kernels) {
  const Chain after = chain("%d", count, kTranscendental);
  const std::string nodes =
      fmt::format("%d = conv2d(%x, %w) {{strides = [{0}, {0}], padding = [1, 1, 1, 1]}} {1}", stride, after.nodes);
  return {fmt::format("conv_{}_stride_{}_then_{}", dtype, stride, count),
          graph(fmt::format("%x: {0}[1, 16, 56, 56], %w: {0}[32, 16, 3, 3]", dtype), nodes, after.last), max_kernels};
}

CliffCase map(std::string_view dtype, std::string_view op, int count, std::size_t max_kernels) {
  const Chain all = chain("%x", count, op == "all" ? kTranscendental : std::vector<std::string>{std::string(op)});
  return {fmt::format("{}_{}_{}_times", op, dtype, count),
          graph(fmt::format("%x: {0}[1000, 1001], %z: {0}[1000, 1001]", dtype), all.nodes, all.last), max_kernels};
}

CliffCase sum(std::string_view dtype, int axis, int count, std::size_t max_kernels) {
  const Chain before = chain("%x", count, kTranscendental);
  const std::string nodes = before.nodes + fmt::format("%y = reduce_sum({}) {{axes = [{}]}}", before.last, axis);
  return {fmt::format("sum_{}_axis_{}_of_{}", dtype, axis, count),
          graph(fmt::format("%x: {}[1000, 1001]", dtype), nodes, "%y"), max_kernels};
}

/// A sum of `count` operands, each read through a view that puts neighbours apart.
CliffCase views(std::string_view dtype, std::string_view view, int count, std::size_t max_kernels) {
  std::string inputs = fmt::format("%x: {}[500, 502]", dtype), nodes, last = "%x";
  for (int i = 0; i < count; ++i) {
    inputs += fmt::format(", %i{}: {}[{}]", i, dtype, view == "transpose" ? "502, 500" : "500, 1004");
    nodes += fmt::format(
        "%v{0} = {1}(%i{0}) {2} %c{0} = add({3}, %v{0}) ", i, view,
        view == "transpose" ? "{permutation = [1, 0]}" : "{start = [0, 0], stop = [500, 1004], step = [1, 2]}", last);
    last = fmt::format("%c{}", i);
  }
  return {fmt::format("{}_views_{}_{}", count, view, dtype), graph(inputs, nodes, last), max_kernels};
}

/// The same of views whose extents a run binds: the elements of one order, read in another.
CliffCase symbolic_views(std::string_view dtype, int count, std::size_t max_kernels) {
  std::string inputs = fmt::format("%x: {}[a, b, c]", dtype), nodes, last = "%x";
  for (int i = 0; i < count; ++i) {
    inputs += fmt::format(", %i{}: {}[a, b, c]", i, dtype);
    nodes += fmt::format(
        "%r{0} = reshape(%i{0}) {{shape = [b, c, a]}} %v{0} = transpose(%r{0}) {{permutation = [2, 0, 1]}} "
        "%c{0} = add({1}, %v{0}) ",
        i, last);
    last = fmt::format("%c{}", i);
  }
  return {fmt::format("{}_symbolic_views_{}", count, dtype), graph(inputs, nodes, last), max_kernels};
}

void add_moves(std::vector<CliffCase>& cases) {
  for (const char* dtype : {"u8", "bool", "i16", "f16", "bf16", "f32"}) {
    const auto name = [&](const char* what) { return fmt::format("{}_{}", what, dtype); };
    cases.push_back(
        one_op(name("transpose"), fmt::format("{}[1024, 4096]", dtype), "transpose(%x) {permutation = [1, 0]}"));
    cases.push_back(one_op(name("transpose_odd"), fmt::format("{}[33, 200, 170]", dtype),
                           "transpose(%x) {permutation = [0, 2, 1]}"));
    cases.push_back(
        one_op(name("transpose_dynamic"), fmt::format("{}[m, n]", dtype), "transpose(%x) {permutation = [1, 0]}"));
    cases.push_back(one_op(name("slice_step"), fmt::format("{}[100, 4001]", dtype),
                           "slice(%x) {start = [0, 1], stop = [100, 4001], step = [1, 3]}"));
    if (std::string_view(dtype) == "bool") continue;
    cases.push_back(one_op(name("pool_padded"), fmt::format("{}[2, 16, 57, 57]", dtype),
                           "max_pool2d(%x) {window = [3, 3], strides = [2, 2], padding = [1, 1, 1, 1]}"));
  }
  for (const char* view : {"transpose", "slice"}) {
    cases.push_back(views("u8", view, 60, 3));
    cases.push_back(views("f16", view, 60, 4));
    cases.push_back(views("f32", view, 60, 3));
  }
  for (const char* dtype : {"u8", "f16", "f32"}) {
    cases.push_back(symbolic_views(dtype, 40, 3));
    cases.push_back(one_op(fmt::format("transpose_8_dims_{}", dtype), fmt::format("{}[a, b, c, d, e, f, g, h]", dtype),
                           "transpose(%x) {permutation = [7, 6, 5, 4, 3, 2, 1, 0]}"));
  }
}

}  // namespace

std::vector<CliffCase> cliff_cases() {
  std::vector<CliffCase> cases;
  add_moves(cases);
  for (const char* dtype : {"f16", "bf16", "f32", "f64"}) {
    cases.push_back(dot(dtype, 0, 1));
    cases.push_back(dot(dtype, 1, 1));
    const bool is_long = std::string_view(dtype) == "f64" || std::string_view(dtype) == "f16";
    cases.push_back(dot(dtype, 12, is_long ? 3 : 2));  // sines of f64 are long, and so is each rounding to f16
    cases.push_back(dot(dtype, 120, 10));
  }
  for (const char* dtype : {"i8", "f16", "f32"}) cases.push_back(conv(dtype, 2, 0, 2));
  cases.push_back(conv("f16", 1, 12, 4));
  cases.push_back(conv("f32", 1, 40, 5));
  for (const char* dtype : {"f16", "f32", "f64"}) cases.push_back(map(dtype, "all", 500, 40));
  cases.push_back(map("f64", "pow", 64, 20));
  cases.push_back(map("u8", "div", 120, 12));
  cases.push_back(map("i32", "div", 120, 12));
  cases.push_back(map("f16", "add", 120, 6));
  for (const int axis : {0, 1}) cases.push_back(sum("f16", axis, 100, 10));
  return cases;
}

}  // namespace millrace::test
