// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "jit/lanes/microkernel_code.h"
#include "millrace/base/dtype.h"

namespace millrace {

/// What one lane holds of an element while its row is sorted: its coarse key (coarse_keys.h), or above the element's
/// index in 32 bits a key that orders like the sort: NaN is greatest, -0 equals +0, complemented if the largest come
/// first. Above an index, a key of 64 bits is halved: the upper half is there, and the routine sorts runs of equal
/// halves by the lower ones. Keys of 16 bits share a lane of 32 bits with the index if that is short.
struct LaneKeys {
  DType dtype = DType::kF32;  // of the elements
  bool largest = false;
  bool with_index = false;       // needs rows below 2^32
  bool has_short_index = false;  // needs rows up to kMostShortIndices, and elements of up to 16 bits

  static constexpr std::int64_t kMostShortIndices = 1 << 16;

  int index_bits() const { return has_short_index ? 16 : 32; }
  int lane_bits() const { return (with_index && !has_short_index) || size_bytes(dtype) == 8 ? 64 : 32; }
  bool are_halved() const { return with_index && size_bytes(dtype) == 8; }
};

/// How a load extends an element, so that integers order in a lane as they do in their dtype.
LaneElement element_of(DType);
/// 0 or 1 for a byte that may have any bits.
LaneValue true_is_one(LaneBuilder&, LaneValue);
/// Inverts the bits below the sign of negative floats, from bits to keys and back, and then all bits if `inverts_all`.
LaneValue turn_negative(LaneBuilder&, LaneValue, DType, bool inverts_all = false);

/// The bits of a float without its sign, and those of infinity.
std::int64_t magnitude_of(DType);
std::int64_t infinity_of(DType);
/// What is inverted so that elements order like signed lanes: the highest bit of wide unsigned ones; otherwise 0.
std::int64_t inverted_sign_of(DType);

// What each microkernel does: src/hal/host/routines/microkernels.inc.

MicrokernelCode<MakeKeys> make_keys_function(IsaLevel, const LaneKeys&);
/// The same for elements whose indices are given, as numbers of 4 or 8 bytes. Keys have indices.
MicrokernelCode<MakeNumberedKeys> make_numbered_keys_function(IsaLevel, const LaneKeys&, std::uint8_t number_bytes);
MicrokernelCode<SortFew> sort_few_function(IsaLevel, int lane_bits, int num_vectors);
/// The same from keys to their elements, if they are not halved, or to their indices.
enum class SortResult : std::uint8_t { kValues, kIndices };
MicrokernelCode<SortFew> sort_few_results_function(IsaLevel, const LaneKeys&, SortResult, int num_vectors);
/// For rows of `num_elements`, which 16 vectors hold, and keys without an index.
MicrokernelCode<SortValues> sort_values_function(IsaLevel, const LaneKeys&, int num_elements);
/// The same for keys with an index that are not halved.
MicrokernelCode<SortIndices> sort_indices_function(IsaLevel, const LaneKeys&, int num_elements);
/// Floats that are equal in the order of sorts though their bits differ.
enum class EqualFloats : std::uint8_t { kZeros, kNans };
MicrokernelCode<TakeRun> take_run_function(IsaLevel, DType, EqualFloats run);
enum class PartitionAt : std::uint8_t { kLess, kAtMost };
MicrokernelCode<PartitionKeys> partition_function(IsaLevel, int lane_bits, PartitionAt);
/// Makes keys, and puts those below the pivot first.
MicrokernelCode<PartitionElements> partition_elements_function(IsaLevel, const LaneKeys&);
/// Not for halved keys, which do not hold a value.
MicrokernelCode<WriteFromKeys> write_values_function(IsaLevel, const LaneKeys&);
MicrokernelCode<WriteFromKeys> write_indices_function(IsaLevel, const LaneKeys&);

}  // namespace millrace
