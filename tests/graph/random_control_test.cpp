// SPDX-License-Identifier: Apache-2.0
// Random programs of nested loops and conditions, against plain loops: registers of whole numbers, which wrap, so that
// every result is exact, whichever copies and places in memory the schedule chooses.
#include <algorithm>
#include <array>
#include <numeric>
#include <random>

#include <doctest/doctest.h>

#include "millrace/millrace.h"
#include "tests/graph/run/far_programs.h"
#include "tests/support/graphs/run_graph.h"

namespace millrace {
namespace {

using Tensors = std::vector<Tensor>;
using Row = std::vector<std::int64_t>;
constexpr std::size_t kRegisters = 4;
using Registers = std::array<Row, kRegisters>;

std::int64_t wrap_add(std::int64_t x, std::int64_t y) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(x) + static_cast<std::uint64_t>(y));
}

/// What an instruction computes from two registers, in a graph and in plain loops.
struct Instruction {
  const char* name;
  Tensor (*build)(Tensor, Tensor);
  Row (*compute)(const Row&, const Row&);
};

Row pairwise(const Row& x, const Row& y, std::int64_t (*f)(std::int64_t, std::int64_t)) {
  Row result;
  for (std::size_t i = 0; i < x.size(); ++i) result.push_back(f(x[i], y[i]));
  return result;
}

const Instruction kInstructions[] = {
    {"move", [](Tensor x, Tensor) { return x; }, [](const Row& x, const Row&) { return x; }},
    {"add", [](Tensor x, Tensor y) { return x + y; },
     [](const Row& x, const Row& y) { return pairwise(x, y, wrap_add); }},
    {"max", [](Tensor x, Tensor y) { return max(x, y) - 1; },
     [](const Row& x, const Row& y) {
       return pairwise(x, y, [](std::int64_t a, std::int64_t b) { return wrap_add(std::max(a, b), -1); });
     }},
    {"scan", [](Tensor x, Tensor) { return cumulative_sum(x); },
     [](const Row& x, const Row&) {
       Row result = x;
       for (std::size_t i = 1; i < x.size(); ++i) result[i] = wrap_add(result[i - 1], x[i]);
       return result;
     }},
    {"sort", [](Tensor x, Tensor) { return sort(x).values; },
     [](const Row& x, const Row&) {
       Row result = x;
       std::ranges::sort(result);
       return result;
     }},
    {"total", [](Tensor x, Tensor y) { return reduce_sum(x, {0}, true) + y; },
     [](const Row& x, const Row& y) {
       std::int64_t total = 0;
       for (const std::int64_t each : x) total = wrap_add(total, each);
       Row result;
       for (const std::int64_t each : y) result.push_back(wrap_add(total, each));
       return result;
     }},
    {"flip", [](Tensor x, Tensor) { return flip(x, {0}); },
     [](const Row& x, const Row&) { return Row(x.rbegin(), x.rend()); }},
    {"glue", [](Tensor x, Tensor y) { return concat({slice(x, {0}, {1}), slice(y, {1}, {y.shape()[0]})}, 0); },
     [](const Row& x, const Row& y) {
       Row result = y;
       result[0] = x[0];
       return result;
     }},
    {"constant",  // computed at load
     [](Tensor x, Tensor) {
       const std::array<std::int64_t, 4> values = {5, -3, 8, 1};
       return x + slice(sort(x.builder()->constant({4}, values)).values, {2}, {3});
     },
     [](const Row& x, const Row&) {
       Row result;
       for (const std::int64_t each : x) result.push_back(wrap_add(each, 5));
       return result;
     }},
    {"put", [](Tensor x, Tensor y) { return scatter(x, slice(y, {0}, {1}) * 0 + 1, slice(y, {1}, {2}), 0); },
     [](const Row& x, const Row& y) {
       Row result = x;
       result[1] = y[1];
       return result;
     }},
};

struct Statement;
using Block = std::vector<Statement>;

/// One assignment; or a loop of some rounds; or a condition on the first element of a register.
struct Statement {
  enum class Kind { kAssign, kLoop, kCond } kind = Kind::kAssign;
  std::size_t instruction = 0, target = 0, x = 0, y = 0;
  std::int64_t rounds = 0;
  Block first = {}, second = {};
};

class ProgramMaker {
 public:
  explicit ProgramMaker(std::uint32_t seed) : random_(seed) {}

  Block block(int depth) {
    Block made;
    for (std::size_t i = below(4) + 1; i > 0; --i) made.push_back(statement(depth));
    return made;
  }

 private:
  std::size_t below(std::size_t end) { return random_() % end; }
  Statement statement(int depth) {
    Statement made{.instruction = below(std::size(kInstructions)),
                   .target = below(kRegisters),
                   .x = below(kRegisters),
                   .y = below(kRegisters)};
    const std::size_t kind = below(4);
    if (depth == 0 || kind > 1) return made;
    made.kind = kind == 0 ? Statement::Kind::kLoop : Statement::Kind::kCond;
    made.rounds = static_cast<std::int64_t>(below(4));
    made.first = block(depth - 1);
    if (kind == 1) made.second = block(depth - 1);
    return made;
  }
  std::mt19937 random_;
};

void execute(const Block& block, Registers& registers) {
  for (const Statement& each : block) {
    if (each.kind == Statement::Kind::kAssign) {
      registers[each.target] = kInstructions[each.instruction].compute(registers[each.x], registers[each.y]);
    } else if (each.kind == Statement::Kind::kLoop) {
      for (std::int64_t i = 0; i < each.rounds; ++i) execute(each.first, registers);
    } else {
      execute(registers[each.x][0] % 2 == 0 ? each.first : each.second, registers);
    }
  }
}

