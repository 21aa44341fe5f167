// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace millrace {

/// A part of a model that cannot be imported.
struct OnnxProblem {
  std::string path;      // "graph.node[17] (Resize 'r')"
  std::string reason;    // begins with ": " or continues the path, as in ".attribute 'mode': ..."
  std::string set = "";  // "ai.onnx 13"; empty if no op is to blame
  std::string op = "";   // "Resize"
};

/// The problems of one model. Beyond 1 MiB of text, they are counted but not kept: in a small file, a function can fail
/// at each of many nodes, many calls deep, and each path names all the calls.
class OnnxProblems {
 public:
  void push_back(OnnxProblem problem);
  bool empty() const { return kept_.empty(); }
  std::size_t size() const { return kept_.size() + num_left_out_; }
  std::span<const OnnxProblem> kept() const { return kept_; }

 private:
  std::vector<OnnxProblem> kept_;
  std::size_t num_left_out_ = 0, num_bytes_ = 0;
};

/// One line per problem. In a long list, problems of one op for one reason share a line, which names the first few.
std::string list_problems(const std::string& where, const OnnxProblems& problems);

}  // namespace millrace
