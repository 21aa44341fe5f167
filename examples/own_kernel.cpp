// SPDX-License-Identifier: Apache-2.0
// An application's own elementwise kernel: it fuses with the library's ops and compiles like them.
#include <array>
#include <cmath>
#include <cstdio>

#include "millrace/graph/compile_report.h"
#include "millrace/millrace.h"

using namespace millrace;

namespace {

/// A soft threshold: x moved towards 0 by t, and 0 if |x| < t. A template over the builder, so that one definition
/// serves code for every target and constant folding.
struct SoftThreshold {
  static auto emit(auto& b, auto operands) {
    const auto x = operands[0], t = operands[1];
    const auto shrunk = b.max(b.sub(b.abs(x), t), b.constant_like(x, 0));
    return b.select(b.lt(x, b.constant_like(x, 0)), b.neg(shrunk), shrunk);
  }
};

Status run() {
  GraphBuilder graph("denoise");
  const Tensor x = graph.input("x", DType::kF32, {8});
  const Tensor t = graph.input("t", DType::kF32, {8});
  graph.output("y", graph.kernel<SoftThreshold>("soft_threshold", x * 2.0, t) + 1.0);
  MILLRACE_TRY_ASSIGN(Graph built, graph.finish());
  MILLRACE_TRY_ASSIGN(const Program program, compile(std::move(built)));
  MILLRACE_TRY_ASSIGN(Session session, Session::create(program));

  const std::array<float, 8> xs = {-2, -1, -0.5f, -0.25f, 0, 0.25f, 0.75f, 3};
  const std::array<float, 8> ts = {1, 1, 1, 1, 1, 0.25f, 1, 2};
  std::array<float, 8> ys;
  MILLRACE_TRY(session.run({bind("x", xs), bind("t", ts)}, {bind("y", ys)}));

  std::printf("%s\n", program.to_text(Stage::kDispatch).c_str());
  if (program.report().num_dispatches != 1)
    return internal_error("own_kernel: the kernel and the ops around it did not fuse");
  for (std::size_t i = 0; i < xs.size(); ++i) {
    const float doubled = 2 * xs[i];
    const float expected = std::copysign(std::fmax(std::fabs(doubled) - ts[i], 0.0f), doubled) + 1;
    std::printf("x = %5.2f  t = %4.2f  y = %5.2f\n", xs[i], ts[i], ys[i]);
    if (ys[i] != expected)
      return internal_error("own_kernel: the last y is not the expected " + std::to_string(expected));
  }
  return {};
}

}  // namespace

int main() {
  const Status status = run();
  if (!status.ok()) std::printf("%s\n", status.message().c_str());
  return status.ok() ? 0 : 1;
}
