// SPDX-License-Identifier: Apache-2.0
// Selects whose conditions are rarely true: kernels branch around the code that only they need. Tests bodies with them,
// and sine, cosine and tangent, which reduce large angles in such branches.
#include <algorithm>
#include <array>
#include <cmath>
#include <random>

#include <doctest/doctest.h>

#include "millrace/graph/lowered_graph.h"
#include "millrace/hal/target_spec.h"
#include "millrace/millrace.h"

namespace millrace {
namespace {

/// Selects that share a condition, one that depends on them, and one with a condition of its own.
template <bool kIsRare>
struct Selects {
  static auto emit(auto& b, auto x) {
    const auto pick = [&](auto condition, auto a, auto c) {
      return kIsRare ? b.select_rarely(condition, a, c) : b.select(condition, a, c);
    };
    const auto is_above = b.lt(x[1], x[0]);
    const auto product = b.mul(x[0], x[2]), root = b.sqrt(x[2]);
    const auto first = pick(is_above, product, x[2]);
    const auto second = pick(is_above, root, b.constant_like(x[0], 3));
    const auto third = pick(is_above, b.add(first, root), second);
    return pick(b.lt(third, product), b.sub(third, second), b.add(first, x[1]));
  }
};

/// The shapes of the three operands, which are broadcast to f32[5x67]: the condition varies along lanes or not.
struct Operands {
  Shape x, y, z;
};

template <bool kIsRare>
std::vector<float> run_selects(const Operands& shapes, const std::vector<float>& values, const std::string& device) {
  GraphBuilder graph;
  const Shape all{5, 67};
  std::array<Tensor, 3> inputs;
  std::size_t i = 0;
  for (const Shape* shape : {&shapes.x, &shapes.y, &shapes.z}) {
    inputs[i] = broadcast_to(graph.input("x" + std::to_string(i), DType::kF32, *shape), all);
    ++i;
  }
  graph.output("y", graph.kernel<Selects<kIsRare>>("selects", inputs[0], inputs[1], inputs[2]));
  Session session = Session::create(compile(graph.finish().value(), {.device = device}).value()).value();
  std::vector<float> found(5 * 67);
  std::vector<TensorBinding> in;
  for (const Shape* shape : {&shapes.x, &shapes.y, &shapes.z}) {
    in.push_back(
        bind(std::span(values).subspan(in.size() * 400, static_cast<std::size_t>(shape->num_elements().constant()))));
  }
  REQUIRE(session.run(in, {bind(found)}).message() == "");
  return found;
}

TEST_CASE("selects with rare conditions equal other selects, whatever varies along the lanes") {
  std::mt19937 random(3);
  const Shape all{5, 67}, row{1, 67}, column{5, 1}, one{1, 1};
  for (const float share : {0.0f, 0.02f, 0.5f, 1.0f}) {
    std::vector<float> values(1200);
    for (float& value : values) value = static_cast<float>(random() % 1000) / 100;
    // The first operand is above the second, which is below 10, as often as `share` says.
    for (std::size_t i = 0; i < 400; ++i) values[i] += static_cast<float>(random() % 1000) < 1000 * share ? 20 : -20;
    for (const IsaLevel isa : host_isa_levels()) {
      const std::string device = "cpu:" + std::string(to_text(isa));
      for (const Operands& shapes : {Operands{all, all, all}, Operands{row, one, all}, Operands{column, one, all},
                                     Operands{one, one, row}, Operands{all, column, one}, Operands{one, one, one}}) {
        CAPTURE(share);
        CAPTURE(device);
        CHECK(run_selects<true>(shapes, values, device) == run_selects<false>(shapes, values, device));
      }
    }
  }
}

TEST_CASE("a kernel branches around the code that only a rare condition needs") {
  const auto context = make_default_context();
  const auto num_branches = [&](Tensor (*op)(Tensor)) {
    GraphBuilder graph;
    graph.output("y", op(graph.input("x", DType::kF32, {4096})));
    const LoweredGraph lowered = lower_graph(graph.finish().value(), context->target("cpu:avx2").value()).value();
    std::int64_t count = 0;
    for (const Block& block : std::get<MachineKernel>(lowered.schedule.kernels[KernelIndex{0}].mapped).blocks) {
      count += std::ranges::count(block.instructions, KernelOp::kIf, &MachineInstruction::op);
    }
    return count;
  };
  CHECK(num_branches([](Tensor x) { return exp(x); }) == 0);
  CHECK(num_branches([](Tensor x) { return sin(x); }) > 0);
}

/// Angles of every size, in vectors that have none above the bound, one, or many.
template <class T>
std::vector<T> angles() {
  std::mt19937_64 random(9);
  std::uniform_real_distribution<double> small(-1000, 1000), exponent(-20, std::is_same_v<T, float> ? 127 : 1023);
  std::vector<T> x;
  for (int i = 0; i < 4096; ++i) {
    const bool is_any = i >= 2048 ? random() % 4 == 0 : i % 64 == 17;
    x.push_back(static_cast<T>(is_any ? std::exp2(exponent(random)) : small(random)));
  }
  return x;
}

template <class T>
double ulps(T found, long double expected) {
  const int digits = std::numeric_limits<T>::digits;
  const int power = std::max(std::ilogb(expected) - digits + 1, std::numeric_limits<T>::min_exponent - digits);
  return static_cast<double>(std::fabs(static_cast<long double>(found) - expected) / std::ldexp(1.0L, power));
}

struct AngleOp {
  Tensor (*op)(Tensor);
  long double (*reference)(long double);
  double max_ulp_f64;
};
constexpr AngleOp kAngleOps[] = {{[](Tensor x) { return sin(x); }, [](long double x) { return std::sin(x); }, 1},
                                 {[](Tensor x) { return cos(x); }, [](long double x) { return std::cos(x); }, 1},
                                 {[](Tensor x) { return tan(x); }, [](long double x) { return std::tan(x); }, 3}};

template <class T>
std::vector<T> run_angles(const AngleOp& angle, const std::vector<T>& x, const std::string& device) {
  GraphBuilder graph;
  graph.output("y", angle.op(graph.input("x", dtype_of<T>, {static_cast<std::int64_t>(x.size())})));
  Session session = Session::create(compile(graph.finish().value(), {.device = device}).value()).value();
  std::vector<T> found(x.size());
  REQUIRE(session.run({bind(x)}, {bind(found)}).message() == "");
  return found;
}

template <class T>
void check_angles() {
  const std::vector<T> x = angles<T>();
  for (const AngleOp& angle : kAngleOps) {
    std::vector<T> with_fma;
    for (const IsaLevel isa : host_isa_levels()) {
      const std::string device = "cpu:" + std::string(to_text(isa));
      const std::vector<T> found = run_angles(angle, x, device);
      double worst = 0;
      for (std::size_t i = 0; i < x.size(); ++i) worst = std::max(worst, ulps(found[i], angle.reference(x[i])));
      CAPTURE(device);
      CHECK(worst <= (std::is_same_v<T, float> ? 1 : angle.max_ulp_f64));
      if (isa == IsaLevel::kBaseline) continue;
      if (!with_fma.empty()) CHECK(found == with_fma);
      with_fma = found;
    }
  }
}

TEST_CASE("sine, cosine and tangent are as good for large angles among small ones, and equal on levels with FMA") {
  check_angles<float>();
  check_angles<double>();
}

}  // namespace
}  // namespace millrace
