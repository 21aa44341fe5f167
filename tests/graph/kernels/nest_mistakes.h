// SPDX-License-Identifier: Apache-2.0
// Loop nests of an application with one part left to the caller, for its mistakes.
#pragma once

#include "tests/graph/kernels/own_nests.h"
#include "tests/graph/misuse.h"

namespace millrace::test {

using Operands = std::span<const OperandId>;
using Indices = std::vector<AffineIndex>;

/// A nest named "own" that reads x: f32[4x8], and has m below 4 and n below 8.
template <class Build>
KernelResults own(GraphBuilder& graph, Build&& build) {
  return graph.kernel("own", {f32(graph, {4, 8})}, [&](LoopKernelBuilder& k, Operands in) {
    const AffineIndex m = k.parallel("m", 4), n = k.parallel("n", 8);
    build(k, in[0], m, n);
  });
}

/// The same, with n as a reduction.
template <class Build>
KernelResults own_rows(GraphBuilder& graph, Build&& build) {
  return graph.kernel("own", {f32(graph, {4, 8})}, [&](LoopKernelBuilder& k, Operands in) {
    const AffineIndex m = k.parallel("m", 4), n = k.reduction("n", 8);
    build(k, in[0], m, n);
  });
}

/// A nest that reads x: f32[rows] at `index(i)` for each i below `extent`.
template <class Index>
KernelResults own_line(GraphBuilder& graph, const SizeExpr& rows, const SizeExpr& extent, Index&& index) {
  return graph.kernel("own", {f32(graph, {rows})}, [&](LoopKernelBuilder& k, Operands in) {
    const AffineIndex i = k.parallel("i", extent);
    k.store("y", {DType::kF32, {extent}}, {i}, k.load(k.epilogue(), in[0], {index(i)}));
  });
}

/// A nest that stores a constant in y: f32[shape] at `indices`.
template <class At>
KernelResults own_store(GraphBuilder& graph, Shape shape, At&& at) {
  return own(graph, [&](LoopKernelBuilder& k, OperandId, const AffineIndex& m, const AffineIndex& n) {
    k.store("y", {DType::kF32, std::move(shape)}, at(m, n), k.epilogue().constant(DType::kF32, 1));
  });
}

/// A nest that gathers from table: f32[100], at the index that `checked` makes of each element of ids: i64[4].
template <class Checked>
KernelResults own_gather(GraphBuilder& graph, const AffineIndex& plus, Checked&& checked) {
  const Tensor table = graph.input("table", DType::kF32, {100}), ids = graph.input("ids", DType::kI64, {4});
  return graph.kernel("own", {table, ids}, [&](LoopKernelBuilder& k, Operands in) {
    const AffineIndex i = k.parallel("i", 4);
    const BodyValue id = checked(k, k.load(k.epilogue(), in[1], {i}));
    k.store("y", {DType::kF32, {4}}, {i}, k.load(k.epilogue(), in[0], {plus}, {.gather_index = id}));
  });
}

inline BodyValue one(BodyBuilder& b) { return b.constant(DType::kF32, 1); }

}  // namespace millrace::test
