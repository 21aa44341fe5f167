// SPDX-License-Identifier: Apache-2.0
// Appends the comparisons of a sorting network over the lanes of some vectors.
#include "jit/lanes/sorting_network.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <optional>
#include <tuple>
#include <utility>

#include "jit/lanes/bit_order.h"
#include "millrace/base/check.h"

namespace millrace {
namespace {

/// Puts the minimum of each lane into `low`, and the maximum into `high`.
void order_pair(LaneBuilder& b, LaneValue& low, LaneValue& high) {
  const LaneValue min = b.binary(LaneOp::kMin, low, high);
  high = b.binary(LaneOp::kMax, low, high);
  low = min;
}

/// Merges two adjacent sorted runs of `run` elements each, the first at `begin`. Elements from `num_elements` on do not
/// exist.
void add_merge(std::vector<Comparator>& comparators, int begin, int run, int num_elements) {
  const int end = std::min(begin + 2 * run, num_elements);
  for (int distance = run; distance >= 1; distance /= 2) {
    for (int first = begin + distance % run; first + distance < end; first += 2 * distance) {
      for (int i = first; i < first + distance && i + distance < end; ++i) comparators.push_back({i, i + distance});
    }
  }
}

int bits_for(std::int64_t count) { return std::countr_zero(static_cast<std::uint64_t>(count)); }

/// The lanes whose index has this bit.
std::uint64_t lanes_with(int num_lanes, int bit) {
  std::uint64_t lanes = 0;
  for (int lane = 0; lane < num_lanes; ++lane) {
    if ((lane & bit) != 0) lanes |= std::uint64_t{1} << lane;
  }
  return lanes;
}

/// A bitonic network over the elements of 2^n vectors. It compares elements whose indices differ in one bit, one bit at
/// a time. Each bit of an element's index has a place: in the lane's index or in the vector's index. Elements that
/// differ in a vector bit are compared by a minimum and a maximum of whole vectors. A lane bit first becomes a vector
/// bit: regrouping pairs of vectors takes one instruction per vector, whereas comparing lanes of one vector would take
/// two more. The lane bit changes places with the bit that was compared last, because the network needs that bit again
/// later than any other (Belady, "A study of replacement algorithms", 1966).
class BitonicNetwork {
 public:
  /// places[i] is the bit at place i; the places of a lane's index come first, then those of a vector's. With a single
  /// vector, lanes keep their own bits.
  BitonicNetwork(LaneBuilder& b, std::span<LaneValue> vectors, std::vector<int> places)
      : b_(b),
        vectors_(vectors),
        num_lane_places_(bits_for(b.num_lanes())),
        first_block_place_(b.lane_bits() == 64 ? 1 : 2),
        places_(std::move(places)),
        last_place_(num_lane_places_),
        done_(vectors.size(), 0) {}

  /// Orders each pair of elements whose indices differ only in `bit`; the element whose index has the bit gets the
  /// maximum. If `is_mirrored`, the indices differ in all lower bits too; the first step that merges two ascending runs
  /// needs this.
  void compare(int bit, bool is_mirrored = false) {
    if (vectors_.size() == 1) {
      const int lane_bit = 1 << place_of(bit), mirrored = is_mirrored ? places_below(bit) : 0;
      const LaneValue other = b_.unary(LaneOp::kXorLanes, vectors_[0], lane_bit | mirrored);
      vectors_[0] = b_.exchange(vectors_[0], other, lanes_with(b_.num_lanes(), lane_bit));
      return;
    }
    if (place_of(bit) < num_lane_places_) regroup(order_from(place_of(bit)));
    last_place_ = place_of(bit);
    const int lower_bit = 1 << (last_place_ - num_lane_places_), mirrored = is_mirrored ? places_below(bit) : 0;
    steps_.push_back({lower_bit, lower_bit | mirrored >> num_lane_places_, mirrored & (b_.num_lanes() - 1)});
  }

