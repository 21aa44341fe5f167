// SPDX-License-Identifier: Apache-2.0
// Fused multiply-adds of whole waves. The library is compiled for processors that may lack the FMA instruction, so
// std::fma is a call per number. If the host has the instruction, these functions use it directly.
#include "isa/instructions/fused.h"

#include "isa/instructions/float_math.h"

namespace millrace::isa {
namespace {

template <class T>
void set_nan(std::uint32_t count, const BitsOf<T>* a, const BitsOf<T>* b, const BitsOf<T>* c, BitsOf<T>* results) {
  const auto is_nan_bits = [](BitsOf<T> bits) { return (bits & ~FloatBits<T>::kSign) > FloatBits<T>::kInfinity; };
  bool is_any = false;
  for (std::uint32_t i = 0; i < count; ++i) is_any |= is_nan_bits(results[i]);
  for (std::uint32_t i = 0; is_any && i < count; ++i) {
    if (!is_nan_bits(results[i])) continue;
    results[i] = to_bits(nan_of(from_bits<T>(a[i]), from_bits<T>(b[i]), from_bits<T>(c[i])));
  }
}

[[gnu::target("avx2,fma")]] void fuse_by_instruction(std::uint32_t count, const std::uint32_t* a,
                                                     const std::uint32_t* b, const std::uint32_t* c,
                                                     std::uint32_t* __restrict results) {
  for (std::uint32_t i = 0; i < count; ++i) {
    results[i] = std::bit_cast<std::uint32_t>(
        __builtin_fmaf(std::bit_cast<float>(a[i]), std::bit_cast<float>(b[i]), std::bit_cast<float>(c[i])));
  }
}
[[gnu::target("avx2,fma")]] void fuse_by_instruction(std::uint32_t count, const std::uint64_t* a,
                                                     const std::uint64_t* b, const std::uint64_t* c,
                                                     std::uint64_t* __restrict results) {
  for (std::uint32_t i = 0; i < count; ++i) {
    results[i] = std::bit_cast<std::uint64_t>(
        __builtin_fma(std::bit_cast<double>(a[i]), std::bit_cast<double>(b[i]), std::bit_cast<double>(c[i])));
  }
}

template <class T>
void fuse(std::uint32_t count, const BitsOf<T>* a, const BitsOf<T>* b, const BitsOf<T>* c, BitsOf<T>* results) {
  static const bool kHasInstruction = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (kHasInstruction) {
    fuse_by_instruction(count, a, b, c, results);
  } else {
    for (std::uint32_t i = 0; i < count; ++i) {
      results[i] = to_bits(std::fma(from_bits<T>(a[i]), from_bits<T>(b[i]), from_bits<T>(c[i])));
    }
  }
  set_nan<T>(count, a, b, c, results);
}

}  // namespace

void fuse_floats(std::uint32_t count, const std::uint32_t* a, const std::uint32_t* b, const std::uint32_t* c,
                 std::uint32_t* results) {
  fuse<float>(count, a, b, c, results);
}
void fuse_doubles(std::uint32_t count, const std::uint64_t* a, const std::uint64_t* b, const std::uint64_t* c,
                  std::uint64_t* results) {
  fuse<double>(count, a, b, c, results);
}

}  // namespace millrace::isa
