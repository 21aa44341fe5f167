// SPDX-License-Identifier: Apache-2.0
// Whatever the file is, Safetensors::parse gives entries that lie inside it, or an error.
#include <cstddef>
#include <cstdint>

#include "millrace/base/check.h"
#include "millrace/graph/safetensors.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace millrace;
  const std::span<const std::byte> bytes = std::as_bytes(std::span(data, size));
  const Result<Safetensors> file = Safetensors::parse("f", {bytes.begin(), bytes.end()});
  if (!file.ok()) return 0;
  std::size_t sum = 0;
  for (const auto& [name, entry] : file->entries()) {
    MILLRACE_CHECK(size_bytes(entry.type).is(static_cast<std::int64_t>(entry.bytes.size())));
    for (const std::byte byte : entry.bytes) sum += std::to_integer<unsigned>(byte);  // the sanitizer watches the reads
  }
  MILLRACE_CHECK(sum <= 255 * size * file->entries().size());
  return 0;
}