  /// Moves the lowest bits back to lanes, emits all steps, and puts the vectors in the order of their indices. Call
  /// once, last, after comparing bit 0.
  void finish() {
    if (vectors_.size() == 1) return;
    take_home();
    // Emits step by step if all vectors and the results of a step fit in registers. Otherwise emits vector by vector,
    // so that most vectors can wait in memory.
    const int num_registers = b_.isa() == IsaLevel::kAvx512 ? 32 : 16;
    const std::size_t first_step = 2 * std::ssize(vectors_) > num_registers ? steps_.size() : 1;
    for (std::size_t num_steps = first_step; num_steps <= steps_.size(); ++num_steps) {
      for (std::size_t vector = 0; vector < vectors_.size(); ++vector) advance(vector, num_steps);
    }
    order_vectors();
  }

 private:
  /// An operation on each pair of vectors: regroups them, or compares them.
  struct Step {
    int lower_bit;  // a bit of the vectors' indices, clear in the pair's first vector
    int distance;   // between the indices of the pair
    int mirrored_lanes = 0;
    std::optional<BitOrder> order = {};
  };

  int& bit_at(int place) { return places_[static_cast<std::size_t>(place)]; }
  int place_of(int bit) const {
    const auto place = std::ranges::find(places_, bit);
    MILLRACE_CHECK(place != places_.end());
    return static_cast<int>(place - places_.begin());
  }
  /// The places of the bits lower than `bit`, as a mask.
  int places_below(int bit) {
    int mask = 0;
    for (int place = 0; place < std::ssize(places_); ++place) {
      if (bit_at(place) < bit) mask |= 1 << place;
    }
    return mask;
  }

  /// The order that moves the bit at a lane place to the vectors' place. One instruction without a table does this,
  /// because it moves lanes within blocks of 128 bits, or whole blocks.
  BitOrder order_from(int place) const {
    const int n = b_.num_lanes();
    if (place < first_block_place_ && first_block_place_ == 2) {
      return place == 0 ? BitOrder::rotated_down(n, 0, 2) : BitOrder::rotated_up(n, 0, 2);
    }
    const bool is_lower_of_blocks = place >= first_block_place_ && place + 1 < num_lane_places_;
    return is_lower_of_blocks ? BitOrder::rotated_down(n, place, place + 2) : BitOrder::exchanged(n, place);
  }
  /// The order that moves the vectors' bit to a lane place.
  BitOrder order_to(int place) const {
    const int n = b_.num_lanes();
    return place == 0 && first_block_place_ == 2 ? BitOrder::rotated_up(n, 0, 2) : BitOrder::exchanged(n, place);
  }
  /// The order that moves all bits of lane indices back to their own places in one step. One of these bits is at the
  /// vector place of the last comparison.
  BitOrder order_to_home() const {
    std::vector<int> from;
    for (int bit = 0; bit < num_lane_places_; ++bit) from.push_back(std::min(place_of(bit), num_lane_places_));
    const auto is_vectors_bit = [&](int bit) { return bit >= num_lane_places_; };
    from.push_back(static_cast<int>(std::ranges::find_if(places_, is_vectors_bit) - places_.begin()));
    return BitOrder(from);
  }

  void regroup(BitOrder order) {
    const int lower_bit = 1 << (last_place_ - num_lane_places_);
    steps_.push_back({lower_bit, lower_bit, 0, order});
    const std::vector<int> before = places_;
    const auto bit_before = [&](int place) {
      const int from = order.bit_at(place);
      return before[static_cast<std::size_t>(from == num_lane_places_ ? last_place_ : from)];
    };
    for (int place = 0; place < num_lane_places_; ++place) bit_at(place) = bit_before(place);
    bit_at(last_place_) = bit_before(num_lane_places_);
  }
  void take_home() {
    // AVX-512 has an instruction for any order.
    const bool is_one_step = b_.isa() == IsaLevel::kAvx512;
    while (bit_at(last_place_) < num_lane_places_) {
      regroup(is_one_step ? order_to_home() : order_to(bit_at(last_place_)));
    }
    for (int place = 0; place < num_lane_places_; ++place) MILLRACE_CHECK(place_of(place) == place);
  }

