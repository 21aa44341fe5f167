// SPDX-License-Identifier: Apache-2.0
// Random graphs with variables, run many times, against a plain model of the state.
#include "tests/support/random/random_state.h"

#include <array>
#include <random>

#include <doctest/doctest.h>

#include "millrace/graph/lowered_graph.h"
#include "millrace/millrace.h"
#include "tests/support/graphs/reference_graph.h"
#include "tests/support/graphs/round_trip.h"
#include "tests/support/graphs/run_graph.h"

namespace millrace {
namespace {

using test::RandomChoice;
using Tensors = std::vector<reference::Tensor>;

constexpr std::int64_t kRows = test::kStateRows, kColumns = test::kStateColumns;
constexpr std::size_t kVariables = test::kStateVariables;
const TensorType kType = test::state_type();

reference::Tensor any_tensor(RandomChoice& random) { return random_tensor(kType, -9, 9, random.seed()); }

/// Runs, and now and then sets or resets a variable, while a model does the same.
void check_session(Session& session, const Graph& graph, RandomChoice& random) {
  std::map<std::string, reference::Tensor> state, initial;
  for (std::size_t i = 0; i < kVariables; ++i) {
    initial["v" + std::to_string(i)] = reference::make_tensor(
        kType.dtype, {kRows, kColumns}, std::vector<std::int64_t>(kRows * kColumns, static_cast<std::int64_t>(i) + 1));
  }
  state = initial;
  for (int iteration = 0; iteration < 6; ++iteration) {
    if (random.chance(20)) {
      const std::string name = "v" + std::to_string(random.below(kVariables));
      state[name] = any_tensor(random);
      REQUIRE(session.set(name, bind(state[name].bytes)).message() == "");
    } else if (random.chance(10)) {
      state = initial;
      REQUIRE(session.reset().message() == "");
    }
    const std::array<std::int64_t, 2> at = {static_cast<std::int64_t>(random.below(2 * kRows)) - kRows,
                                            static_cast<std::int64_t>(random.below(2 * kRows)) - kRows};
    const Tensors inputs = {reference::make_tensor(DType::kI64, {2}, std::vector<std::int64_t>(at.begin(), at.end())),
                            any_tensor(random)};
    Tensors found(graph.outputs.size(), reference::Tensor(kType));
    std::vector<TensorBinding> outputs;
    for (reference::Tensor& each : found) outputs.push_back(bind(each.bytes));
    REQUIRE(session.run({bind(inputs[0].bytes), bind(inputs[1].bytes)}, outputs).message() == "");
    const Tensors expected = evaluate_graph(graph, inputs, state);
    for (std::size_t i = 0; i < found.size(); ++i) REQUIRE(found[i].bytes == expected[i].bytes);
    for (const auto& [name, value] : state) {
      reference::Tensor now(kType);
      REQUIRE(session.get(name, bind(now.bytes)).message() == "");
      CAPTURE(name);
      REQUIRE(now.bytes == value.bytes);
    }
  }
}

TEST_CASE("random graphs with variables keep the state that a plain model keeps, in every order of the schedule") {
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    RandomChoice random(seed);
    const Graph graph = test::make_state_graph(random);
    CAPTURE(seed);
    CAPTURE(to_text(graph));
    CHECK(round_trip_problem(graph, {}) == "");
    for (const ScheduleOrder order :
         {ScheduleOrder::kStrict, ScheduleOrder::kMinPeak, ScheduleOrder::kMaxConcurrency}) {
      CompileOptions options;
      options.context = test::test_context();
      options.device = order == ScheduleOrder::kStrict ? "sim:gfx1100" : "cpu";
      options.order = order;
      const Result<Program> program = compile(graph, options);
      REQUIRE(program.status().message() == "");
      Session session = Session::create(*program).value();
      check_session(session, graph, random);
    }
  }
}

}  // namespace
}  // namespace millrace
