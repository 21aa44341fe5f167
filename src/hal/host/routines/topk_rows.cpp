// SPDX-License-Identifier: Apache-2.0
#include "hal/host/routines/topk_rows.h"

#include <limits>

#include "hal/host/routines/sort_walk.h"
#include "millrace/base/check.h"

namespace millrace {
namespace {

/// Keys that are cheap to compare; see CoarseKeys.
template <class Key>
class CoarseOrder {
 public:
  explicit CoarseOrder(const TopkRowsParameters& p) : p_(p) {}

  /// The key that the generated functions give an element.
  Key key_of(std::uint64_t element) const {
    const unsigned unused = 64 - 8 * static_cast<unsigned>(p_.sort.element_bytes);
    std::int64_t key = static_cast<std::int64_t>(element << unused);
    key = p_.extends_sign != 0 ? key >> unused : static_cast<std::int64_t>(element);
    if (p_.is_bool != 0) key = key != 0;
    if (is_float()) key = (key ^ ((key >> 63) & p_.sort.magnitude_bits));
    const std::uint64_t moved = static_cast<std::uint64_t>(key) + static_cast<std::uint64_t>(p_.coarse_offset);
    return inverted(static_cast<Key>(moved ^ static_cast<std::uint64_t>(p_.sort.inverted_bits)));
  }

  /// Zeros of both signs are equal, and all NaNs.
  KeyRun<Key> run_of(Key key) const {
    if (!is_float()) return {key, key};
    const Key ascending = inverted(key);
    const auto zero = static_cast<Key>(p_.coarse_offset);
    const auto first_nan = static_cast<Key>(p_.coarse_offset + p_.sort.infinity_bits + 1);
    if (ascending == zero || ascending == zero - 1) return run(static_cast<Key>(zero - 1), zero);
    if (ascending >= first_nan) return run(first_nan, std::numeric_limits<Key>::max());
    return {key, key};
  }

 private:
  bool is_float() const { return p_.sort.magnitude_bits != 0; }
  Key inverted(Key key) const { return p_.sort.is_descending != 0 ? static_cast<Key>(~key) : key; }
  KeyRun<Key> run(Key first, Key last) const {
    if (p_.sort.is_descending != 0) return {static_cast<Key>(~last), static_cast<Key>(~first)};
    return {first, last};
  }

  const TopkRowsParameters& p_;
};

template <class Key>
class TopkWalk {
 public:
  TopkWalk(const void* code, const TopkRowsParameters& p, const KernelArgs& args)
      : p_(p),
        walk_(code, p.sort, args),
        order_(p),
        sorter_code_(sorter_code()),
        code_(selector_code()),
        selector_(code_, sorter_code_, walk_.sorter_memory(),
                  {memory<Key>(TopkRowsMemory::kMinima), memory<Key>(TopkRowsMemory::kGroups),
                   memory<Key>(TopkRowsMemory::kOther), memory<Key>(TopkRowsMemory::kPassing), found()},
                  {[this](Key key) { return order_.run_of(key); },
                   [this](Key*, std::int64_t count) { return reduce(count); }}) {}

  void run(std::int64_t row) {
    if (walk_.k() == 0) return;
    walk_.find_row(row);
    const std::int64_t num_found = selector_.select(walk_.place(SortTensor::kInput), walk_.n(), walk_.k());
    const StridedElements elements = sort_found(num_found);
    if (p_.sort.has_indices != 0) write_indices();
    walk_.write_values(elements, keys(), other());
  }

 private:
  template <class T>
  T* memory(std::int64_t offset) const {
    return reinterpret_cast<T*>(walk_.workgroup_memory() + offset);
  }
  std::int64_t* keys() const { return memory<std::int64_t>(TopkRowsMemory::kKeys); }
  std::int64_t* other() const { return memory<std::int64_t>(TopkRowsMemory::kOther); }
  Key* found() const { return memory<Key>(TopkRowsMemory::kFound); }

