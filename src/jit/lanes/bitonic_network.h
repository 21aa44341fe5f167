// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "jit/lanes/bit_order.h"
#include "jit/lanes/lane_function.h"

namespace millrace {

/// Compares the elements of a power of two of vectors by the bits of their numbers. A bit has a place: in the number of
/// a lane, or in that of a vector. Elements that differ in a bit of vectors are compared by a minimum and a maximum of
/// whole vectors. A bit of lanes is brought there before, by regrouping pairs of vectors: that is one instruction a
/// vector, where comparing lanes of one vector takes two more than comparing vectors. In exchange goes the bit that was
/// compared last: bitonic networks need it again last (Belady, "A study of replacement algorithms", 1966).
class BitonicNetwork {
 public:
  /// places[i] is the bit at place i: those of a lane's number, and then those of a vector's. One vector's lanes have
  /// their own bits.
  BitonicNetwork(LaneBuilder& b, std::span<LaneValue> vectors, std::vector<int> places);

  /// Orders each two elements whose numbers differ in `bit` alone: the number that has it gets the greater.
  void compare(int bit) { compare(bit, false); }
  /// The same for elements that differ in all lower bits as well: the first comparison of two runs that ascend.
  void compare_mirrored(int bit) { compare(bit, true); }
  /// Puts the lowest bits back to lanes, emits what was asked for, and leaves vectors in the order of numbers. Call
  /// once, last, after comparing bit 0.
  void finish();

 private:
  /// What is done to each pair of vectors: they are regrouped, or compared.
  struct Step {
    int lower_bit;  // of vectors: the pair's first vector does not have it
    int distance;   // between the numbers of the pair
    int mirrored_lanes = 0;
    std::optional<BitOrder> order = {};
  };

  void compare(int bit, bool is_mirrored);
  int place_of(int bit) const;
  /// The places that have bits below this one, as a mask.
  int places_below(int bit) const;
  /// The order that brings what is at a lane's place to vectors, and the one that takes a bit to that place.
  BitOrder order_from(int place) const;
  BitOrder order_to(int place) const;
  BitOrder order_to_home() const;
  void regroup(BitOrder order);
  void take_home();
  void order_vectors();
  /// Emits the first steps of a vector, and what they need.
  void advance(int vector, std::size_t num_steps);
  void emit(const Step& step, LaneValue& low, LaneValue& high);

  LaneBuilder& b_;
  std::span<LaneValue> vectors_;
  int num_lane_places_, first_block_place_;  // a block is 128 bits
  std::vector<int> places_;
  int last_place_;  // one of vectors, that of the bit compared last
  std::vector<Step> steps_;
  std::vector<std::size_t> done_;  // by vector: its steps that were emitted
};

}  // namespace millrace
