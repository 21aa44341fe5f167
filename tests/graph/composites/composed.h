// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "millrace/millrace.h"
#include "tests/reference/tensor.h"

namespace millrace::test {

/// A graph of one output under test, with values for its inputs as they are declared.
///
///     Composed().with("x", {3}, {1, 2, 3}).run([](Composed& c) { return relu(c["x"]); })
class Composed {
 public:
  /// `extents` are the extents that the run binds if `shape` has symbols; otherwise those of the shape.
  Composed& with(const std::string& name, const reference::Extents& extents, const std::vector<double>& values,
                 DType dtype = DType::kF32, Shape shape = {});
  Tensor operator[](const std::string& name) const { return tensors_.at(name); }
  GraphBuilder& graph() { return graph_; }

  /// The elements of the result of `build`, on the best ISA level.
  std::vector<double> run(const std::function<Tensor(Composed&)>& build);
  /// What the run says, when it must fail.
  std::string failure(const std::function<Tensor(Composed&)>& build);

 private:
  Result<std::vector<double>> try_run(const std::function<Tensor(Composed&)>& build);

  GraphBuilder graph_;
  std::map<std::string, Tensor> tensors_;
  std::vector<reference::Tensor> inputs_;
};

}  // namespace millrace::test
