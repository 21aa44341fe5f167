// SPDX-License-Identifier: Apache-2.0
#include "tests/graph/composites/composed.h"

#include <doctest/doctest.h>

#include "tests/support/graphs/run_graph.h"

namespace millrace::test {

Composed& Composed::with(const std::string& name, const reference::Extents& extents, const std::vector<double>& values,
                         DType dtype, Shape shape) {
  reference::Tensor tensor(dtype, extents);
  REQUIRE(static_cast<std::size_t>(tensor.num_elements()) == values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::byte* element = tensor.element(static_cast<std::int64_t>(i));
    if (is_float(dtype)) {
      reference::write_element(dtype, values[i], element);
    } else {
      reference::write_element(dtype, static_cast<reference::Int128>(values[i]), element);
    }
  }
  tensors_[name] = graph_.input(name, dtype, shape.rank() == 0 ? tensor.type.shape : std::move(shape));
  inputs_.push_back(std::move(tensor));
  return *this;
}

Result<std::vector<double>> Composed::try_run(const std::function<Tensor(Composed&)>& build) {
  graph_.output("y", build(*this));
  MILLRACE_TRY_ASSIGN(Graph graph, graph_.finish());
  MILLRACE_TRY_ASSIGN(const Program program, compile(std::move(graph), {.context = test_context()}));
  MILLRACE_TRY_ASSIGN(const std::vector<reference::Tensor> outputs, run_guarded(program, inputs_));
  return reference::read_all<double>(outputs[0]);
}

std::vector<double> Composed::run(const std::function<Tensor(Composed&)>& build) {
  Result<std::vector<double>> values = try_run(build);
  REQUIRE(values.status().message() == "");
  return *std::move(values);
}

std::string Composed::failure(const std::function<Tensor(Composed&)>& build) {
  return try_run(build).status().message();
}

}  // namespace millrace::test
