// SPDX-License-Identifier: Apache-2.0
#include "examples/digits/digit_set.h"

#include <cstring>
#include <string>

namespace digits {
using namespace millrace;

namespace {

/// The elements of the file's tensor `name`, which must have the dtype of T.
template <class T>
Result<std::vector<T>> read_elements(const Safetensors& file, const std::string& name) {
  MILLRACE_TRY_ASSIGN(const Safetensors::Entry entry, file.get(name));
  if (entry.type.dtype != dtype_of<T>) {
    return invalid_argument(name + ": is " + entry.type.to_text() + ", expected elements of " +
                            std::string(to_text(dtype_of<T>)) + "; make the file with train_digits.py");
  }
  std::vector<T> elements(entry.bytes.size() / sizeof(T));
  std::memcpy(elements.data(), entry.bytes.data(), elements.size() * sizeof(T));
  return elements;
}

}  // namespace

Result<DigitSet> read_test_split(const Safetensors& file) {
  DigitSet digits;
  MILLRACE_TRY_ASSIGN(digits.pixels, read_elements<float>(file, "test.images"));
  MILLRACE_TRY_ASSIGN(digits.labels, read_elements<std::int64_t>(file, "test.labels"));
  if (digits.labels.empty() || digits.pixels.size() != digits.size() * kPixels) {
    return invalid_argument("test.images: " + std::to_string(digits.pixels.size()) + " pixels for " +
                            std::to_string(digits.size()) +
                            " labels, expected 64 each; make the file with train_digits.py");
  }
  return digits;
}

}  // namespace digits
