// SPDX-License-Identifier: Apache-2.0
// Which elements of a row, which groups and which chunks reach a limit, against the order of the numbers.
#include "jit/lanes/select_microkernels.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <random>
#include <tuple>
#include <vector>

#include <doctest/doctest.h>

#include "jit/lanes/body_lanes.h"
#include "tests/jit/lanes/lane_code.h"
#include "tests/reference/numbers.h"
#include "tests/support/kernels/evaluate_lanes.h"

namespace millrace {
namespace {

constexpr std::int64_t kVectors = RowSelectorCode::kVectorsPerChunk;
constexpr DType kArithmetic[] = {DType::kI8,  DType::kI16, DType::kI32, DType::kI64,  DType::kU8,  DType::kU16,
                                 DType::kU32, DType::kU64, DType::kF16, DType::kBF16, DType::kF32, DType::kF64};

std::int64_t address_of(const void* memory) { return reinterpret_cast<std::int64_t>(memory); }

/// Evaluates the function, and runs its code too if the host executes the level. Calls check() after each.
template <class Check>
void run(IsaLevel isa, const LaneFunction& function, const std::array<std::int64_t, kMaxLaneArguments>& arguments,
         const Check& check) {
  check(evaluate_lanes(function, arguments));
  if (std::ranges::count(host_lane_levels(), isa) > 0) check(LaneCode(function).run(arguments));
}

/// The functions for keys of elements, and what a RowSelector calls them.
struct SelectorLanes {
  KeptLanes lanes;
  RowSelectorCode code;
};
const SelectorLanes& selector_of(IsaLevel isa, const CoarseKeys& keys) {
  static std::map<std::tuple<IsaLevel, DType, bool>, SelectorLanes> all;
  const auto [found, is_new] = all.try_emplace({isa, keys.dtype, keys.largest});
  if (is_new) {
    TopkRowsParameters p{};
    append_selection(p, found->second.lanes.sink(isa), {keys.dtype, keys.largest, true}, {});
    found->second.code = p.selector;
  }
  return found->second;
}
template <class Function>
const LaneFunction& function_of(IsaLevel isa, const CoarseKeys& keys, Microkernel<Function> RowSelectorCode::* field) {
  const SelectorLanes& selector = selector_of(isa, keys);
  return selector.lanes[selector.code.*field];
}

/// A row of whole chunks that has every kind of element, many of them more than once.
struct KeyedRow {
  KeyedRow(IsaLevel isa, const CoarseKeys& keys, std::int64_t num_chunks, std::mt19937_64& random)
      : keys(keys), lanes(num_lanes_of(isa, keys.lane_bits())), num_chunks(num_chunks) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    constexpr double kNumbers[] = {0, 1, 2, 100, 127, 3.0e4, 6.1e-5, 6.0e-8, 1e-40, 65504, 1e38, 1e300, 1e-310};
    const std::size_t bytes = size_bytes(keys.dtype);
    for (std::int64_t i = 0; i < num_chunks * kVectors * lanes; ++i) {
      std::byte element[8] = {};
      if (is_float(keys.dtype) && random() % 2 == 0) {
        const double number = random() % 4 == 0 ? kInfinity : kNumbers[random() % std::size(kNumbers)];
        reference::write_element(keys.dtype, random() % 5 == 0 ? std::nan("") : number, element);
        if (random() % 2 == 0) element[bytes - 1] ^= std::byte{0x80};
        if (std::isnan(number_of(element))) element[0] ^= static_cast<std::byte>(random() % 4);
      } else {
        const std::uint64_t bits = random() % 3 == 0 ? random() % 4 - 2 : random();
        std::memcpy(element, &bits, sizeof(bits));
      }
      memory.insert(memory.end(), element, element + bytes);
    }
  }

