// SPDX-License-Identifier: Apache-2.0
// Finds and sorts the first k elements of each row, or part of a row.
#include "hal/host/routines/topk/topk_rows.h"

#include "hal/host/routines/routine.h"
#include "hal/host/routines/sort/sort_walk.h"
#include "hal/host/routines/topk/coarse_order.h"
#include "hal/host/routines/topk/short_topk.h"

namespace millrace {
namespace {

template <class Key>
class TopkWalk {
 public:
  TopkWalk(const void* code, const TopkRowsParameters& p, const KernelArgs& args)
      : p_(p),
        walk_(code, p.sort, args, KeyParts::kWhole),  // found elements are not in index order
        order_(p),
        memory_(p.max_found),
        code_(code),
        selector_(code, p.selector, p.sorter, walk_.sorter_memory(),
                  {memory<Key>(memory_.minima), memory<Key>(memory_.groups), memory<Key>(memory_.other),
                   memory<Key>(memory_.passing), memory<Key>(memory_.found)},
                  {[this](Key key) { return order_.run_of(key); },
                   [this](Key* found, std::int64_t count) { return reduce(found, count); }}) {}

  void run(std::int64_t first_group, std::int64_t end_group) {
    if (walk_.k() == 0) return;
    if (walk_.num_parts() > 1) return run_parts(first_group, end_group);
    walk_.for_blocks(first_group, end_group, [this](std::int64_t first, std::int64_t end) { run_rows(first, end); });
  }

 private:
  void run_rows(std::int64_t first_row, std::int64_t end_row) {
    if (ShortSelector<Key>::takes(walk_.n(), walk_.k(), p_.selector.num_lanes)) return run_short(first_row, end_row);
    for (std::int64_t row = first_row; row < end_row; ++row) {
      walk_.select_row(walk_.place_of(row));
      if (walk_.loader().is_used()) walk_.loader().select_row(row);
      run_long(walk_.n());
    }
  }
  void run_parts(std::int64_t first_group, std::int64_t end_group) {
    const std::int64_t num_parts = walk_.num_parts();
    for (std::int64_t group = first_group; group < end_group; ++group) {
      const std::int64_t row = group / num_parts;
      const std::int64_t count = walk_.select_part(walk_.place_of(row), group % num_parts);
      if (walk_.loader().is_used()) walk_.loader().select_row(row, walk_.first_index());
      run_long(count);
    }
  }
  /// Selects from `count` contiguous elements.
  void run_long(std::int64_t count) {
    auto* const found = memory<Key>(memory_.found);
    const bool has_special_floats = sort_found(found, selector_.select(reader(), count, walk_.k()));
    walk_.write_results(elements(), keys(), has_special_floats);
  }
  template <class T>
  T* memory(std::int64_t offset) const {
    return reinterpret_cast<T*>(walk_.workgroup_memory() + offset);
  }
  std::int64_t* keys() const { return memory<std::int64_t>(memory_.keys); }
  std::int64_t* other() const { return memory<std::int64_t>(memory_.other); }
  const std::byte* input() const { return walk_.place(SortTensor::kInput); }

  void run_short(std::int64_t first_row, std::int64_t end_row) {
    ShortTopk<Key>(code_, p_, walk_,
                   {{memory<Key>(memory_.minima), memory<Key>(memory_.passing)},
                    memory<Key>(memory_.found),
                    memory<std::byte>(memory_.elements),
                    keys(),
                    other(),
                    memory<std::byte>(memory_.computed)})
        .run(first_row, end_row);
  }
  StridedElements elements() { return {walk_.loader().is_used() ? nullptr : input(), 1, walk_.n()}; }
  RowReader reader() {
    if (!walk_.loader().is_used()) return {input(), p_.sort.element_bytes};
    return {walk_.loader(), memory<std::byte>(memory_.computed), memory<std::byte>(memory_.computed_some),
            p_.sort.element_bytes};
  }

  /// Sorts the keys of the elements found, so that the first k are in order. Returns whether there is a -0 or a NaN.
  bool sort_found(const Key* numbers, std::int64_t count) {
    auto* const copies = memory<std::byte>(memory_.elements);
    reader().copy(numbers, count, copies);
    const bool has_special_floats = p_.make_numbered_keys.at(code_)(copies, numbers, keys(), count) != 0;
    walk_.sort_keys(elements(), keys(), other(), count);
    return has_special_floats;
  }
  /// The index of an element, which a lane holds as an unsigned integer.
  static std::int64_t number(Key lane) {
    return static_cast<std::int64_t>(static_cast<std::make_unsigned_t<Key>>(lane));
  }

  /// Keeps the first k of the elements found. Returns the k-th one's key.
  Key reduce(Key* found, std::int64_t count) {
    sort_found(found, count);
    const std::int64_t k = walk_.k();
    for (std::int64_t i = 0; i < k; ++i) found[i] = static_cast<Key>(walk_.index_of(keys()[i]));
    return order_.key_of(walk_.element(elements(), number(found[k - 1])));
  }

  const TopkRowsParameters& p_;
  SortWalk<std::int64_t> walk_;
  CoarseOrder<Key> order_;
  TopkRowsMemory memory_;
  const void* code_;
  RowSelector<Key> selector_;
};

}  // namespace

void topk_rows(const void* code, std::span<const std::int64_t> parameters, const KernelArgs* args,
               std::uint32_t first_group, std::uint32_t end_group) {
  const auto& p = parameters_of<TopkRowsParameters>(parameters);
  p.coarse_bytes == 8 ? TopkWalk<std::int64_t>(code, p, *args).run(first_group, end_group)
                      : TopkWalk<std::int32_t>(code, p, *args).run(first_group, end_group);
}

}  // namespace millrace
