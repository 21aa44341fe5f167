// SPDX-License-Identifier: Apache-2.0
// The selection of elements that include the first k: which are found, and how much of the row is read.
#include "hal/host/routines/topk/row_selector.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <random>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "jit/lanes/select_microkernels.h"
#include "tests/jit/guarded_memory.h"
#include "tests/jit/lanes/lane_code.h"
#include "tests/jit/lanes/sorter_code.h"
#include "tests/support/kernels/evaluate_lanes.h"
#include "tests/support/sliced.h"

namespace millrace {
namespace {

using test::GuardedMemory;

bool executes(IsaLevel isa) { return std::ranges::count(host_lane_levels(), isa) > 0; }

/// The levels with lanes, if the host has one: code of the others is evaluated.
std::vector<IsaLevel> lane_levels() {
  if (host_lane_levels().empty()) return {};
  return {IsaLevel::kAvx2, IsaLevel::kAvx512};
}

/// A function for each number, so that its address identifies what it evaluates.
template <int kNumber, class Pointer>
struct Evaluated;
template <int kNumber, class... Arguments>
struct Evaluated<kNumber, std::byte* (*)(Arguments...)> {
  static inline LaneFunction function;
  static std::byte* call(Arguments... arguments) {
    const auto integer_of = []<class Argument>(Argument argument) {
      if constexpr (std::is_pointer_v<Argument>) return reinterpret_cast<std::int64_t>(argument);
      if constexpr (std::is_integral_v<Argument>) return argument;
    };
    return reinterpret_cast<std::byte*>(evaluate_lanes(function, {integer_of(arguments)...}));
  }
};

/// Replaces the number of a function that was kept by the address of what evaluates it.
template <int kNumber, class Function>
void evaluate(const KeptLanes& kept, Microkernel<Function>& microkernel) {
  using Evaluation = Evaluated<kNumber, typename Function::Pointer>;
  Evaluation::function = kept[microkernel];
  microkernel.offset = reinterpret_cast<std::int64_t>(&Evaluation::call);
}

/// The functions for a level, from a null entry: as code, or evaluated where the host does not execute the level.
RowSelectorCode selector_of(IsaLevel isa, const LaneKeys& keys, MappedLanes& mapped) {
  TopkRowsParameters p{};
  if (executes(isa)) {
    append_selection(p, mapped.sink(isa), keys, {});
    return p.selector;
  }
  KeptLanes kept;
  append_selection(p, kept.sink(isa), keys, {});
  evaluate<0>(kept, p.selector.find_minima);
  evaluate<1>(kept, p.selector.find_column_minima);
  evaluate<2>(kept, p.selector.fold_minima);
  evaluate<3>(kept, p.selector.fold_four_minima);
  evaluate<4>(kept, p.selector.match_minima);
  evaluate<5>(kept, p.selector.list_chunks);
  evaluate<6>(kept, p.selector.find_passing);
  evaluate<7>(kept, p.selector.match_elements);
  evaluate<8>(kept, p.selector.filter_row);
  evaluate<9>(kept, p.selector.filter_whole_row);
  return p.selector;
}

/// Where the elements of a row are computed, but with nothing to do.
template <class Key>
std::byte* compute_copies(void* to, std::int64_t count, const void* from, const void*, const void*, const void*) {
  std::memcpy(to, from, static_cast<std::size_t>(count) * sizeof(Key));
  return static_cast<std::byte*>(to) + count * static_cast<std::int64_t>(sizeof(Key));
}

enum class Elements { kInMemory, kComputed };

/// Selects from rows of i32 or i64 in ascending order, whose keys are the elements themselves.
template <class Key>
class Selection {
 public:
  explicit Selection(IsaLevel isa)
      : code_(selector_of(isa, kKeys, mapped_)), sorter_(executes(isa) ? isa : host_lane_levels().front(), kBits) {}

