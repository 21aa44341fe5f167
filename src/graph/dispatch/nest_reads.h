// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "millrace/graph/graph.h"
#include "millrace/jit/loop_kernel.h"

namespace millrace {

// How an application's loop nest reads its operands and stores its results: what other nodes may join it.

/// The nest of a NestNode; null for other nodes.
const LoopKernel* own_nest(const Node&);
/// Whether every load of the operand is at an index that needs no check, so that it can look through views.
bool reads_plainly(const LoopKernel&, std::size_t operand);
/// Whether the nest reads each element of the operand at one point of its domain. Computing the operand there then
/// costs no more than computing it before.
bool reads_each_once(const LoopKernel&, std::size_t operand);
/// Whether the nest stores both results in the same pass and at the same indices.
bool has_one_place(const LoopKernel&, std::uint32_t result, std::uint32_t other);
/// Whether the nest reads the operand only where it stores its first result.
bool reads_where_it_stores(const LoopKernel&, std::size_t operand);

}  // namespace millrace
