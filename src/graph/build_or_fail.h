// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <source_location>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/guard_allocations.h"
#include "millrace/graph/builder.h"

namespace millrace {

/// "softmax" in millrace::softmax(Tensor, std::int64_t).
std::string_view plain_name(const std::source_location&);

/// Returns what `body` builds. If memory runs out, records that as a mistake of the graph, under the caller's name, and
/// returns an empty result. If `graph` is null, the result is empty too. `size_bytes`: the bytes that the body copies,
/// for the message.
template <class Body>
std::invoke_result_t<Body> build_or_fail(GraphBuilder* graph, Body&& body, std::size_t size_bytes = 0,
                                         std::string_view name = plain_name(std::source_location::current())) {
  using Built = std::invoke_result_t<Body>;
  if (graph == nullptr) return Built();
  const auto where = [&] {
    return graph->next_text(name) + (size_bytes > 0 ? fmt::format(" of {} bytes", size_bytes) : "");
  };
  Result<Built> built = guard_allocations(where, [&]() -> Result<Built> { return body(); });
  if (built.ok()) return *std::move(built);
  graph->fail(built.status());
  return Built();
}

/// Returns `tensors` if there are `count` of them, as the caller expects. Otherwise returns `count` invalid tensors, or
/// none if memory runs out again.
std::vector<Tensor> or_invalid(std::vector<Tensor> tensors, std::size_t count);

}  // namespace millrace
