// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <random>

#include <doctest/doctest.h>

#include "millrace/graph/compile_report.h"
#include "millrace/graph/dispatch.h"
#include "millrace/graph/passes.h"
#include "millrace/hal/device.h"
#include "tests/graph/misuse.h"
#include "tests/support/graphs/round_trip.h"

namespace millrace {
namespace {

using Random = std::mt19937;

template <class T>
const T& pick(Random& random, std::span<const T> choices) {
  return choices[random() % choices.size()];
}

constexpr std::int64_t kInts[] = {0, 1, 2, 3, 4, 8, -1, -2, -9, 64, std::int64_t{1} << 47, INT64_MAX, INT64_MIN};

std::int64_t any_int(Random& random) {
  return random() % 2 == 0 ? static_cast<std::int64_t>(random() % 3) : pick<std::int64_t>(random, kInts);
}
SizeExpr any_size(Random& random) {
  switch (random() % 8) {
    case 0:
      return Dim("n").at_most(8);
    case 1:
      return SizeExpr(Dim("rows")) * any_int(random);
    case 2:
      return floor_div(Dim("rows"), any_int(random));
    default:
      return any_int(random);
  }
}

/// Fills the fields of an attribute struct at random.
struct Filler {
  Random& random;
  void operator()(std::string_view, std::int64_t& value) const { value = any_int(random); }
  void operator()(std::string_view, bool& value) const { value = random() % 2 == 0; }
  void operator()(std::string_view, Number& value) const {
    value = random() % 2 == 0 ? Number(any_int(random)) : Number(static_cast<double>(any_int(random)) / 2);
  }
  void operator()(std::string_view, DType& value) const { value = static_cast<DType>(random() % 16); }
  void operator()(std::string_view, SizeExpr& value) const { value = any_size(random); }
  void operator()(std::string_view, std::vector<std::int64_t>& values) const {
    values.resize(random() % 5);
    for (std::int64_t& value : values) value = any_int(random);
  }
  void operator()(std::string_view, std::vector<SizeExpr>& values) const {
    values.resize(random() % 5);
    for (SizeExpr& value : values) value = any_size(random);
  }
};

Attributes attributes_of(Op op) {
  switch (op) {
#define MILLRACE_OP(name, operands, results, traits, attributes, meaning, example) \
  case Op::name:                                                                   \
    return attributes{};
#include "millrace/ops/op_table.inc"
  }
  return NoAttrs{};
}

/// The op's own attributes mostly, so that the op's own rules are reached.
Attributes any_attributes(Random& random, Op op) {
  Attributes attributes = attributes_of(random() % 16 == 0 ? pick<Op>(random, kAllOps) : op);
  if (random() % 4 != 0) std::visit([&](auto& fields) { fields.visit(Filler{random}); }, attributes);
  return attributes;
}

std::vector<Tensor> add_inputs(GraphBuilder& graph) {
  return {graph.input("scalar", DType::kF32, {}),
          graph.input("matrix", DType::kF32, {4, 8}),
          graph.input("square", DType::kI32, {4, 4}),
          graph.input("indices", DType::kI64, {3}),
          graph.input("flags", DType::kBool, {4, 8}),
          graph.input("image", DType::kF64, {1, 2, 4, 4}),
          graph.input("nothing", DType::kF32, {2, 0, 3}),
          graph.input("deep", DType::kF16, {1, 2, 1, 2, 1, 2, 1, 2}),
          graph.input("wide", DType::kF32, {std::int64_t{1} << 40}),
          graph.input("rows", DType::kF32, {Dim("rows"), 8}),
          graph.input("few", DType::kU8, {Dim("n").at_most(8)}),
          Tensor()};
}

/// The tensors after up to four random ops, or as many as went well.
std::vector<Tensor> add_random_ops(Random& random, GraphBuilder& graph) {
  std::vector<Tensor> tensors = add_inputs(graph);
  const std::size_t num_ops = 1 + random() % 4;
  for (std::size_t i = 0; i < num_ops && graph.status().ok(); ++i) {
    const Op op = pick<Op>(random, kAllOps);
    std::vector<Tensor> operands(info(op).num_operands < 0 ? random() % 4 : info(op).num_operands);
    if (random() % 32 == 0) operands.resize(random() % 4);
    for (Tensor& operand : operands) operand = pick<Tensor>(random, tensors);
    if (operands.size() == 2 && random() % 2 == 0) operands[1] = operands[0];
    const std::string where =
        "%" + std::to_string(graph.graph().nodes.size()) + " = " + std::string(to_text(op)) + ": ";
    const std::vector<Tensor> results = graph.op(op, operands, any_attributes(random, op));
    CHECK(results.size() == static_cast<std::size_t>(info(op).num_results));
    if (!graph.status().ok()) {
      CHECK(graph.status().message().starts_with(where));
      CHECK(graph.status().message().find(';') != std::string::npos);  // the remedy
      CHECK_FALSE(results[0].is_valid());
      return tensors;
    }
    tensors.insert(tensors.end(), results.begin(), results.end());
  }
  return tensors;
}

TEST_CASE("random ops on random operands build a sound graph or report a mistake") {
  constexpr unsigned kGraphs = 20'000;
  unsigned num_sound = 0;
  for (unsigned seed = 0; seed < kGraphs; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    GraphBuilder builder;
    const std::vector<Tensor> tensors = add_random_ops(random, builder);
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      if (tensors[i].is_valid()) builder.output("y" + std::to_string(i), tensors[i]);
    }
    const bool is_sound = builder.status().ok();
    Result<Graph> graph = builder.finish();
    CHECK(graph.ok() == is_sound);
    if (!graph.ok()) continue;
    ++num_sound;
    CHECK(round_trip_problem(*graph) == "");
    CHECK(run_passes(*graph, kGraphPasses).status().message() == "");
    const Result<DispatchGraph> dispatch = form_dispatches(*std::move(graph));
    CHECK(dispatch.status().message() == "");
    CHECK(verify(*dispatch).message() == "");
  }
  CHECK(num_sound > kGraphs / 100);  // else nothing but the first rule is reached
  CHECK(num_sound < kGraphs / 2);
}

}  // namespace
}  // namespace millrace