  struct Outcome {
    std::vector<Key> numbers;
    std::int64_t elements_read = 0;
    int num_reductions = 0;
  };
  Outcome select(const std::vector<Key>& row, std::int64_t k, Elements kind = Elements::kInMemory) {
    using Selector = RowSelector<Key>;
    const auto guarded = [](std::int64_t bytes) {
      return GuardedMemory(static_cast<std::size_t>(bytes), GuardedMemory::Side::kEnd);
    };
    const GuardedMemory minima = guarded(Selector::kMinimaBytes), groups = guarded(Selector::kMinimaBytes),
                        other = guarded(Selector::kMinimaBytes), passing = guarded(Selector::kPassingBytes),
                        found = guarded(Selector::max_found(k) * static_cast<std::int64_t>(sizeof(Key))),
                        fixed = guarded(SortRowsParameters::kFixedBytes),
                        elements = guarded(static_cast<std::int64_t>(row.size() * sizeof(Key))),
                        piece = guarded(RowLoader::kPieceBytes), some = guarded(RowLoader::kSomeBytes);
    std::ranges::copy(row, as_keys(elements));
    Outcome outcome;
    const auto reduce = [&](Key* numbers, std::int64_t count) {
      ++outcome.num_reductions;
      std::sort(numbers, numbers + count,
                [&](Key a, Key b) { return row[at(a)] != row[at(b)] ? row[at(a)] < row[at(b)] : a < b; });
      return row[at(numbers[k - 1])];
    };
    Selector selector(nullptr, code_, sorter_.code(), {fixed.data(), fixed.data() + RowSorterMemory::kSampleBytes},
                      {as_keys(minima), as_keys(groups), as_keys(other), as_keys(passing), as_keys(found)},
                      {[](Key key) { return KeyRun<Key>{key, key}; }, reduce});
    RowLoadParameters parameters{};
    parameters.num_operands = parameters.num_sources = parameters.num_dims = 1;
    parameters.computed_bytes = parameters.element_bytes[0] = sizeof(Key);
    void* const buffers[] = {elements.data()};
    const std::int64_t sizes[] = {0, 1, 0};  // where the first row begins, and that it is the only one
    RowLoader loader(reinterpret_cast<const void*>(&compute_copies<Key>), parameters,
                     {nullptr, nullptr, buffers, sizes});
    loader.select_row(0);
    const RowReader reader = kind == Elements::kComputed ? RowReader(loader, piece.data(), some.data(), sizeof(Key))
                                                         : RowReader(elements.data(), sizeof(Key));
    const std::int64_t count = selector.select(reader, static_cast<std::int64_t>(row.size()), k);
    outcome.numbers.assign(as_keys(found), as_keys(found) + count);
    outcome.elements_read = selector.elements_read();
    return outcome;
  }

 private:
  static constexpr int kBits = 8 * sizeof(Key);
  static constexpr LaneKeys kKeys = {.dtype = sizeof(Key) == 8 ? DType::kI64 : DType::kI32, .with_index = true};
  static Key* as_keys(const GuardedMemory& memory) { return reinterpret_cast<Key*>(memory.data()); }
  static std::size_t at(Key number) { return static_cast<std::size_t>(number); }

