// SPDX-License-Identifier: Apache-2.0
// Whatever the text is, parse_graph gives a graph that comes back from its own text, or an error.
#include <cstddef>
#include <cstdint>

#include "millrace/base/check.h"
#include "millrace/graph/text.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace millrace;
  const Result<Graph> graph = parse_graph({reinterpret_cast<const char*>(data), size});
  if (!graph.ok()) return 0;
  const std::string text = to_text(*graph);
  const Result<Graph> again = parse_graph(text);
  MILLRACE_CHECK(again.ok() && to_text(*again) == text);
  return 0;
}
