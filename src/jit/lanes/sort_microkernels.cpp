// SPDX-License-Identifier: Apache-2.0
// Builds the microkernels of a sort of longer rows: keys, partitions and results.
#include "jit/lanes/sort_microkernels.h"

namespace millrace {
namespace {

/// Appends the keys in the mask `low` at `to_low`, and those in `high` at `to_high`. `mask` is given for the remainder
/// of a row; keys outside it are ignored.
void append_parts(LaneBuilder& b, int to_low, int to_high, LaneValue keys, LaneValue low, LaneValue high,
                  LaneValue mask) {
  const bool is_rest = mask != kNoLaneValue;
  low = b.within(low, mask);
  high = b.within(high, mask);
  b.append(to_low, keys, low, is_rest);
  b.append(to_high, keys, high, is_rest);
  // AVX2 needs no prefetch: its vectors take so long to fill a cache line that the next line arrives in time.
  if (is_rest || b.isa() != IsaLevel::kAvx512) return;
  b.prefetch_to_append(to_low);
  b.prefetch_to_append(to_high);
}

MicrokernelCode<MakeKeys> make_keys(IsaLevel isa, const LaneKeys& keys) {
  enum { kRow, kKeys, kCount, kFirst };
  LaneBuilder b(isa, keys.lane_bits());
  RowKeys row(b, keys, kRow, kFirst);
  b.for_vectors(kCount, [&](LaneValue mask) {
    b.store(kKeys, 0, row.next(mask), mask);
    b.advance(kKeys, b.vector_bytes());
  });
  return {b.finish_with_any(row.lost())};
}

MicrokernelCode<MakeNumberedKeys> make_numbered_keys(IsaLevel isa, const LaneKeys& keys, int number_bits) {
  enum { kElements, kNumbers, kKeys, kCount };
  LaneBuilder b(isa, keys.lane_bits());
  const LaneElement element = element_of(keys.dtype), number = {static_cast<std::uint8_t>(number_bits / 8), false};
  const LaneValue lost = b.variable(b.constant(0));
  b.for_vectors(kCount, [&](LaneValue mask) {
    const LaneValue key = exact_key(b, b.load_some(kElements, element, mask), keys, lost);
    b.store(kKeys, 0, with_index(b, key, b.load_some(kNumbers, number, mask), keys), mask);
    b.advance(kElements, b.vector_bytes(element));
    b.advance(kNumbers, b.vector_bytes(number));
    b.advance(kKeys, b.vector_bytes());
  });
  return {b.finish_with_any(lost)};
}

/// Floats that a sort treats as equal although their bits differ.
enum class EqualFloats : std::uint8_t { kZeros, kNans };

MicrokernelCode<TakeRun> take_run(IsaLevel isa, DType dtype, EqualFloats run) {
  enum { kRow, kTaken, kCount };
  LaneBuilder b(isa, lane_bits_of(dtype));
  const auto load = [&](LaneValue mask) { return b.load_next(kRow, element_of(dtype), mask); };
  b.for_loaded_vectors(kCount, load, [&](LaneValue x, LaneValue mask) {
    const LaneValue magnitude = b.binary(LaneOp::kAnd, x, b.constant(magnitude_of(dtype)));
    const LaneValue is_taken = run == EqualFloats::kZeros
                                   ? b.binary(LaneOp::kEqual, magnitude, b.constant(0))
                                   : b.binary(LaneOp::kLess, b.constant(infinity_of(dtype)), magnitude);
    b.append(kTaken, x, b.within(is_taken, mask), mask != kNoLaneValue);
  });
  return {b.finish_with(kTaken)};
}

enum class PartitionAt : std::uint8_t { kLess, kAtMost };

MicrokernelCode<PartitionKeys> partition_keys(IsaLevel isa, int lane_bits, PartitionAt at) {
  enum { kData, kLow, kHigh, kCount, kPivot };
  LaneBuilder b(isa, lane_bits);
  const LaneValue pivot = b.broadcast(kPivot);
  const auto load = [&](LaneValue mask) { return b.load_next(kData, b.lane_element(), mask); };
  b.for_loaded_vectors(kCount, load, [&](LaneValue keys, LaneValue mask) {
    const bool is_less = at == PartitionAt::kLess;
    const LaneValue first = is_less ? b.binary(LaneOp::kLess, keys, pivot) : b.binary(LaneOp::kLess, pivot, keys);
    const LaneValue second = b.invert(first);
    append_parts(b, kLow, kHigh, keys, is_less ? first : second, is_less ? second : first, mask);
  });
  return {b.finish_with(kLow)};
}

/// Makes keys, and partitions them by the pivot.
MicrokernelCode<PartitionElements> partition_elements(IsaLevel isa, const LaneKeys& keys) {
  enum { kElements, kLow, kHigh, kCount, kPivot, kFirst };
  LaneBuilder b(isa, keys.lane_bits());
  RowKeys row(b, keys, kElements, kFirst);
  const LaneValue pivot = b.broadcast(kPivot);
  const auto load = [&](LaneValue mask) {
    b.prefetch_ahead(kElements, 0);
    return row.next(mask);
  };
  b.for_loaded_vectors(kCount, load, [&](LaneValue key, LaneValue mask) {
    const LaneValue low = b.binary(LaneOp::kLess, key, pivot);
    append_parts(b, kLow, kHigh, key, low, b.invert(low), mask);
  });
  return {b.finish_with_any(row.lost(), kLow)};
}

MicrokernelCode<WriteFromKeys> write_values(IsaLevel isa, const LaneKeys& keys) {
  enum { kKeys, kValues, kCount };
  LaneBuilder b(isa, keys.lane_bits());
  const LaneElement element = element_of(keys.dtype);
  b.for_vectors(kCount, [&](LaneValue mask) {
    const LaneValue key = b.load_some(kKeys, b.lane_element(), mask);
    b.store(kValues, 0, element, value_of(b, key, keys), mask);
    b.advance(kKeys, b.vector_bytes());
    b.advance(kValues, b.vector_bytes(element));
  });
  return {b.finish_with(kValues)};
}

MicrokernelCode<WriteFromKeys> write_indices(IsaLevel isa, const LaneKeys& of_keys) {
  enum { kKeys, kIndices, kCount };
  LaneBuilder b(isa, of_keys.lane_bits());
  b.for_vectors(kCount, [&](LaneValue mask) {
    const LaneValue keys = b.load_some(kKeys, b.lane_element(), mask);
    store_indices(b, kIndices, 0, keys, of_keys, mask, mask == kNoLaneValue ? mask : b.broadcast(kCount));
    b.advance(kKeys, b.vector_bytes());
    b.advance(kIndices, b.num_lanes() * kIndexBytes);
  });
  return {b.finish_with(kIndices)};
}

}  // namespace

RowSorterCode append_sorter(const MicrokernelSink& sink, int lane_bits, const SorterFunctions& functions) {
  RowSorterCode code{};
  code.num_lanes = num_lanes_of(sink.isa, lane_bits);
  append_networks(code, sink, lane_bits, functions);
  if (!functions.merges || !functions.partitions) return code;
  code.partition_less = sink.append(partition_keys(sink.isa, lane_bits, PartitionAt::kLess));
  code.partition_at_most = sink.append(partition_keys(sink.isa, lane_bits, PartitionAt::kAtMost));
  return code;
}

void append_sort(SortRowsParameters& p, const MicrokernelSink& sink, const LaneKeys& keys, const SortFunctions& f) {
  const IsaLevel isa = sink.isa;
  if (f.keys) p.make_keys = sink.append(make_keys(isa, keys));
  if (f.splits) p.partition_elements = sink.append(partition_elements(isa, keys));
  if (f.sorter) p.sorter = append_sorter(sink, keys.lane_bits(), f.sorter_functions);
  p.sorter.num_lanes = num_lanes_of(isa, keys.lane_bits());
  if (p.writes_sorted != 0) append_networks(p.writer, sink, keys);
  if (f.runs && is_float(keys.dtype) && !keys.with_index) {
    p.take_zeros = sink.append(take_run(isa, keys.dtype, EqualFloats::kZeros));
    p.take_nans = sink.append(take_run(isa, keys.dtype, EqualFloats::kNans));
  }
  if (!f.results) return;
  // A truncated key does not hold the whole value.
  if (p.has_values != 0 && !keys.are_truncated()) p.write_values = sink.append(write_values(isa, keys));
  if (p.has_indices != 0) p.write_indices = sink.append(write_indices(isa, keys));
  p.writer.write = keys.with_index ? p.write_indices : p.write_values;
  p.writer.result_bytes = keys.with_index ? kIndexBytes : p.element_bytes;
  p.writer.writes_indices = keys.with_index;
}

Microkernel<MakeNumberedKeys> append_make_numbered_keys(const MicrokernelSink& sink, const LaneKeys& keys,
                                                        int number_bits) {
  return sink.append(make_numbered_keys(sink.isa, keys, number_bits));
}

}  // namespace millrace
