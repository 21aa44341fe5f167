// SPDX-License-Identifier: Apache-2.0
// Loop nests that an application could write, for tests of how a graph treats them.
#pragma once

#include "millrace/graph/functions.h"
#include "millrace/jit/loop_kernel_builder.h"
#include "millrace/ops/bodies.h"

namespace millrace::test {

/// x[m, n] / sqrt(mean of x^2 over n + epsilon) * scale[n]: two passes, one store at each point.
inline KernelResults rms_norm_nest(GraphBuilder& graph, Tensor x, Tensor scale) {
  return graph.kernel("rms_norm", {x, scale}, [&](LoopKernelBuilder& k, std::span<const OperandId> in) {
    const SizeExpr rows = x.shape()[0], columns = x.shape()[1];
    const AffineIndex m = k.parallel("m", rows), n = k.reduction("n", columns);
    const BodyValue element = k.load(k.term(), in[0], {m, n});
    const BodyValue sum = k.reduce(ReductionKind::kSum, k.term().mul(element, element));
    BodyBuilder& b = k.next_pass();
    const BodyValue count = b.convert(DType::kF32, k.extent(b, columns));
    const BodyValue mean = b.add(b.div(k.reduced(sum), count), b.constant(DType::kF32, 1e-5));
    const BodyValue normal = b.div(k.load(b, in[0], {m, n}), b.sqrt(mean));
    k.store_in_pass("y", x.type(), {m, n}, b.mul(normal, k.load(b, in[1], {n})));
  });
}

/// The largest absolute value of each block of `block` elements in a row, and each element relative to it, in i8.
inline KernelResults quantise_nest(GraphBuilder& graph, Tensor x, std::int64_t block) {
  return graph.kernel("quantise", {x}, [&, block](LoopKernelBuilder& k, std::span<const OperandId> in) {
    const SizeExpr rows = x.shape()[0], blocks = floor_div(x.shape()[1], block);
    const AffineIndex m = k.parallel("m", rows), j = k.parallel("block", blocks), i = k.reduction("i", block);
    const std::vector<AffineIndex> at = {m, j * block + i};
    const BodyValue largest = k.reduce(ReductionKind::kMax, k.term().abs(k.load(k.term(), in[0], at)));
    BodyBuilder& b = k.next_pass();
    const BodyValue step = b.div(k.reduced(largest), b.constant(DType::kF32, 127));
    const BodyValue is_zero = b.eq(step, b.constant(DType::kF32, 0));
    const BodyValue divisor = b.select(is_zero, b.constant(DType::kF32, 1), step);
    const BodyValue number = b.round_even(b.div(k.load(b, in[0], at), divisor));
    k.store_in_pass("q", {DType::kI8, {rows, blocks * block}}, at, b.convert(DType::kI8, number));
    BodyBuilder& e = k.epilogue();
    k.store("steps", {DType::kF32, {rows, blocks}}, {m, j}, e.div(largest, e.constant(DType::kF32, 127)));
  });
}

/// The sum of each element of x[h, w] and its neighbours to the left and right, which are 0 outside.
inline KernelResults blur_nest(GraphBuilder& graph, Tensor x) {
  return graph.kernel("blur", {x}, [&](LoopKernelBuilder& k, std::span<const OperandId> in) {
    const AffineIndex h = k.parallel("h", x.shape()[0]), w = k.parallel("w", x.shape()[1]);
    BodyBuilder& b = k.epilogue();
    const LoadOptions outside{.fill = Scalar::of(0.0f)};
    const BodyValue left = k.load(b, in[0], {h, w - 1}, outside), right = k.load(b, in[0], {h, w + 1}, outside);
    k.store("y", x.type(), {h, w}, b.add(b.add(left, k.load(b, in[0], {h, w})), right));
  });
}

/// y[i] = table[ids[i]], refused at run time if an id is outside.
inline KernelResults look_up_nest(GraphBuilder& graph, Tensor table, Tensor ids) {
  return graph.kernel("look_up", {table, ids}, [&](LoopKernelBuilder& k, std::span<const OperandId> in) {
    const AffineIndex i = k.parallel("i", ids.shape()[0]), c = k.parallel("c", table.shape()[1]);
    BodyBuilder& b = k.epilogue();
    const BodyValue id = b.check_index(k.load(b, in[1], {i}), k.extent(b, table.shape()[0]));
    const BodyValue element = k.load(b, in[0], {AffineIndex{}, c}, {.gather_index = id, .gather_dim = 0});
    k.store("y", {table.dtype(), {ids.shape()[0], table.shape()[1]}}, {i, c}, element);
  });
}

/// y = x + x, at each point.
inline KernelResults double_nest(GraphBuilder& graph, Tensor x) {
  return graph.kernel("double_it", {x}, [&](LoopKernelBuilder& k, std::span<const OperandId> in) {
    const std::vector<AffineIndex> point = k.parallel_dims(x.shape());
    const BodyValue value = k.load(k.epilogue(), in[0], point);
    k.store("y", x.type(), point, k.epilogue().add(value, value));
  });
}

}  // namespace millrace::test
