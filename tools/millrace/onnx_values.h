// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "millrace/graph/onnx.h"

namespace millrace::tool {

/// The values of --set INPUT=VALUE for OnnxOptions::values: "@file.npy", or elements such as "1,2" and "true", in the
/// dtype and shape that the model at `path` declares. If the declared shape is one dim without a number, a list of any
/// length fits.
Result<std::map<std::string, OnnxConstant>> parse_onnx_values(const std::string& path,
                                                              const std::vector<std::string>& arguments);

}  // namespace millrace::tool
