// SPDX-License-Identifier: Apache-2.0
// The bodies that applications reuse are those of the ops.
#include "millrace/ops/bodies.h"

#include <array>
#include <span>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "millrace/ops/op_def.h"

namespace millrace {
namespace {

template <class Emit>
std::string recorded(DType dtype, Emit emit) {
  BodyBuilder b;
  const std::array<BodyValue, 2> x = {b.load(0, dtype), b.load(1, dtype)};
  b.yield(emit(b, std::span<const BodyValue>(x)));
  return to_text(b.finish());
}

/// `own` emits the body of bodies.h from a builder and two values.
template <class Emit>
void check_same(Op op, Emit own) {
  CAPTURE(to_text(op));
  int num_compared = 0;
  for (const DType dtype : {DType::kF32, DType::kF64, DType::kI8, DType::kU32, DType::kI64, DType::kBool}) {
    const auto count = static_cast<std::size_t>(info(op).num_operands);
    const std::vector<TensorType> types(count, TensorType{dtype, Shape{4}});
    if (!infer_types(op, types, NoAttrs{}).ok()) continue;
    const std::string expected = recorded(dtype, [&](BodyBuilder& b, std::span<const BodyValue> x) {
      return definition(op).body(b, x.first(count), NoAttrs{});
    });
    CHECK(recorded(dtype, own) == expected);
    ++num_compared;
  }
  CHECK(num_compared > 0);
}

TEST_CASE("each elementwise op without attributes has its body in bodies.h") {
#define MILLRACE_OP(name, operands, results, traits, attributes, meaning)
#define MILLRACE_UNARY(name, rule, meaning) check_same(Op::name, [](auto& b, auto x) { return bodies::name(b, x[0]); });
#define MILLRACE_BINARY(name, traits, rule, meaning) \
  check_same(Op::name, [](auto& b, auto x) { return bodies::name(b, x[0], x[1]); });
#include "millrace/ops/op_table.inc"
}

}  // namespace
}  // namespace millrace
