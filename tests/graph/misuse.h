// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <utility>

#include "millrace/graph/composites.h"

namespace millrace {

/// A mistake that an application may make while it builds a graph, and the whole message that finish() gives for it.
struct Misuse {
  const char* claim;
  void (*build)(GraphBuilder&);
  const char* message;
};

/// Builds each, and checks that finish() gives the message, with an error's code.
void expect_refused(std::span<const Misuse>);

inline Tensor f32(GraphBuilder& graph, Shape shape) { return graph.input("x", DType::kF32, std::move(shape)); }
inline Tensor i32(GraphBuilder& graph, Shape shape) { return graph.input("i", DType::kI32, std::move(shape)); }
inline Tensor flag(GraphBuilder& graph, Shape shape) { return graph.input("b", DType::kBool, std::move(shape)); }

}  // namespace millrace