  long double number_of(const std::byte* element) const {
    return reference::read_element<long double>(keys.dtype, element);
  }
  const std::byte* element(std::int64_t i) const {
    return memory.data() + i * static_cast<std::int64_t>(size_bytes(keys.dtype));
  }
  long double number(std::int64_t i) const { return number_of(element(i)); }
  std::int64_t size() const { return num_chunks * kVectors * lanes; }
  /// Whether element i is at most the number in the order of the sort, in which a NaN is above all.
  bool is_at_most(std::int64_t i, long double limit) const {
    const long double x = number(i);
    if (keys.largest) return std::isnan(x) || x >= limit;
    return std::isnan(limit) || x <= limit;
  }
  /// The greatest key of the elements that equal element i in the order of the sort: of any NaN, or of zeros.
  std::int64_t limit_of(std::int64_t i, IsaLevel isa) const {
    const auto key_of_number = [&](double x) {
      std::byte element[8] = {};
      reference::write_element(keys.dtype, x, element);
      return key_of(element, isa);
    };
    if (std::isnan(number(i))) {
      if (keys.largest) return key_of_number(std::numeric_limits<double>::infinity()) - 1;
      return std::numeric_limits<std::int64_t>::max() >> (64 - keys.lane_bits());
    }
    const bool is_zero = is_float(keys.dtype) && number(i) == 0;
    return is_zero ? std::max(key_of_number(0), key_of_number(-0.)) : key_of(element(i), isa);
  }
  std::int64_t key_of(const std::byte* element, IsaLevel isa) const {
    std::vector<std::byte> same;
    for (std::int64_t j = 0; j < kVectors * lanes; ++j) {
      same.insert(same.end(), element, element + size_bytes(keys.dtype));
    }
    std::int64_t minima[16] = {};
    evaluate_lanes(function_of(isa, keys, &RowSelectorCode::find_minima),
                   {address_of(same.data()), address_of(minima), kVectors * lanes});
    if (keys.lane_bits() == 64) return minima[0];
    std::int32_t key;
    std::memcpy(&key, minima, sizeof(key));
    return key;
  }

  CoarseKeys keys;
  std::int64_t lanes, num_chunks;
  std::vector<std::byte> memory;
};

bool bit_of(const std::vector<std::byte>& masks, std::int64_t vector, std::int64_t lane, std::int64_t lanes) {
  const std::int64_t byte = vector * mask_bytes_of(static_cast<int>(lanes)) + lane / 8;
  return (std::to_integer<int>(masks[static_cast<std::size_t>(byte)]) >> lane % 8 & 1) != 0;
}

/// The integer `i` of memory that has one for each lane.
std::int64_t lane_at(const std::vector<std::int64_t>& memory, std::int64_t i, int lane_bits) {
  if (lane_bits == 64) return memory[static_cast<std::size_t>(i)];
  std::int32_t value;
  std::memcpy(&value, reinterpret_cast<const std::byte*>(memory.data()) + 4 * i, sizeof(value));
  return value;
}

template <class Check>
void for_each_limit(const Check& check) {
  std::mt19937_64 random(7);
  for (const IsaLevel isa : {IsaLevel::kAvx2, IsaLevel::kAvx512}) {
    for (const DType dtype : kArithmetic) {
      for (const bool largest : {false, true}) {
        const KeyedRow row(isa, {dtype, largest}, 3, random);
        for (int repeat = 0; repeat < 20; ++repeat) {
          const auto i = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(row.size()));
          CAPTURE(to_text(isa));
          CAPTURE(to_text(dtype));
          CAPTURE(largest);
          CAPTURE(static_cast<double>(row.number(i)));
          check(isa, row, row.number(i), row.limit_of(i, isa));
        }
      }
    }
  }
}