  RowSorterCode sorter_code() const {
    RowSorterCode code;
    for (std::size_t i = 0; i < code.sort_few.size(); ++i)
      code.sort_few[i] = walk_.template function<SortFew>(p_.sort_few[i]);
    code.partition_less = walk_.template function<PartitionKeys>(p_.partition_less);
    code.partition_at_most = walk_.template function<PartitionKeys>(p_.partition_at_most);
    code.num_lanes = p_.coarse_lanes;
    return code;
  }
  RowSelectorCode selector_code() const {
    return {walk_.template function<FindMinima>(p_.find_minima),
            walk_.template function<FoldMinima>(p_.fold_minima),
            walk_.template function<FilterKeys>(p_.filter_row),
            walk_.template function<FilterKeys>(p_.filter_minima),
            p_.coarse_lanes,
            p_.sort.element_bytes};
  }

  /// Sorts the keys of the elements found. Their indices are positions among them.
  StridedElements sort_found(std::int64_t count) {
    auto* const copies = memory<std::byte>(TopkRowsMemory::kElements);
    const StridedElements row = {walk_.place(SortTensor::kInput), 1, walk_.n()};
    for (std::int64_t i = 0; i < count; ++i) {
      const std::uint64_t bits = walk_.element(row, number(i));
      std::memcpy(copies + i * p_.sort.element_bytes, &bits, static_cast<std::size_t>(p_.sort.element_bytes));
    }
    const StridedElements elements = {copies, 1, count};
    walk_.sort(elements, keys(), other());
    return elements;
  }
  /// The number in its row of an element found.
  std::int64_t number(std::int64_t position) const {
    return static_cast<std::int64_t>(static_cast<std::make_unsigned_t<Key>>(found()[position]));
  }

  /// Keeps the first k of the elements found, in the row's order. Returns the k-th one's key.
  Key reduce(std::int64_t count) {
    const StridedElements elements = sort_found(count);
    const std::int64_t k = walk_.k();
    const Key last = order_.key_of(walk_.element(elements, walk_.index_of(keys()[k - 1])));
    for (std::int64_t i = 0; i < k; ++i) keys()[i] = walk_.index_of(keys()[i]);
    std::sort(keys(), keys() + k);
    for (std::int64_t i = 0; i < k; ++i) found()[i] = found()[keys()[i]];
    return last;
  }

  void write_indices() const {
    auto* const indices = reinterpret_cast<std::int64_t*>(walk_.place(SortTensor::kIndices));
    const std::int64_t stride = walk_.stride(SortTensor::kIndices);
    for (std::int64_t i = 0; i < walk_.k(); ++i) indices[i * stride] = number(walk_.index_of(keys()[i]));
  }

  const TopkRowsParameters& p_;
  SortWalk<std::int64_t> walk_;
  CoarseOrder<Key> order_;
  RowSorterCode sorter_code_;
  RowSelectorCode code_;
  RowSelector<Key> selector_;
};

template <class Key>
void take_groups(const void* code, const TopkRowsParameters& p, const KernelArgs& args, std::uint32_t first_group,
                 std::uint32_t end_group) {
  TopkWalk<Key> walk(code, p, args);
  for (std::uint32_t group = first_group; group < end_group; ++group) walk.run(group);
}

}  // namespace

void topk_rows(const void* code, std::span<const std::int64_t> parameters, const KernelArgs* args,
               std::uint32_t first_group, std::uint32_t end_group) {
  static_assert(std::is_standard_layout_v<TopkRowsParameters> && std::is_trivially_copyable_v<TopkRowsParameters>);
  MILLRACE_CHECK(parameters.size() * sizeof(std::int64_t) == sizeof(TopkRowsParameters));
  const auto& p = *reinterpret_cast<const TopkRowsParameters*>(parameters.data());
  const auto take = p.coarse_bytes == 8 ? take_groups<std::int64_t> : take_groups<std::int32_t>;
  take(code, p, *args, first_group, end_group);
}

}  // namespace millrace
