// SPDX-License-Identifier: Apache-2.0
#include "bench/ops/peers/highway_sort.h"

#include <algorithm>
#include <bit>
#include <hwy/contrib/sort/vqsort.h>
#include <hwy/per_target.h>
#include <hwy/targets.h>
#include <type_traits>
#include <vector>

#include "millrace/base/float16.h"

namespace millrace::peers {
namespace {

/// Restricts Highway to AVX2, or lets it use its best target.
void limit_to_avx2(bool is_limited) {
  static bool was_limited = false;
  if (is_limited == was_limited) return;
  was_limited = is_limited;
  hwy::SetSupportedTargetsForTest(is_limited ? HWY_AVX2 : 0);
}

template <class T>
inline constexpr bool kIsFloat16 = std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;

/// Sorts the bits of 16-bit floats in place.
void sort_float16s(std::uint16_t* bits, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) bits[i] ^= (bits[i] >> 15 != 0 ? 0xffff : 0x8000);
  hwy::VQSort(bits, static_cast<std::size_t>(n), hwy::SortAscending());
  for (std::int64_t i = 0; i < n; ++i) bits[i] ^= (bits[i] >> 15 != 0 ? 0x8000 : 0xffff);
}

/// A key with an index.
struct PackedKeys {
  using Word = std::uint64_t;
  static Word pack(float key, std::int64_t index) {
    const auto bits = std::bit_cast<std::uint32_t>(key);
    const std::uint32_t ordered = bits ^ (bits >> 31 != 0 ? ~std::uint32_t{0} : std::uint32_t{1} << 31);
    return Word{ordered} << 32 | static_cast<std::uint64_t>(index);
  }
  static std::int64_t index_of(Word word) { return static_cast<std::int64_t>(word & 0xffff'ffff); }
};
struct KeyValues {
  using Word = hwy::K64V64;
  static Word pack(std::int64_t key, std::int64_t index) {
    Word word;
    word.value = static_cast<std::uint64_t>(index);
    word.key = static_cast<std::uint64_t>(key) ^ std::uint64_t{1} << 63;
    return word;
  }
  static std::int64_t index_of(const Word& word) { return static_cast<std::int64_t>(word.value); }
};

}  // namespace

template <class T, bool is_avx2>
void highway_sort(const T* x, T* values, std::int64_t rows, std::int64_t n) {
  limit_to_avx2(is_avx2);
  std::copy(x, x + rows * n, values);
  for (std::int64_t row = 0; row < rows; ++row) {
    if constexpr (kIsFloat16<T>) {
      sort_float16s(&values[row * n].bits, n);
    } else {
      hwy::VQSort(values + row * n, static_cast<std::size_t>(n), hwy::SortAscending());
    }
  }
}

template <class T, bool is_avx2>
void highway_argsort(const T* x, std::int64_t* indices, std::int64_t rows, std::int64_t n) {
  using Keys = std::conditional_t<std::is_same_v<T, float>, PackedKeys, KeyValues>;
  static std::vector<typename Keys::Word> words;
  limit_to_avx2(is_avx2);
  words.resize(static_cast<std::size_t>(n));
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t i = 0; i < n; ++i) words[static_cast<std::size_t>(i)] = Keys::pack(x[row * n + i], i);
    hwy::VQSort(words.data(), words.size(), hwy::SortAscending());
    for (std::int64_t i = 0; i < n; ++i) indices[row * n + i] = Keys::index_of(words[static_cast<std::size_t>(i)]);
  }
}

std::string highway_target() {
  limit_to_avx2(false);
  return hwy::TargetName(hwy::DispatchedTarget());
}

using I = std::int64_t;
template void highway_sort<float>(const float*, float*, I, I);
template void highway_sort<float, true>(const float*, float*, I, I);
template void highway_sort<double>(const double*, double*, I, I);
template void highway_sort<std::int32_t>(const std::int32_t*, std::int32_t*, I, I);
template void highway_sort<std::int64_t>(const std::int64_t*, std::int64_t*, I, I);
template void highway_sort<std::uint64_t>(const std::uint64_t*, std::uint64_t*, I, I);
template void highway_sort<Half>(const Half*, Half*, I, I);
template void highway_sort<BFloat16>(const BFloat16*, BFloat16*, I, I);
template void highway_argsort<float>(const float*, I*, I, I);
template void highway_argsort<float, true>(const float*, I*, I, I);
template void highway_argsort<std::int64_t>(const std::int64_t*, I*, I, I);

}  // namespace millrace::peers