  MappedLanes mapped_;
  RowSelectorCode code_;
  SorterCode sorter_;
};

struct Row {
  std::string_view name;
  std::function<std::int64_t(std::int64_t i, std::int64_t n, std::mt19937_64& random)> key;
};

/// The first k of the found elements are the first k of the row.
template <class Key>
void check_first(const std::vector<Key>& row, std::int64_t k, std::vector<Key> found) {
  REQUIRE(std::ssize(found) >= k);
  std::vector<Key> expected(row.size());
  for (std::size_t i = 0; i < row.size(); ++i) expected[i] = static_cast<Key>(i);
  const auto before = [&](Key a, Key b) {
    const Key left = row[static_cast<std::size_t>(a)], right = row[static_cast<std::size_t>(b)];
    return left != right ? left < right : a < b;
  };
  std::ranges::sort(expected, before);
  std::ranges::sort(found, before);
  CHECK(std::equal(found.begin(), found.begin() + k, expected.begin()));
}

template <class Key>
void check_rows(IsaLevel isa) {
  using I = std::int64_t;
  using R = std::mt19937_64;
  const std::vector<Row> rows = {
      {"random", [](I, I, R& random) { return static_cast<I>(random() % 1'000'000'000); }},
      {"ascending", [](I i, I, R&) { return i; }},
      {"descending", [](I i, I n, R&) { return n - i; }},
      {"descending in steps", [](I i, I n, R&) { return (n - i) / 100; }},
      {"descending in long steps", [](I i, I n, R&) { return (n - i) / 700; }},
      {"equal", [](I, I, R&) { return I{5}; }},
      {"least", [](I, I, R&) { return I{std::numeric_limits<Key>::min()}; }},
      {"greatest", [](I, I, R&) { return I{std::numeric_limits<Key>::max()}; }},
      {"two values", [](I, I, R& random) { return static_cast<I>(random() % 2); }},
      {"few below the rest", [](I i, I, R&) { return i % 9001 == 17 ? i % 5 : 1000; }},
      {"sawtooth", [](I i, I, R&) { return -(i % 4001); }},
      // Ties of which columns find too many when most of them are read. A few are read in order first then.
      {"late ties",
       [](I i, I n, R&) {
         const I eighth = n / 128 * 128 / 8;
         const bool is_last = i >= 7 * eighth && i < 8 * eighth;
         const bool is_before = i >= 7 * eighth - 60 && i < 7 * eighth;
         return i < 5 || is_before || (is_last && i % 6 != 0) ? I{0} : 1000 + i % 100;
       }},
  };
  Selection<Key> selection(isa);
  for (const Row& shape : rows) {
    for (const std::int64_t n : {1000, 7935, 20'000, 300'000}) {
      for (const std::int64_t k : {1, 30, 1000, 4000}) {
        if (k > n) continue;
        CAPTURE(shape.name);
        CAPTURE(n);
        CAPTURE(k);
        std::mt19937_64 random(3);
        std::vector<Key> row;
        for (std::int64_t i = 0; i < n; ++i) row.push_back(static_cast<Key>(shape.key(i, n, random)));
        const auto outcome = selection.select(row, k);
        check_first(row, k, outcome.numbers);
        check_first(row, k, selection.select(row, k, Elements::kComputed).numbers);
        // Every element once, at most once more where an element passes, and once more where too many passed.
        CHECK(outcome.elements_read <= (shape.name == "late ties" ? 3 : 2) * n + 1024);
        // Each follows at least k + 128 found elements, or a block.
        CHECK(outcome.num_reductions <= n / (k + 128) + 1);
        if (k < 100 && n == 300'000 && shape.name != "descending") CHECK(outcome.elements_read < n + n / 4);
      }
    }
  }
}

/// A row whose smallest elements are all at `num_places` places where a sample reads neighbours, as
/// RowSelector::sample() chooses them.
std::vector<std::int32_t> row_that_misleads(std::int64_t n, std::int64_t num_places) {
  constexpr std::int64_t kNeighbours = 16;
  const std::int64_t stride = n / num_places;
  std::vector<std::int32_t> row(static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < n; ++i)
    row[static_cast<std::size_t>(i)] = 1'000'000 + static_cast<std::int32_t>(i % 977);
  for (std::int64_t i = 0; i < num_places; ++i) {
    const std::uint32_t random = (static_cast<std::uint32_t>(i) + 1) * 0x9e3779b1U;
    const std::uint64_t place = static_cast<std::uint64_t>(random) * static_cast<std::uint64_t>(stride - kNeighbours);
    const std::int64_t first = i * stride + static_cast<std::int64_t>(place >> 32);
    for (std::int64_t j = 0; j < kNeighbours; ++j) {
      row[static_cast<std::size_t>(first + j)] = static_cast<std::int32_t>(i * kNeighbours + j);
    }
  }
  return row;
}

TEST_CASE("a row is read again if fewer elements than are wanted reach the limit of a sample") {
  constexpr std::int64_t n = 300'000;
  for (const IsaLevel isa : lane_levels()) {
    for (const auto& [k, num_sampled] : {std::pair{4000, 1024 * num_lanes_of(isa, 32)}, std::pair{60, 1024}}) {
      CAPTURE(to_text(isa));
      CAPTURE(k);
      const std::vector<std::int32_t> row = row_that_misleads(n, num_sampled / 16);
      Selection<std::int32_t> selection(isa);
      const auto outcome = selection.select(row, k);
      CHECK(outcome.elements_read > 2 * n);
      std::vector<std::int32_t> found, expected = row;
      for (const std::int32_t number : outcome.numbers) found.push_back(row[static_cast<std::size_t>(number)]);
      REQUIRE(std::ssize(found) >= k);
      std::ranges::sort(found);
      std::ranges::sort(expected);
      CHECK(std::equal(found.begin(), found.begin() + k, expected.begin()));
    }
  }
}

TEST_CASE("first elements in one lane of a row are spread over groups") {
  constexpr std::int64_t n = 8400, k = 300;
  for (const IsaLevel isa : lane_levels()) {
    const std::int64_t lanes = num_lanes_of(isa, 32);
    std::mt19937_64 random(3);
    std::vector<std::int32_t> row;
    for (std::int64_t i = 0; i < n; ++i) {
      const bool is_first = i % lanes == 3;
      row.push_back(static_cast<std::int32_t>(random() % 1'000'000) + (is_first ? 0 : 1'000'000));
    }
    const auto outcome = Selection<std::int32_t>(isa).select(row, k);
    CAPTURE(to_text(isa));
    // Lanes rotate: otherwise so many elements pass that the found ones are sorted in between.
    CHECK(outcome.num_reductions == 0);
    CHECK(outcome.elements_read < 2 * n);
  }
}

TEST_CASE("columns of equal elements are found up to the capacity") {
  for (const IsaLevel isa : lane_levels()) {
    const std::int64_t lanes = num_lanes_of(isa, 32);
    Selection<std::int32_t> selection(isa);
    std::mt19937_64 random(3);
    for (const std::int64_t n : {8400, 20'000, 32'767}) {
      for (const std::int64_t k : {300, 512, 1000, 1024}) {
        for (const std::int64_t one_of : {1, 2, 3, 4}) {
          CAPTURE(to_text(isa));
          CAPTURE(n);
          CAPTURE(k);
          CAPTURE(one_of);
          const std::int64_t num_columns = n / (8 * lanes), pitch = num_columns * lanes;
          std::vector<std::int32_t> row;
          for (std::int64_t i = 0; i < n; ++i) {
            // What is behind the columns ties too.
            const bool ties = i >= 8 * pitch || i % pitch / lanes % one_of == 0;
            row.push_back(static_cast<std::int32_t>(ties ? random() % 4 == 0 : 50 + i % 100));
          }
          check_first(row, k, selection.select(row, k).numbers);
        }
      }
    }
  }
}

TEST_CASE("the first elements of a row of 32-bit keys are found" * test::Sliced()) {
  for (const IsaLevel isa : lane_levels()) check_rows<std::int32_t>(isa);
}
TEST_CASE("the first elements of a row of 64-bit keys are found" * test::Sliced()) {
  for (const IsaLevel isa : lane_levels()) check_rows<std::int64_t>(isa);
}

}  // namespace
}  // namespace millrace
