// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>

namespace millrace {

/// A part of a model that cannot be imported.
struct OnnxProblem {
  std::string path;      // "graph.node[17] (Resize 'r')"
  std::string reason;    // begins with ": " or continues the path, as in ".attribute 'mode': ..."
  std::string set = "";  // "ai.onnx 13"; empty if no op is to blame
  std::string op = "";   // "Resize"
};

/// One line per problem. A long list joins those of one op for one reason, and names the first of them.
std::string list_problems(const std::string& where, std::span<const OnnxProblem> problems);

}  // namespace millrace
