// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "millrace/graph/builder.h"
#include "tests/support/random/random_choice.h"

namespace millrace::test {

/// A composite with its arguments chosen, but for the tensors, whose types these are.
struct RandomComposite {
  std::vector<TensorType> operands;
  std::function<Tensor(std::span<const Tensor>)> build;
  bool has_sum = false;  // of floats, which must then be small
};

/// A function of functions.h that builds smaller ops.
struct CompositeRow {
  std::string_view name;
  /// Takes a first operand of type `x` where that will do. What is chosen may be refused, as an op's attributes may.
  RandomComposite (*choose)(RandomChoice&, const TensorType& x);
};
std::span<const CompositeRow> all_composites();

}  // namespace millrace::test