TEST_CASE("elements up to a limit are those not beyond it in the order of the sort") {
  for_each_limit([](IsaLevel isa, const KeyedRow& row, long double number, std::int64_t limit) {
    // Chunks in rotation: the last one's vectors, then those of the first.
    std::vector<std::int64_t> steps(16);
    const std::int64_t step[] = {kVectors * (row.num_chunks - 1), -kVectors * row.num_chunks};
    for (std::int64_t i = 0; i < 2; ++i) {
      std::memcpy(reinterpret_cast<std::byte*>(steps.data()) + i * row.keys.lane_bits() / 8, &step[i],
                  static_cast<std::size_t>(row.keys.lane_bits() / 8));
    }
    std::vector<std::byte> masks(64);
    const std::int64_t pitch = row.lanes * static_cast<std::int64_t>(size_bytes(row.keys.dtype));
    run(isa, function_of(isa, row.keys, &RowSelectorCode::match_elements),
        {address_of(row.memory.data()), address_of(masks.data()), 2 * row.lanes, address_of(steps.data()), limit,
         pitch},
        [&](std::int64_t) {
          std::int64_t num_wrong = 0;
          for (std::int64_t vector = 0; vector < 2 * kVectors; ++vector) {
            const std::int64_t from = vector < kVectors ? (row.num_chunks - 1) * kVectors + vector : vector - kVectors;
            for (std::int64_t lane = 0; lane < row.lanes; ++lane) {
              const bool is_up_to = row.is_at_most(from * row.lanes + lane, number);
              num_wrong += bit_of(masks, vector, lane, row.lanes) != is_up_to ? 1 : 0;
            }
          }
          CHECK(num_wrong == 0);
        });
  });
}

TEST_CASE("groups that reach a limit are those with an element that reaches it") {
  for_each_limit([](IsaLevel isa, const KeyedRow& row, long double number, std::int64_t limit) {
    std::vector<std::int64_t> expected, numbers(static_cast<std::size_t>(row.num_chunks * row.lanes + 16));
    for (std::int64_t group = 0; group < row.num_chunks * row.lanes; ++group) {
      bool passes = false;
      for (std::int64_t i = 0; i < kVectors; ++i) {
        const std::int64_t vector = group / row.lanes * kVectors + i;
        passes = passes || row.is_at_most(vector * row.lanes + group % row.lanes, number);
      }
      if (passes) expected.push_back(100 + group);
    }
    run(isa, function_of(isa, row.keys, &RowSelectorCode::find_passing),
        {address_of(row.memory.data()), address_of(numbers.data()), row.size(), 100, limit}, [&](std::int64_t end) {
          const std::int64_t lane_bytes = row.keys.lane_bits() / 8;
          std::vector<std::int64_t> found;
          for (std::int64_t i = 0; i < (end - address_of(numbers.data())) / lane_bytes; ++i) {
            found.push_back(lane_at(numbers, i, row.keys.lane_bits()));
          }
          CHECK(found == expected);
        });
  });
}

TEST_CASE("a group's smallest key is up to a limit if an element of the group is") {
  for_each_limit([](IsaLevel isa, const KeyedRow& row, long double number, std::int64_t limit) {
    // Group g of a chunk has lane g of each vector. Lanes rotate, except for computed elements.
    const auto check = [&](const std::vector<std::int64_t>& minima, bool turns, bool has_columns) {
      std::int64_t num_wrong = 0;
      for (std::int64_t group = 0; group < row.num_chunks * row.lanes; ++group) {
        const std::int64_t chunk = group / row.lanes;
        bool is_up_to = false;
        for (std::int64_t i = 0; i < kVectors; ++i) {
          const std::int64_t vector = has_columns ? i * row.num_chunks + chunk : chunk * kVectors + i;
          const std::int64_t lane = group % row.lanes ^ (turns ? RowSelectorCode::lane_xor(static_cast<int>(i)) : 0);
          is_up_to = is_up_to || row.is_at_most(vector * row.lanes + lane, number);
        }
        num_wrong += (lane_at(minima, group, row.keys.lane_bits()) <= limit) != is_up_to ? 1 : 0;
      }
      CHECK(num_wrong == 0);
    };
    std::vector<std::int64_t> minima(static_cast<std::size_t>(row.num_chunks * row.lanes));
    const std::int64_t from = address_of(row.memory.data()), to = address_of(minima.data());
    run(isa, function_of(isa, row.keys, &RowSelectorCode::find_minima), {from, to, row.size()},
        [&](std::int64_t) { check(minima, true, false); });
    const std::int64_t vector_bytes = row.lanes * static_cast<std::int64_t>(size_bytes(row.keys.dtype));
    run(isa, function_of(isa, row.keys, &RowSelectorCode::find_column_minima),
        {from, to, row.num_chunks * row.lanes, row.num_chunks * vector_bytes},
        [&](std::int64_t) { check(minima, true, true); });
    ComputedElements same;
    BodyBuilder b;
    b.yield(b.load(0, body_dtype(row.keys.dtype)));
    same.sources = {{row.keys.dtype}};
    same.body = b.finish();
    same.dtype = row.keys.dtype;
    if (!compute_elements_function(isa, same).ok() || lane_bits_of(same.body).value() != row.keys.lane_bits()) return;
    KeptLanes lanes;
    TopkRowsParameters p{};
    append_selection(p, lanes.sink(isa), {row.keys.dtype, row.keys.largest, true}, {.computed = &same});
    run(isa, lanes[p.selector.find_computed_minima], {to, row.size(), from},
        [&](std::int64_t) { check(minima, false, false); });
  });
}