  void order_vectors() {
    const std::vector<LaneValue> unordered(vectors_.begin(), vectors_.end());
    for (std::size_t i = 0; i < unordered.size(); ++i) {
      std::size_t number = 0;
      for (int place = num_lane_places_; place < std::ssize(places_); ++place) {
        number |= (i >> (place - num_lane_places_) & 1) << (bit_at(place) - num_lane_places_);
      }
      vectors_[number] = unordered[i];
    }
  }

  /// Emits the first `num_steps` steps of a vector, and the steps of other vectors that they need.
  void advance(std::size_t vector, std::size_t num_steps) {
    while (done_[vector] < num_steps) {
      const Step& step = steps_[done_[vector]];
      const std::size_t other = vector ^ static_cast<std::size_t>(step.distance);
      advance(other, done_[vector]);
      const bool is_low = (vector & static_cast<std::size_t>(step.lower_bit)) == 0;
      emit(step, vectors_[is_low ? vector : other], vectors_[is_low ? other : vector]);
      ++done_[vector];
      ++done_[other];
    }
  }
  void emit(const Step& step, LaneValue& low, LaneValue& high) {
    if (step.order) {
      std::tie(low, high) = b_.regroup(low, high, *step.order);
      return;
    }
    if (step.mirrored_lanes != 0) high = b_.unary(LaneOp::kXorLanes, high, step.mirrored_lanes);
    order_pair(b_, low, high);
  }

  LaneBuilder& b_;
  std::span<LaneValue> vectors_;
  int num_lane_places_, first_block_place_;
  std::vector<int> places_;
  int last_place_;  // the vector place of the bit compared last
  std::vector<Step> steps_;
  std::vector<std::size_t> done_;  // by vector: the number of its emitted steps
};

}  // namespace

std::vector<Comparator> sorting_network(int num_elements) {
  std::vector<Comparator> comparators;
  const int size = static_cast<int>(std::bit_ceil(static_cast<unsigned>(num_elements)));
  // Merges two runs as soon as both are sorted, because few runs fit in registers.
  for (int end = 2; end <= size; end += 2) {
    for (int run = 1; end % (2 * run) == 0; run *= 2) add_merge(comparators, end - 2 * run, run, num_elements);
  }
  return comparators;
}

void sort_lanes(LaneBuilder& b, std::span<LaneValue> vectors) {
  for (const Comparator& comparator : sorting_network(static_cast<int>(vectors.size()))) {
    order_pair(b, vectors[static_cast<std::size_t>(comparator.low)],
               vectors[static_cast<std::size_t>(comparator.high)]);
  }
  const int vector_bits = bits_for(std::ssize(vectors)), lane_bits = bits_for(b.num_lanes());
  // The vectors' places have the lowest bits. The lane bits may be in any order, unless there is a single vector, which
  // keeps its order. With AVX2, this order needs the fewest steps to move the bits back.
  const int first_lane_bit = vector_bits > 0 ? 2 : 0;
  std::vector<int> places;
  for (int place = 0; place < lane_bits; ++place) places.push_back(vector_bits + (place + first_lane_bit) % lane_bits);
  for (int place = 0; place < vector_bits; ++place) places.push_back(place);
  BitonicNetwork network(b, vectors, std::move(places));
  for (int bit = vector_bits; bit < vector_bits + lane_bits; ++bit) {
    network.compare(bit, true);
    for (int lower = bit - 1; lower >= 0; --lower) network.compare(lower);
  }
  network.finish();
}

void merge_bitonic_lanes(LaneBuilder& b, std::span<LaneValue> vectors) {
  const int num_bits = bits_for(std::ssize(vectors)) + bits_for(b.num_lanes());
  std::vector<int> places(static_cast<std::size_t>(num_bits));
  std::iota(places.begin(), places.end(), 0);
  BitonicNetwork network(b, vectors, std::move(places));
  for (int bit = num_bits - 1; bit >= 0; --bit) network.compare(bit);
  network.finish();
}

LaneValue reverse_lanes(LaneBuilder& b, LaneValue vector) {
  return b.unary(LaneOp::kXorLanes, vector, b.num_lanes() - 1);
}

}  // namespace millrace
