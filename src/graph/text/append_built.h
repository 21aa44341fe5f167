// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "base/text/reader.h"
#include "millrace/graph/builder.h"

namespace millrace {

/// Where an operation stands in a text, for messages.
struct OperationPlace {
  const TextReader& text;
  std::size_t begin = 0;
  std::string_view name;

  /// "g.mr:2:8: softmax: <problem>", with its line.
  Status refuse(std::string_view problem) const;
};

/// Builds an operation's results from tensors that stand for its operands. A Status is returned as it is; what is told
/// to the builder is told in the operation's place.
using BuildResults = std::function<Result<std::vector<Tensor>>(std::span<const Tensor> operands)>;

/// Appends the nodes that C++ functions make of the operands, of which there is at least one. Returns the results,
/// which may be operands.
Result<std::vector<Value>> append_built(Graph&, std::span<const Value> operands, const OperationPlace&,
                                        const BuildResults&);

}  // namespace millrace
