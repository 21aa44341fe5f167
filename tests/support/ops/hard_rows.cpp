// SPDX-License-Identifier: Apache-2.0
#include "tests/support/ops/hard_rows.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace millrace::test {
namespace {

using Random = std::mt19937_64;
using Numbers = std::vector<double>;
using reference::Tensor;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

template <class F>
Numbers each(const RowSize& size, F&& number) {
  Numbers numbers;
  for (std::int64_t i = 0; i < size.n; ++i) numbers.push_back(number(i));
  return numbers;
}
double below(Random& random, std::uint64_t end) { return static_cast<double>(random() % end); }

Numbers ascending(const RowSize& size) {
  return each(size, [](std::int64_t i) { return static_cast<double>(i); });
}

template <std::uint64_t num_values>
Numbers few_values(const RowSize& size, Random& random) {
  return each(size, [&](std::int64_t) { return below(random, num_values); });
}

/// Rows with the given number of NaNs per hundred thousand elements.
template <std::uint64_t share>
Numbers with_nans(const RowSize& size, Random& random) {
  return each(size, [&](std::int64_t) { return random() % 100'000 < share ? kNan : below(random, 1000) / 8; });
}

/// Mostly infinities of one sign, among zeros and NaNs: a search for the latter meets the infinities first.
template <int sign>
Numbers mostly_infinite(const RowSize& size, Random& random) {
  constexpr double kValues[] = {0., -0., -1., kNan, 1.};
  return each(size, [&](std::int64_t) { return random() % 3 != 0 ? sign * kInfinity : kValues[random() % 5]; });
}

/// Source: Musser, "Introspective sorting and selection algorithms", 1997.
Numbers killer_of_median_of_3(const RowSize& size, Random&) {
  const std::int64_t half = size.n / 2;
  return each(size, [&](std::int64_t i) {
    if (i >= 2 * half) return static_cast<double>(size.n);
    if (i >= half) return static_cast<double>(2 * (i - half + 1));
    return static_cast<double>(i % 2 == 0 ? i + 1 : half + i + half % 2);
  });
}

/// Vectors that are sampled at even distances, two or eight of them, hold the smallest elements.
Numbers killer_of_sampled_vectors(const RowSize& size, Random& random) {
  Numbers numbers = each(size, [&](std::int64_t) { return 1000 + below(random, 20'000); });
  const std::int64_t num_vectors = size.n < 4096 ? 2 : 8, stride = size.n / num_vectors;
  if (stride < size.lanes) return numbers;
  for (std::int64_t i = 0; i < num_vectors * size.lanes; ++i) {
    const std::int64_t from = i / size.lanes * stride + (stride - size.lanes) / 2;
    numbers[static_cast<std::size_t>(from + i % size.lanes)] = below(random, 10);
  }
  return numbers;
}

Numbers sorted_with_random_tail(const RowSize& size, Random& random) {
  return each(size, [&](std::int64_t i) {
    return i < size.n - size.n / 16 - 1 ? static_cast<double>(i) : below(random, static_cast<std::uint64_t>(size.n));
  });
}

/// A length of any magnitude up to the row's.
std::int64_t any_part(const RowSize& size, Random& random) {
  const double exponent = below(random, 1000) / 1000 * std::log2(std::max<double>(static_cast<double>(size.n), 2));
  return static_cast<std::int64_t>(std::exp2(exponent));
}

Numbers sawtooth(const RowSize& size, Random& random) {
  const std::int64_t length = any_part(size, random), sign = random() % 2 == 0 ? 1 : -1;
  return each(size, [&](std::int64_t i) { return static_cast<double>(sign * (i % length)); });
}

/// Ascends or descends by runs of equals.
Numbers steps(const RowSize& size, Random& random) {
  const std::int64_t length = any_part(size, random), sign = random() % 2 == 0 ? 1 : -1;
  return each(size, [&](std::int64_t i) { return static_cast<double>(sign * (i / length)); });
}

Numbers one_change(const RowSize& size, Random& random) {
  Numbers numbers = ascending(size);
  if (size.n > 0) numbers[random() % numbers.size()] = below(random, numbers.size());
  return numbers;
}

constexpr HardRow::Dtypes kAll = HardRow::Dtypes::kAll, kFloats = HardRow::Dtypes::kFloats;

const HardRow kHardRows[] = {
    {"random", kAll,
     [](const RowSize& size, Random& random) {
       return each(size, [&](std::int64_t) { return std::ldexp(below(random, 65536), -7) - 200; });
     }},
    {"random bits", kAll, nullptr, [](Random& random) -> std::uint64_t { return random(); }},
    {"ascending", kAll, [](const RowSize& size, Random&) { return ascending(size); }},
    {"descending", kAll,
     [](const RowSize& size, Random&) {
       return each(size, [&](std::int64_t i) { return static_cast<double>(size.n - i); });
     }},
    {"one change", kAll, one_change},
    {"sorted with a random tail", kAll, sorted_with_random_tail},
    {"organ pipe", kAll,
     [](const RowSize& size, Random&) {
       return each(size, [&](std::int64_t i) { return static_cast<double>(std::min(i, size.n - i)); });
     }},
    {"sawtooth", kAll, sawtooth},
    {"steps", kAll, steps},
    {"killer of the median of 3", kAll, killer_of_median_of_3},
    {"killer of sampled vectors", kAll, killer_of_sampled_vectors},
    {"equal", kAll, [](const RowSize& size, Random&) { return Numbers(static_cast<std::size_t>(size.n), 7.0); }},
    {"two values", kAll, few_values<2>},
    {"sixteen values", kAll, few_values<16>},
    {"Zipf", kAll,
     [](const RowSize& size, Random& random) {
       return each(size, [&](std::int64_t) { return std::floor(1e4 / (1 + below(random, 10'000))); });
     }},
    {"ties for the first k", kAll,
     [](const RowSize& size, Random& random) {
       Numbers numbers = each(size, [&](std::int64_t) { return below(random, 100); });
       for (std::int64_t i = 0; i < 2 * size.k + 100 && size.n > 0; ++i) numbers[random() % numbers.size()] = 100;
       return numbers;
     }},
    {"first ones in one chunk", kAll,
     [](const RowSize& size, Random& random) {
       return each(size, [&](std::int64_t i) {
         const bool is_in = i >= size.n / 2 && i < size.n / 2 + std::max<std::int64_t>(64, size.k);
         return is_in ? 100 + below(random, 20) : below(random, 50);
       });
     }},
    {"first ones in one lane", kAll,
     [](const RowSize& size, Random& random) {
       return each(size, [&](std::int64_t i) {
         return i % size.lanes == size.lanes - 1 ? 100 + below(random, 20) : below(random, 50);
       });
     }},
    {"equal upper halves", HardRow::Dtypes::k64Bits, nullptr,
     [](Random& random) -> std::uint64_t { return 0x3ff1'2345'0000'0000 | (random() & 0xffff'ffff); }},
    {"runs of equal upper halves", HardRow::Dtypes::k64Bits, nullptr,
     [](Random& random) -> std::uint64_t {
       const std::uint64_t upper = 0x3ff0'0000 + random() % 40;
       return upper << 32 | (random() % 3 == 0 ? random() & 0xffff'ffff : random() % 4);
     }},
    {"NaN in 1 of 1000", kFloats, with_nans<100>},
    {"NaN in half", kFloats, with_nans<50'000>},
    {"all NaN", kFloats, with_nans<100'000>},
    {"masked to fewer than k", kFloats,
     [](const RowSize& size, Random& random) {
       Numbers numbers(static_cast<std::size_t>(size.n), -kInfinity);
       for (std::int64_t i = 0; i < size.k / 2 && size.n > 0; ++i)
         numbers[random() % numbers.size()] = below(random, 7);
       return numbers;
     }},
    {"all greatest", kFloats,
     [](const RowSize& size, Random&) { return Numbers(static_cast<std::size_t>(size.n), kInfinity); }},
    {"mixed zeros", kFloats,
     [](const RowSize& size, Random& random) {
       constexpr double kValues[] = {0., -0., -1., 0., -0., 1.};
       return each(size, [&](std::int64_t) { return kValues[random() % 6]; });
     }},
    {"mixed zeros and NaN", kFloats,
     [](const RowSize& size, Random& random) {
       constexpr double kValues[] = {0., -0., -1., kNan, 1.};
       return each(size, [&](std::int64_t) { return kValues[random() % 5]; });
     }},
    {"mostly infinity, zeros and NaN", kFloats, mostly_infinite<1>},
    {"mostly -infinity, zeros and NaN", kFloats, mostly_infinite<-1>},
};

double greatest_of(DType dtype) {
  if (dtype == DType::kBool) return 1;
  if (dtype == DType::kF16) return 65504;
  if (is_float(dtype)) return 1e30;
  return std::ldexp(1, std::min(62, static_cast<int>(8 * size_bytes(dtype)) - 1)) - 1;
}

/// Makes the numbers ones that the dtype holds, in the same order.
void fit(Numbers& numbers, DType dtype) {
  double max_magnitude = 0;
  for (const double number : numbers) {
    if (std::isfinite(number)) max_magnitude = std::max(max_magnitude, std::abs(number));
  }
  const double scale = std::min(1., greatest_of(dtype) / max_magnitude);
  for (double& number : numbers) {
    if (scale < 1) number *= scale;
    if (!is_float(dtype)) number = dtype == DType::kBool ? std::abs(std::floor(number)) : std::floor(number);
  }
}

void write_number(DType dtype, double number, Random& random, std::byte* element) {
  if (is_float(dtype)) {
    reference::write_element(dtype, number, element);
  } else {
    reference::write_element(dtype, static_cast<reference::Int128>(number), element);
  }
  if (!std::isnan(number)) return;
  std::byte& last = element[size_bytes(dtype) - 1];
  if (random() % 2 == 0) last ^= std::byte{0x80};
  element[0] ^= static_cast<std::byte>(random() % 4);
}

}  // namespace

std::vector<HardRow> hard_rows(DType dtype) {
  std::vector<HardRow> rows;
  for (const HardRow& row : kHardRows) {
    if (row.dtypes == kFloats && !is_float(dtype)) continue;
    if (row.dtypes == HardRow::Dtypes::k64Bits && size_bytes(dtype) != 8) continue;
    rows.push_back(row);
  }
  return rows;
}

Tensor make_hard_rows(const HardRow& row, DType dtype, const reference::Extents& extents, std::size_t axis,
                      std::int64_t k, Random& random) {
  Tensor tensor(dtype, extents);
  const RowSize size = {extents[axis], k, random() % 2 == 0 ? 8 : 16};
  const std::int64_t stride = reference::row_major_strides(extents)[axis];
  reference::Extents rows = extents;
  rows[axis] = 1;
  if (tensor.num_elements() == 0) return tensor;
  reference::for_each_index(rows, [&](const reference::Extents& index) {
    const std::int64_t start = reference::offset_of(index, reference::row_major_strides(extents));
    Numbers numbers;
    if (row.numbers != nullptr) numbers = row.numbers(size, random);
    fit(numbers, dtype);
    for (std::int64_t i = 0; i < size.n; ++i) {
      std::byte* const element = tensor.element(start + i * stride);
      if (row.bits == nullptr) {
        write_number(dtype, numbers[static_cast<std::size_t>(i)], random, element);
        continue;
      }
      const std::uint64_t bits = dtype == DType::kBool ? row.bits(random) & 1 : row.bits(random);
      std::memcpy(element, &bits, size_bytes(dtype));
    }
  });
  return tensor;
}

}  // namespace millrace::test
