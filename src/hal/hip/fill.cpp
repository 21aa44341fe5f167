// SPDX-License-Identifier: Apache-2.0
// Fills device memory with patterns that HIP's own memset calls cannot write.
#include <algorithm>

#include "hal/hip/issuer.h"

namespace millrace::hip {
namespace {

/// The length of the shortest pattern that gives the same bytes when it is repeated.
std::uint32_t shortest_period(std::uint64_t pattern, std::uint32_t pattern_bytes) {
  for (std::uint32_t half = pattern_bytes / 2; half >= 1; pattern_bytes = half, half /= 2) {
    const std::uint64_t mask = (std::uint64_t{1} << (8 * half)) - 1;
    if ((pattern & mask) != (pattern >> (8 * half) & mask)) break;
  }
  return pattern_bytes;
}

/// Writes the first copy of the pattern byte by byte, then copies what is already filled, doubling it each time: HIP
/// can only fill with words of up to 4 bytes, at aligned addresses.
Status fill_by_doubling(Context& context, const Place& place, std::byte* begin, std::size_t size_bytes,
                        std::uint64_t pattern, std::uint32_t pattern_bytes, Stream stream) {
  const Runtime& hip = context.hip();
  for (std::uint32_t i = 0; i < pattern_bytes; ++i) {
    const auto byte = static_cast<unsigned char>(pattern >> (8 * i));
    MILLRACE_TRY(check(context, place, "hipMemsetD8Async", hip.hipMemsetD8Async(begin + i, byte, 1, stream)));
  }
  for (std::size_t done = pattern_bytes; done < size_bytes; done *= 2) {
    const std::size_t bytes = std::min(done, size_bytes - done);
    MILLRACE_TRY(check(context, place, "hipMemcpyAsync",
                       hip.hipMemcpyAsync(begin + done, begin, bytes, CopyKind::kDeviceToDevice, stream)));
  }
  return {};
}

}  // namespace

Status fill(Context& context, const Place& place, std::uintptr_t address, std::size_t size_bytes, std::uint64_t pattern,
            std::uint32_t pattern_bytes, Stream stream) {
  if (size_bytes == 0) return {};
  const Runtime& hip = context.hip();
  auto* begin = reinterpret_cast<std::byte*>(address);
  const std::uint32_t period = shortest_period(pattern, pattern_bytes);
  if (period == 1) {
    return check(context, place, "hipMemsetD8Async",
                 hip.hipMemsetD8Async(begin, static_cast<unsigned char>(pattern), size_bytes, stream));
  }
  if (period == 2 && address % 2 == 0) {
    return check(context, place, "hipMemsetD16Async",
                 hip.hipMemsetD16Async(begin, static_cast<unsigned short>(pattern), size_bytes / 2, stream));
  }
  if (period == 4 && address % 4 == 0) {
    const auto word = static_cast<int>(static_cast<std::uint32_t>(pattern));
    return check(context, place, "hipMemsetD32Async", hip.hipMemsetD32Async(begin, word, size_bytes / 4, stream));
  }
  return fill_by_doubling(context, place, begin, size_bytes, pattern, period, stream);
}

}  // namespace millrace::hip
