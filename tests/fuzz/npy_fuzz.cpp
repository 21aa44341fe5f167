// SPDX-License-Identifier: Apache-2.0
// Whatever the file is, parse_npy gives an array that holds its elements, or an error.
#include <cstddef>
#include <cstdint>

#include "millrace/base/check.h"
#include "millrace/graph/npy.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace millrace;
  const Result<NpyArray> array = parse_npy("f", std::as_bytes(std::span(data, size)));
  MILLRACE_CHECK(!array.ok() || size_bytes(array->type).is(static_cast<std::int64_t>(array->bytes.size())));
  return 0;
}
