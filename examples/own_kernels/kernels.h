// SPDX-License-Identifier: Apache-2.0
// Kernels that an application writes itself. Each is a node of a graph, with code for every target.
#pragma once

#include "millrace/graph/builder.h"

namespace own {

using millrace::GraphBuilder;
using millrace::KernelResults;
using millrace::Tensor;

/// y[m, n] = x[m, n] / sqrt(mean over n of x[m, n]^2 + 1e-5) * scale[n]. x: f32[m, n], scale: f32[n]; y: f32[m, n].
KernelResults rms_norm(GraphBuilder&, Tensor x, Tensor scale);

/// The median of each 3 x 3 window. x: f32[h, w]; y: f32[h - 2, w - 2]. The dims of x must be known to be 3 or more.
KernelResults median_filter(GraphBuilder&, Tensor x);

/// One step of the heat equation: y = x + rate * (sum of the four neighbours - 4 x), with 0 outside. x, y: f32[h, w].
KernelResults diffuse(GraphBuilder&, Tensor x, double rate);

/// Blocks of a row as i8 with one scale each. x: f32[m, n], where 32 divides n; q: i8[m, n]; scales: f32[m, n / 32].
KernelResults quantise(GraphBuilder&, Tensor x);

/// The centre of each picture, with pixels as weights. x: f32[batch, h, w]; rows and columns: f32[batch].
KernelResults centroid(GraphBuilder&, Tensor x);

/// The mean of the rows of a table that each bag names. table: f32[v, d], ids: i64[bags, n]; y: f32[bags, d]. A run
/// fails if an id is not in [-v, v).
KernelResults embedding_bag(GraphBuilder&, Tensor table, Tensor ids);

/// For each point, the number of the nearest centre. points: f32[n, 3], centres: f32[k, 3]; nearest: i64[n].
KernelResults nearest_centre(GraphBuilder&, Tensor points, Tensor centres);

}  // namespace own