/// The registers that the block assigns. A loop has these as its state, and reads the others from outside.
std::array<bool, kRegisters> assigned_by(const Block& block) {
  std::array<bool, kRegisters> assigned{};
  for (const Statement& each : block) {
    if (each.kind == Statement::Kind::kAssign) assigned[each.target] = true;
    for (const Block* inner : {&each.first, &each.second}) {
      const std::array<bool, kRegisters> found = assigned_by(*inner);
      for (std::size_t i = 0; i < kRegisters; ++i) assigned[i] |= found[i];
    }
  }
  return assigned;
}

Tensors build(GraphBuilder& graph, const Block& block, Tensors registers) {
  for (const Statement& each : block) {
    if (each.kind == Statement::Kind::kAssign) {
      registers[each.target] = kInstructions[each.instruction].build(registers[each.x], registers[each.y]);
    } else if (each.kind == Statement::Kind::kLoop) {
      const std::array<bool, kRegisters> is_state = assigned_by(each.first);
      const auto pick = [&](const Tensors& all, Tensor count) {
        Tensors state = {count};
        for (std::size_t i = 0; i < kRegisters; ++i) {
          if (is_state[i]) state.push_back(all[i]);
        }
        return state;
      };
      const auto put = [&](std::span<const Tensor> state) {
        Tensors all = registers;
        std::size_t next = 1;
        for (std::size_t i = 0; i < kRegisters; ++i) {
          if (is_state[i]) all[i] = state[next++];
        }
        return all;
      };
      registers = put(graph.while_loop(
          pick(registers, graph.fill(DType::kI64, {}, 0)),
          [&](std::span<const Tensor> s) { return less(s[0], each.rounds); },
          [&](std::span<const Tensor> s) { return pick(build(graph, each.first, put(s)), s[0] + 1); }));
    } else {
      const Tensor first = reshape(slice(registers[each.x], {0}, {1}), {});
      registers = graph.if_else(
          equal(rem(first, 2), 0), [&] { return build(graph, each.first, registers); },
          [&] { return build(graph, each.second, registers); });
    }
  }
  return registers;
}

Graph graph_of(const Block& block, const SizeExpr& n) {
  GraphBuilder graph("random_control");
  Tensors registers;
  for (std::size_t i = 0; i < kRegisters; ++i) {
    registers.push_back(graph.input("in" + std::to_string(i), DType::kI64, {n}));
  }
  // If a session can keep them, half of the registers begin with values of other registers from the run before.
  Tensors kept;
  for (std::size_t i = 0; n.is_constant() && i < kRegisters; i += 2) {
    kept.push_back(graph.variable("v" + std::to_string(i), {DType::kI64, {n}}, 0));
    registers[i] = registers[i] + kept.back();
  }
  registers = build(graph, block, registers);
  for (std::size_t i = 0; i < kRegisters; ++i) graph.output("out" + std::to_string(i), registers[i]);
  for (std::size_t i = 0; i < kept.size(); ++i) graph.update(kept[i], registers[2 * i + 1]);
  return graph.finish().value();
}

void check(const Block& block, Session& session, std::size_t n) {
  Registers given, found, before;
  for (std::size_t i = 0; i < kRegisters; ++i) {
    for (std::size_t k = 0; k < n; ++k) given[i].push_back(static_cast<std::int64_t>((i * 31 + k * 17) % 23) - 9);
    found[i].resize(n);
    before[i].resize(n);
  }
  const Extents extents{static_cast<std::int64_t>(n)};
  std::vector<TensorBinding> inputs, outputs;
  for (const Row& row : given) inputs.push_back(bind(row, extents));
  for (Row& row : found) outputs.push_back(bind(row, extents));
  for (int run = 0; run < 2; ++run) {
    REQUIRE(session.run(inputs, outputs).message() == "");
    Registers expected = given;
    if (!session.variables().empty()) {
      for (std::size_t i = 0; i < kRegisters; i += 2) expected[i] = pairwise(given[i], before[i + 1], wrap_add);
    }
    execute(block, expected);
    for (std::size_t i = 0; i < kRegisters; ++i) {
      CAPTURE(i);
      CHECK(found[i] == expected[i]);
    }
    before = expected;
  }
}

TEST_CASE("random programs of loops and conditions equal plain loops, on near and far devices") {
  for (std::uint32_t seed = 1; seed <= 12; ++seed) {
    CAPTURE(seed);
    const Block block = ProgramMaker(seed).block(3);
    const Graph fixed = graph_of(block, 6), bound = graph_of(block, Dim("n").at_least(2).at_most(40));
    CompileOptions options;
    options.context = test::test_context();
    options.order = seed % 3 == 0   ? ScheduleOrder::kStrict
                    : seed % 3 == 1 ? ScheduleOrder::kMinPeak
                                    : ScheduleOrder::kMaxConcurrency;
    const auto run = [&](const CompileOptions& with) {
      for (const Graph& graph : {fixed, bound}) {
        const Result<Program> program = compile(graph, with);
        REQUIRE(program.status().message() == "");
        Session session = Session::create(*program).value();
        check(block, session, 6);
        if (!program->inputs()[0].type.shape.is_static()) check(block, session, 33);
      }
    };
    options.lowering.compile.allow_reference = true;
    options.lowering.compile.force_generator = "interpreter";
    run(options);
    options.lowering = {};
    if (seed % 4 == 0) run(options);
    if (seed % 4 == 1)
      test::on_near_and_far([&](CompileOptions with) {
        with.order = options.order;
        run(with);
      });
  }
}

}  // namespace
}  // namespace millrace
