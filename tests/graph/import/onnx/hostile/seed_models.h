// SPDX-License-Identifier: Apache-2.0
// Small models of many kinds, which tests damage.
#pragma once

#include <string>
#include <vector>

#include "tests/graph/import/onnx/model_writer.h"

namespace millrace {

struct SeedModel {
  std::string name;
  MessageWriter model;
};
/// Each can be imported. Together they have every kind of operand, attribute and body.
std::vector<SeedModel> seed_models();

}  // namespace millrace