TEST_CASE("chunks whose smallest key is up to the limit are listed") {
  std::mt19937_64 random(9);
  for (const IsaLevel isa : {IsaLevel::kAvx2, IsaLevel::kAvx512}) {
    for (const int lane_bits : {32, 64}) {
      const CoarseKeys keys = {lane_bits == 64 ? DType::kI64 : DType::kI32};
      const std::int64_t lanes = num_lanes_of(isa, lane_bits), mask_bytes = mask_bytes_of(static_cast<int>(lanes));
      for (const std::int64_t num_chunks : {1, 3, 4, 7, 8, 9, 31, 100, 512}) {
        CAPTURE(to_text(isa));
        CAPTURE(lane_bits);
        CAPTURE(num_chunks);
        // One lane in 20 passes, so that there are chunks with none, one and more.
        std::vector<std::int64_t> minima(static_cast<std::size_t>(num_chunks * lanes));
        std::vector<std::byte> as_lanes(static_cast<std::size_t>(num_chunks * lanes * lane_bits / 8));
        for (std::size_t i = 0; i < minima.size(); ++i) {
          minima[i] = random() % 20 == 0 ? -static_cast<std::int64_t>(random() % 3) : 1 + random() % 3;
          const std::size_t bytes = static_cast<std::size_t>(lane_bits) / 8;
          std::memcpy(&as_lanes[i * bytes], &minima[i], bytes);
        }
        std::vector<std::byte> masks(static_cast<std::size_t>(num_chunks * mask_bytes));
        run(isa, function_of(isa, keys, &RowSelectorCode::match_minima),
            {address_of(as_lanes.data()), address_of(masks.data()), num_chunks * lanes, 0}, [&](std::int64_t) {
              std::int64_t num_wrong = 0;
              for (std::int64_t i = 0; i < num_chunks * lanes; ++i) {
                const bool is_up_to = minima[static_cast<std::size_t>(i)] <= 0;
                num_wrong += bit_of(masks, i / lanes, i % lanes, lanes) != is_up_to ? 1 : 0;
              }
              CHECK(num_wrong == 0);
            });
        std::vector<std::int64_t> expected, numbers(static_cast<std::size_t>(num_chunks + 16));
        for (std::int64_t chunk = 0; chunk < num_chunks; ++chunk) {
          const auto first = minima.begin() + chunk * lanes;
          if (*std::min_element(first, first + lanes) <= 0) expected.push_back(chunk);
        }
        run(isa, function_of(isa, keys, &RowSelectorCode::list_chunks),
            {address_of(masks.data()), address_of(numbers.data()), num_chunks}, [&](std::int64_t end) {
              std::vector<std::int64_t> found;
              for (std::int64_t i = 0; i < (end - address_of(numbers.data())) / (lane_bits / 8); ++i) {
                found.push_back(lane_at(numbers, i, lane_bits));
              }
              CHECK(found == expected);
            });
      }
    }
  }
}

}  // namespace
}  // namespace millrace
