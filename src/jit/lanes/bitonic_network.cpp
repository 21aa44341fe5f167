// SPDX-License-Identifier: Apache-2.0
#include "jit/lanes/bitonic_network.h"

#include <algorithm>
#include <bit>
#include <tuple>
#include <utility>

#include "millrace/base/check.h"

namespace millrace {
namespace {

/// The lanes whose number has this bit.
std::uint64_t lanes_with(int num_lanes, int bit) {
  std::uint64_t lanes = 0;
  for (int lane = 0; lane < num_lanes; ++lane) {
    if ((lane & bit) != 0) lanes |= std::uint64_t{1} << lane;
  }
  return lanes;
}

}  // namespace

BitonicNetwork::BitonicNetwork(LaneBuilder& b, std::span<LaneValue> vectors, std::vector<int> places)
    : b_(b),
      vectors_(vectors),
      num_lane_places_(std::countr_zero(static_cast<unsigned>(b.num_lanes()))),
      first_block_place_(b.lane_bits() == 64 ? 1 : 2),
      places_(std::move(places)),
      last_place_(num_lane_places_),
      done_(vectors.size(), 0) {}

int BitonicNetwork::place_of(int bit) const {
  const auto place = std::ranges::find(places_, bit);
  MILLRACE_CHECK(place != places_.end());
  return static_cast<int>(place - places_.begin());
}

int BitonicNetwork::places_below(int bit) const {
  int mask = 0;
  for (int place = 0; place < std::ssize(places_); ++place) {
    if (places_[static_cast<std::size_t>(place)] < bit) mask |= 1 << place;
  }
  return mask;
}

void BitonicNetwork::compare(int bit, bool is_mirrored) {
  const int lane_mask = b_.num_lanes() - 1;
  if (vectors_.size() == 1) {
    const int lane_bit = 1 << place_of(bit), mirrored = is_mirrored ? places_below(bit) : 0;
    const LaneValue other = b_.unary(LaneOp::kXorLanes, vectors_[0], lane_bit | mirrored);
    vectors_[0] = b_.exchange(vectors_[0], other, lanes_with(b_.num_lanes(), lane_bit));
    return;
  }
  if (place_of(bit) < num_lane_places_) regroup(order_from(place_of(bit)));
  last_place_ = place_of(bit);
  const int lower_bit = 1 << (last_place_ - num_lane_places_), mirrored = is_mirrored ? places_below(bit) : 0;
  steps_.push_back({lower_bit, lower_bit | mirrored >> num_lane_places_, mirrored & lane_mask});
}

BitOrder BitonicNetwork::order_from(int place) const {
  // Those that are one instruction without a table: within blocks, and of blocks.
  const int n = b_.num_lanes();
  if (place < first_block_place_ && first_block_place_ == 2) {
    return place == 0 ? BitOrder::rotated_down(n, 0, 2) : BitOrder::rotated_up(n, 0, 2);
  }
  const bool is_lower_of_blocks = place >= first_block_place_ && place + 1 < num_lane_places_;
  return is_lower_of_blocks ? BitOrder::rotated_down(n, place, place + 2) : BitOrder::exchanged(n, place);
}

BitOrder BitonicNetwork::order_to(int place) const {
  const int n = b_.num_lanes();
  return place == 0 && first_block_place_ == 2 ? BitOrder::rotated_up(n, 0, 2) : BitOrder::exchanged(n, place);
}

/// Puts all lanes' bits back at once, of which one is at the place of the last comparison.
BitOrder BitonicNetwork::order_to_home() const {
  std::vector<int> from;
  for (int bit = 0; bit < num_lane_places_; ++bit) from.push_back(std::min(place_of(bit), num_lane_places_));
  const auto is_vectors_bit = [&](int bit) { return bit >= num_lane_places_; };
  from.push_back(static_cast<int>(std::ranges::find_if(places_, is_vectors_bit) - places_.begin()));
  return BitOrder(from);
}

void BitonicNetwork::regroup(BitOrder order) {
  const int lower_bit = 1 << (last_place_ - num_lane_places_);
  steps_.push_back({lower_bit, lower_bit, 0, order});
  const std::vector<int> before = places_;
  const auto bit_before = [&](int place) {
    const int from = order.bit_at(place);
    return before[static_cast<std::size_t>(from == num_lane_places_ ? last_place_ : from)];
  };
  for (int place = 0; place < num_lane_places_; ++place) places_[static_cast<std::size_t>(place)] = bit_before(place);
  places_[static_cast<std::size_t>(last_place_)] = bit_before(num_lane_places_);
}

void BitonicNetwork::take_home() {
  const auto in_hand = [&] { return places_[static_cast<std::size_t>(last_place_)]; };
  // AVX-512 has an instruction for any order.
  const bool is_one_step = b_.isa() == IsaLevel::kAvx512;
  while (in_hand() < num_lane_places_) regroup(is_one_step ? order_to_home() : order_to(in_hand()));
  for (int place = 0; place < num_lane_places_; ++place) MILLRACE_CHECK(place_of(place) == place);
}

void BitonicNetwork::finish() {
  if (vectors_.size() == 1) return;
  take_home();
  // Step by step, as long as registers hold all vectors and what a step makes of them. If they do not, vector by
  // vector: most of those that a vector does not need can wait in memory.
  const int num_registers = b_.isa() == IsaLevel::kAvx512 ? 32 : 16;
  const std::size_t first_step = 2 * std::ssize(vectors_) > num_registers ? steps_.size() : 1;
  for (std::size_t num_steps = first_step; num_steps <= steps_.size(); ++num_steps) {
    for (int vector = 0; vector < std::ssize(vectors_); ++vector) advance(vector, num_steps);
  }
  order_vectors();
}

void BitonicNetwork::order_vectors() {
  const std::vector<LaneValue> unordered(vectors_.begin(), vectors_.end());
  for (std::size_t i = 0; i < unordered.size(); ++i) {
    std::size_t number = 0;
    for (int place = num_lane_places_; place < std::ssize(places_); ++place) {
      const std::size_t is_set = i >> (place - num_lane_places_) & 1;
      number |= is_set << (places_[static_cast<std::size_t>(place)] - num_lane_places_);
    }
    vectors_[number] = unordered[i];
  }
}

void BitonicNetwork::advance(int vector, std::size_t num_steps) {
  std::size_t& done = done_[static_cast<std::size_t>(vector)];
  while (done < num_steps) {
    const Step& step = steps_[done];
    const int other = vector ^ step.distance;
    advance(other, done);
    const auto [low, high] = (vector & step.lower_bit) == 0 ? std::pair(vector, other) : std::pair(other, vector);
    emit(step, vectors_[static_cast<std::size_t>(low)], vectors_[static_cast<std::size_t>(high)]);
    ++done;
    ++done_[static_cast<std::size_t>(other)];
  }
}

void BitonicNetwork::emit(const Step& step, LaneValue& low, LaneValue& high) {
  if (step.order) {
    std::tie(low, high) = b_.regroup(low, high, *step.order);
    return;
  }
  if (step.mirrored_lanes != 0) high = b_.unary(LaneOp::kXorLanes, high, step.mirrored_lanes);
  const LaneValue least = b_.binary(LaneOp::kMin, low, high);
  high = b_.binary(LaneOp::kMax, low, high);
  low = least;
}

}  // namespace millrace
