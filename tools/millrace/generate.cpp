// SPDX-License-Identifier: Apache-2.0
// Makes the elements of inputs such as `--input x=randn`, quickly even for gigabytes.
#include "tools/millrace/generate.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <memory>
#include <new>
#include <numbers>
#include <sys/mman.h>
#include <vector>

#include "millrace/jit/scalar.h"

namespace millrace::tool {
namespace {

/// Repeats the first `period_bytes` over the rest.
void repeat(std::span<std::byte> bytes, std::size_t period_bytes) {
  for (std::size_t filled = period_bytes; filled < bytes.size(); filled *= 2) {
    std::memcpy(bytes.data() + filled, bytes.data(), std::min(filled, bytes.size() - filled));
  }
}

void fill_with(Scalar value, std::size_t element_bytes, std::span<std::byte> bytes) {
  std::memcpy(bytes.data(), &value.bits, element_bytes);
  repeat(bytes, element_bytes);
}

void count_up(DType dtype, std::span<std::byte> bytes) {
  const std::size_t size = size_bytes(dtype), count = bytes.size() / size;
  if (dtype == DType::kF32 || dtype == DType::kF64 || (is_integer(dtype) && size >= 4)) {
    visit_dtype(dtype, [&]<class T>() {
      if constexpr (sizeof(T) >= 4) {
        auto* const elements = reinterpret_cast<T*>(bytes.data());
        for (std::size_t i = 0; i < count; ++i) elements[i] = static_cast<T>(i);
      }
    });
    return;
  }
  // Integers of at most 16 bits repeat after 2^16 elements. For f16, the last of the first 2^16 elements is inf, and so
  // are all later ones.
  const std::size_t own = std::min<std::size_t>(count, 1 << 16);
  for (std::size_t i = 0; i < own; ++i) {
    const Scalar value = Scalar::from_int(dtype, static_cast<std::int64_t>(i));
    std::memcpy(bytes.data() + i * size, &value.bits, size);
  }
  if (is_integer(dtype)) return repeat(bytes, own * size);
  for (std::size_t i = own; i < count; ++i) {
    const std::size_t same = dtype == DType::kBF16 ? i : own - 1;  // f16: inf; bool: true
    const Scalar value = Scalar::from_int(dtype, static_cast<std::int64_t>(same));
    std::memcpy(bytes.data() + i * size, &value.bits, size);
  }
}

constexpr std::size_t kPieceBits = 12, kNumPieces = std::size_t{1} << kPieceBits;

/// The inverse of the normal distribution function, linear between these points.
const std::array<double, kNumPieces + 1>& quantiles() {
  static const std::array<double, kNumPieces + 1> kQuantiles = [] {
    std::array<double, kNumPieces + 1> points{};
    constexpr double kTail = 5.3;  // a normal number is greater with a probability of 2^-24
    points.front() = -kTail;
    points.back() = kTail;
    double x = -3.5;
    for (std::size_t i = 1; i < kNumPieces; ++i) {
      const double wanted = static_cast<double>(i) / kNumPieces;
      for (int iteration = 0; iteration < 4; ++iteration) {  // Newton's method, starting at the previous point
        const double found = std::erfc(-x / std::numbers::sqrt2) / 2;
        x += (wanted - found) * std::sqrt(2 * std::numbers::pi) * std::exp(x * x / 2);
      }
      points[i] = x;
    }
    return points;
  }();
  return kQuantiles;
}

/// splitmix64: random bits that depend only on the seed and the position. Source: Steele et al., "Fast splittable
/// pseudorandom number generators", OOPSLA 2014.
std::uint64_t random_word(std::uint64_t seed, std::uint64_t position) {
  std::uint64_t word = (seed * 0x9e37'79b9'7f4a'7c15 + position + 1) * 0x9e37'79b9'7f4a'7c15;
  word = (word ^ (word >> 30)) * 0xbf58'476d'1ce4'e5b9;
  word = (word ^ (word >> 27)) * 0x94d0'49bb'1331'11eb;
  return word ^ (word >> 31);
}

/// A normal number from the highest `kBits` bits of a word.
template <int kBits>
double normal(std::uint64_t word) {
  const auto& points = quantiles();
  const std::size_t piece = word >> (64 - kPieceBits);
  const std::uint64_t within = (word << kPieceBits) >> (64 - (kBits - static_cast<int>(kPieceBits)));
  const double share = static_cast<double>(within) / static_cast<double>(std::uint64_t{1} << (kBits - kPieceBits));
  return points[piece] + (points[piece + 1] - points[piece]) * share;
}

template <class T>
T rounded(double value) {
  return static_cast<T>(std::is_floating_point_v<T> ? value : std::round(value));
}

/// 4-byte elements take half a word each, 8-byte ones a whole word.
template <class T>
void fill_normal(std::uint64_t seed, std::span<std::byte> bytes) {
  auto* const elements = reinterpret_cast<T*>(bytes.data());
  const std::size_t count = bytes.size() / sizeof(T);
  if constexpr (sizeof(T) == 8) {
    for (std::size_t i = 0; i < count; ++i) elements[i] = rounded<T>(normal<64>(random_word(seed, i)));
  } else {
    for (std::size_t i = 0; i < count; i += 2) {
      const std::uint64_t word = random_word(seed, i / 2);
      elements[i] = rounded<T>(normal<32>(word));
      if (i + 1 < count) elements[i + 1] = rounded<T>(normal<32>(word << 32));
    }
  }
}

/// Elements of 1 or 2 bytes have at most 2^16 distinct values, so they are drawn from a table of 2^16 numbers.
void fill_normal_of_table(DType dtype, std::uint64_t seed, std::span<std::byte> bytes) {
  constexpr std::size_t kNumEntries = 1 << 16;
  const std::size_t size = size_bytes(dtype), count = bytes.size() / size;
  std::vector<std::uint16_t> table(kNumEntries);
  for (std::size_t i = 0; i < kNumEntries; ++i) {
    const double value = normal<32>((std::uint64_t{i} << 48) + (std::uint64_t{1} << 47));  // the middle of entry i
    const Scalar scalar = dtype == DType::kBool
                              ? Scalar::of(value > 0)
                              : Scalar::from_double(dtype, is_float(dtype) ? value : std::round(value));
    table[i] = static_cast<std::uint16_t>(scalar.bits);
  }
  const auto fill = [&]<class T>(T* elements) {
    const auto put = [&](std::size_t first, std::size_t number) {
      const std::uint64_t word = random_word(seed, first / 4);
      for (std::size_t k = 0; k < number; ++k) {
        elements[first + k] = static_cast<T>(table[(word >> (16 * k)) & 0xffff]);
      }
    };
    const std::size_t whole = count / 4 * 4;
    for (std::size_t i = 0; i < whole; i += 4) put(i, 4);
    if (whole < count) put(whole, count - whole);
  };
  if (size == 1) return fill(reinterpret_cast<std::uint8_t*>(bytes.data()));
  fill(reinterpret_cast<std::uint16_t*>(bytes.data()));
}

void fill(std::string_view kind, DType dtype, std::uint64_t seed, std::span<std::byte> bytes) {
  if (bytes.empty() || kind == "zeros") return;
  if (kind == "ones") return fill_with(Scalar::from_int(dtype, 1), size_bytes(dtype), bytes);
  if (kind == "arange") return count_up(dtype, bytes);
  if (size_bytes(dtype) < 4) return fill_normal_of_table(dtype, seed, bytes);
  visit_dtype(dtype, [&]<class T>() {
    if constexpr (sizeof(T) >= 4) fill_normal<T>(seed, bytes);
  });
}

/// Uses huge pages if they are available: page faults of many small pages take longer than filling the pages.
std::shared_ptr<std::byte> allocate_zeros(std::size_t size) {
  constexpr std::size_t kHugePage = std::size_t{2} << 20;
  const std::size_t mapped = std::max(size, std::size_t{1});
  void* const pages = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) throw std::bad_alloc();
  if (mapped >= kHugePage) madvise(pages, mapped, MADV_HUGEPAGE);
  return {static_cast<std::byte*>(pages), [mapped](std::byte* begin) { munmap(begin, mapped); }};
}

}  // namespace

SharedBytes generate_elements(std::string_view kind, DType dtype, std::uint64_t seed, std::size_t size_bytes) {
  const std::shared_ptr<std::byte> owner = allocate_zeros(size_bytes);
  fill(kind, dtype, seed, {owner.get(), size_bytes});
  return {owner, {owner.get(), size_bytes}};
}

}  // namespace millrace::tool
