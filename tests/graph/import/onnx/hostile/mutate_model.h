// SPDX-License-Identifier: Apache-2.0
// Damages models, for tests and for fuzz_onnx. Knows protocol buffers, so that most of what it makes is decoded and
// fails later, in what a field means.
#pragma once

#include <random>
#include <string>
#include <string_view>

namespace millrace {

/// Changes the bytes of a model one to four times: bits, bytes, fields, numbers, lengths, names and ops. Some changes
/// take a field of `donor`, which may be the same model.
std::string mutate_model(std::string_view model, std::string_view donor, std::mt19937& random);

}  // namespace millrace
