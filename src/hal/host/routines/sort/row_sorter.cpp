// SPDX-License-Identifier: Apache-2.0
// Sorts a row of keys: splits it at pivots down to what a network sorts in registers, or sorts it by digits.
#include "hal/host/routines/sort/row_sorter.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "hal/host/routines/prefetch.h"
#include "hal/host/routines/sort/upper_digits.h"

namespace millrace {
namespace {

/// A split that leaves less than 1 / kBadFraction of the keys on one side is bad.
constexpr std::int64_t kBadFraction = 8;
/// The minimum and maximum number of keys that are sorted by their upper digits. Partitioning fewer keys takes less
/// time than iterating over the counts. More keys, such as a million, are sorted faster if partitions split them before
/// digits are used. With vectors of kWideVectorBytes, partitions are faster for any number of keys.
constexpr std::int64_t kMinForDigits = 4096, kMaxForDigits = 128 << 10, kWideVectorBytes = 64;

}  // namespace

template <class Key>
void RowSorter<Key>::sort(const SplitKeys<Key>& keys, std::int64_t wanted, Rest rest) {
  // The smaller part is sorted first, so that at most one part per bit of the count waits, plus the first high part.
  std::array<Part, 65> waiting;
  std::size_t num_waiting = 0;
  const std::int32_t log2 = std::bit_width(static_cast<std::uint64_t>(keys.count));
  const Part all{keys.keys, keys.other, keys.count, 0, true, 2 * log2};
  Part part = low_part(all, keys.num_low);
  if (keys.num_low < keys.count) waiting[num_waiting++] = high_part(all, keys.num_low);
  while (true) {
    if (part.first >= wanted || part.count <= code_.max_short() || part.bad_splits_left == 0 ||
        (part.first + part.count <= wanted && prefers_digits(part.count))) {
      finish(part, wanted, rest);
      if (num_waiting == 0) return;
      part = waiting[--num_waiting];
      continue;
    }
    const Key pivot = choose_pivot(part.count, [&](std::int64_t place, Key* to) {
      std::memcpy(to, part.data() + place, static_cast<std::size_t>(code_.num_lanes) * sizeof(Key));
    });
    const std::int64_t num_low = split(part, code_.partition_less, pivot);
    Part low = low_part(part, num_low), high = high_part(part, num_low);
    if (num_low * kBadFraction < part.count) {
      // The pivot is among the lowest keys. Keys equal to it are in their places once they are split off.
      const std::int64_t num_equal = split(high, code_.partition_at_most, pivot);
      write(high.place, high.first, num_equal, wanted);
      high = high_part(high, num_equal);
    }
    if (std::max(low.count, high.count) > part.count - part.count / kBadFraction) {
      --low.bad_splits_left;
      --high.bad_splits_left;
    }
    if (low.count < high.count) std::swap(low, high);
    waiting[num_waiting++] = low;
    part = high;
  }
}

template <class Key>
void RowSorter<Key>::sort_to(const SplitKeys<Key>& keys, std::int64_t wanted, const SortedWriter& writer,
                             std::byte* results) {
  // For a short row, sorting at once is faster than the general path.
  if (keys.num_low == keys.count && keys.count > 0 && keys.count <= std::min(wanted, code_.max_short())) {
    return sort_short(writer, keys.keys, results, keys.count);
  }
  writer_ = &writer;
  results_ = results;
  sort(keys, wanted);
  writer_ = nullptr;
}

template <class Key>
void RowSorter<Key>::finish(const Part& part, std::int64_t wanted, Rest rest) {
  if (part.first >= wanted) {
    if (rest == Rest::kKept && !part.is_in_place) std::copy_n(part.other, part.count, part.place);
    return;
  }
  if (part.count > code_.max_short()) {
    if (parts_ == KeyParts::kUpperHalf) return sort_by_upper_digits(part, wanted);
    sort_by_all_digits(part);
  } else if (writer_ != nullptr && part.count > 0 && part.first + part.count <= wanted) {
    std::byte* const results = results_ + part.first * writer_->result_bytes;
    prefetch_to_write(results, part.count * writer_->result_bytes);
    return sort_short(*writer_, part.data(), results, part.count);
  } else if (part.count > 0) {
    sort_short(code_, part.data(), part.place, part.count);
  }
  write(part.place, part.first, part.count, wanted);
}

template <class Key>
void RowSorter<Key>::write(const Key* keys, std::int64_t first, std::int64_t count, std::int64_t wanted) {
  if (writer_ == nullptr || first >= wanted) return;
  at(writer_->write)(keys, results_ + first * writer_->result_bytes, std::min(count, wanted - first));
}

template <class Key>
void RowSorter<Key>::sort_in_registers(const Key* from, Key* to, std::int64_t count) {
  keys_read_ += count;
  at(code_.sort_in_registers[network_of(count)])(from, to, count);
}

template <class Key>
template <class Code>
void RowSorter<Key>::sort_short(const Code& code, Key* from, void* to, std::int64_t count) {
  keys_read_ += count;
  const std::int64_t max = code_.max_network_keys();
  if (count <= max) {
    at(code.sort_in_registers[network_of(count)])(from, to, count);
    return;
  }
  if (count <= code_.max_merged()) {
    sort_in_registers(from, from, max);
    sort_in_registers(from + max, from + max, count - max);
    at(code.merge_runs[count <= max + max / 2 ? 0 : 1])(from, to, count);
    return;
  }
  // Sort and merge four runs, the last padded with maximum keys.
  const std::int64_t half = code_.max_merged(), more = count - half;
  Key* const keys = reinterpret_cast<Key*>(memory_.sample);
  std::fill_n(keys + count, code_.max_short() - count, std::numeric_limits<Key>::max());
  for (std::int64_t i = 0; i < count; i += max) sort_in_registers(from + i, keys + i, std::min(max, count - i));
  at(code_.merge_runs[1])(keys, keys, half);
  if (more > max) at(code_.merge_runs[more <= max + max / 2 ? 0 : 1])(keys + half, keys + half, more);
  at(code_.exchange_halves)(keys);
  at(code_.merge_bitonic)(keys);
  at(code_.merge_bitonic)(keys + half);
  write_short(code, keys, to, count);
}

template <class Key>
std::size_t RowSorter<Key>::network_of(std::int64_t count) const {
  const auto vectors = static_cast<std::uint64_t>((count + code_.num_lanes - 1) / code_.num_lanes);
  return static_cast<std::size_t>(std::bit_width(vectors - 1));
}

template <class Key>
std::int64_t RowSorter<Key>::split(const Key* from, std::int64_t count, Key pivot, Key* low, Key* high) {
  keys_read_ += count;
  return reinterpret_cast<const Key*>(at(code_.partition_less)(from, low, high, count, pivot)) - low;
}

template <class Key>
std::int64_t RowSorter<Key>::split(const Part& part, Microkernel<PartitionKeys> partition, Key pivot) {
  keys_read_ += part.count;
  const std::byte* end = at(partition)(part.data(), part.place, part.other, part.count, pivot);
  return reinterpret_cast<const Key*>(end) - part.place;
}

template <class Key>
void RowSorter<Key>::divide(const SplitKeys<Key>& keys, std::span<const Key> cuts, Key* to, std::uint32_t* starts) {
  divide_split({keys.keys, keys.other, keys.count, 0, true, 0}, keys.num_low, cuts, to, starts);
  starts[cuts.size() + 1] = static_cast<std::uint32_t>(keys.count);
}

template <class Key>
void RowSorter<Key>::divide_split(const Part& part, std::int64_t num_low, std::span<const Key> cuts, Key* to,
                                  std::uint32_t* starts) {
  const std::size_t middle = cuts.size() / 2;
  divide_part(low_part(part, num_low), cuts.first(middle), to, starts);
  divide_part(high_part(part, num_low), cuts.subspan(middle + 1), to, starts + middle + 1);
}

template <class Key>
void RowSorter<Key>::divide_part(const Part& part, std::span<const Key> cuts, Key* to, std::uint32_t* starts) {
  if (part.count == 0) {
    std::fill_n(starts, cuts.size() + 1, static_cast<std::uint32_t>(part.first));
  } else if (cuts.empty()) {
    *starts = static_cast<std::uint32_t>(part.first);
    std::copy_n(part.data(), part.count, to + part.first);
  } else if (cuts.size() == 1) {
    // The lower keys go directly to their bucket.
    const std::int64_t num_low = split(part.data(), part.count, cuts[0], to + part.first, part.other);
    std::copy_n(part.other, part.count - num_low, to + part.first + num_low);
    starts[0] = static_cast<std::uint32_t>(part.first);
    starts[1] = static_cast<std::uint32_t>(part.first + num_low);
  } else {
    // Prefetch the memory that the next two splits write.
    constexpr std::ptrdiff_t kMaxBytes = 256 << 10;  // leaves room in an L2 cache for the keys being split
    const std::ptrdiff_t bytes = part.count * std::ptrdiff_t{sizeof(Key)};
    if (cuts.size() <= 3) prefetch_to_write(to + part.first, std::min(bytes, kMaxBytes));
    divide_split(part, split(part, code_.partition_less, middle_of(cuts)), cuts, to, starts);
  }
}

template <class Key>
typename RowSorter<Key>::Part RowSorter<Key>::low_part(const Part& part, std::int64_t num_low) {
  return {part.place, part.other + (part.count - num_low), num_low, part.first, true, part.bad_splits_left};
}

template <class Key>
typename RowSorter<Key>::Part RowSorter<Key>::high_part(const Part& part, std::int64_t num_low) {
  return {part.place + num_low, part.other, part.count - num_low, part.first + num_low, false, part.bad_splits_left};
}

template <class Key>
bool RowSorter<Key>::prefers_digits(std::int64_t count) const {
  const bool are_vectors_narrow = code_.num_lanes * static_cast<std::int64_t>(sizeof(Key)) < kWideVectorBytes;
  return parts_ == KeyParts::kUpperHalf && are_vectors_narrow && count >= kMinForDigits && count <= kMaxForDigits;
}

template <class Key>
void RowSorter<Key>::sort_by_all_digits(const Part& part) {
  using Unsigned = std::make_unsigned_t<Key>;
  constexpr unsigned kDigitBits = 8;
  auto* const counts = reinterpret_cast<std::uint64_t*>(memory_.counts);
  const Key* from = part.data();
  Key* to = part.is_in_place ? part.other : part.place;
  for (unsigned shift = 0; shift < 8 * sizeof(Key); shift += kDigitBits) {
    const auto digit = [&](Key key) {
      const auto ordered = static_cast<Unsigned>(static_cast<Unsigned>(key) ^ Unsigned{1} << (8 * sizeof(Key) - 1));
      return ordered >> shift & 0xff;
    };
    std::fill_n(counts, 256, 0);
    for (std::int64_t i = 0; i < part.count; ++i) ++counts[digit(from[i])];
    std::uint64_t position = 0;
    for (std::size_t value = 0; value < 256; ++value) position += std::exchange(counts[value], position);
    for (std::int64_t i = 0; i < part.count; ++i) to[counts[digit(from[i])]++] = from[i];
    keys_read_ += 2 * part.count;
    Key* const moved = to;
    to = moved == part.place ? part.other : part.place;
    from = moved;
  }
  if (from != part.place) std::copy_n(from, part.count, part.place);
}

template <class Key>
void RowSorter<Key>::sort_by_upper_digits(const Part& part, std::int64_t wanted) {
  static_assert(UpperDigits<Key>::kCountBytes <= RowSorterMemory::kCountBytes);
  UpperDigits<Key> digits(part.data(), part.is_in_place ? part.other : part.place, part.count, memory_.counts);
  if (writer_ != nullptr && writer_->writes_indices != 0 && part.first + part.count <= wanted) {
    digits.sort_to(reinterpret_cast<std::int64_t*>(results_) + part.first);
  } else {
    if (const Key* const sorted = digits.sort(); sorted != part.place) std::copy_n(sorted, part.count, part.place);
    write(part.place, part.first, part.count, wanted);
  }
  keys_read_ += digits.keys_read();
}

template class RowSorter<std::int32_t>;
template class RowSorter<std::int64_t>;

}  // namespace millrace
