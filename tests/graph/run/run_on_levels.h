// SPDX-License-Identifier: Apache-2.0
// Programs on every level of the host, and on GPUs.
#pragma once

#include <span>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "millrace/hal/target_spec.h"
#include "millrace/millrace.h"
#include "tests/support/graphs/run_graph.h"

namespace millrace::test {

/// "cpu:baseline" and the other levels of the host.
inline std::vector<std::string> cpu_levels() {
  std::vector<std::string> devices;
  for (const IsaLevel isa : host_isa_levels()) devices.push_back("cpu:" + std::string(to_text(isa)));
  return devices;
}

inline Program compile_on(const std::string& device, const Graph& graph) {
  CompileOptions options;
  options.context = device.starts_with("isa:") ? isa_context() : test_context();
  options.device = device;
  return compile(graph, options).value();
}

inline std::vector<reference::Tensor> run_once(const Program& program, std::span<const reference::Tensor> inputs) {
  Result<std::vector<reference::Tensor>> outputs = run_guarded(program, inputs, {}, 1);
  REQUIRE(outputs.status().message() == "");
  return *std::move(outputs);
}

inline long double element(const reference::Tensor& tensor, std::int64_t i) {
  return reference::read_element<long double>(tensor.type.dtype, tensor.element(i));
}

}  // namespace millrace::test
