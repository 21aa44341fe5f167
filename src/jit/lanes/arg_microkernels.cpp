// SPDX-License-Identifier: Apache-2.0
// Builds the microkernels of argmin and argmax.
#include "jit/lanes/arg_microkernels.h"

#include <numeric>
#include <vector>

#include "jit/lanes/element_lanes.h"

namespace millrace {
namespace {

/// A limit on the elements of one call, so that their places fit lanes of 32 bits.
constexpr std::int64_t kMaxPlaces = std::int64_t{1} << 30;
constexpr int kVectorsPerChunk = ArgRowsParameters::kVectorsPerChunk;

/// Builds the code that all functions share. Lanes hold floats as they are, because a float maximum is one instruction
/// and treats zeros as equal. Other elements become integers in the same order.
class ArgBuilder {
 public:
  ArgBuilder(LaneBuilder& b, const ArgLanes& lanes)
      : b_(b),
        lanes_(lanes),
        is_float_(is_float(lanes.dtype)),
        best_places_(b_.variable(b_.constant(0))),
        best_(b_.variable(b_.constant(worst()))) {
    if (is_float_) nan_places_ = b_.variable(b_.greatest());
  }

  LaneBuilder& b() { return b_; }
  std::int32_t vector_bytes() const { return b_.vector_bytes(element()); }

  LaneValue load(int pointer, std::int32_t offset_bytes) {
    b_.prefetch_ahead(pointer, offset_bytes);
    return comparable(b_.load(pointer, offset_bytes, element()));
  }
  /// Lanes outside the mask get the worst value.
  LaneValue load_masked(int pointer, LaneValue mask) {
    const LaneValue x = comparable(b_.load_masked(pointer, 0, element(), mask, b_.constant(0)));
    return b_.select(mask, x, b_.constant(worst()));
  }

  LaneValue better_of(LaneValue a, LaneValue b) {
    if (is_float_) return b_.binary(lanes_.smallest ? LaneOp::kMinFloat : LaneOp::kMaxFloat, a, b);
    return b_.binary(lanes_.smallest ? LaneOp::kMin : LaneOp::kMax, a, b);
  }
  LaneValue unordered(LaneValue a, LaneValue b) { return b_.binary(LaneOp::kUnordered, a, b); }
  bool compares_floats() const { return is_float_; }

  /// Updates the best value of each lane with `value`, the best of the elements at `places`. `is_nan` is the mask of
  /// the lanes with a NaN among these elements.
  void enter(LaneValue value, LaneValue places, LaneValue is_nan) {
    const LaneOp less = is_float_ ? LaneOp::kLessFloat : LaneOp::kLess;
    const LaneValue is_better = lanes_.smallest ? b_.binary(less, value, best_) : b_.binary(less, best_, value);
    b_.assign(best_, b_.select(is_better, value, best_));
    b_.assign(best_places_, b_.select(is_better, places, best_places_));
    if (!is_float_) return;
    b_.assign(nan_places_, b_.binary(LaneOp::kMin, nan_places_, b_.select(is_nan, places, b_.greatest())));
  }

  /// The key and the place of each lane's best value. A NaN has the greatest key; both zeros have the key of -0.
  struct LaneBests {
    LaneValue keys, places;
  };
  LaneBests lane_bests() {
    if (!is_float_) return {ascending(best_), best_places_};
    const LaneValue key = invert_negative(b_, ascending(best_), lane_dtype());
    const LaneValue number_key = b_.select(b_.binary(LaneOp::kEqual, key, b_.constant(0)), b_.constant(-1), key);
    const LaneValue has_nan = b_.binary(LaneOp::kLess, nan_places_, b_.greatest());
    return {b_.select(has_nan, b_.greatest(), number_key), b_.select(has_nan, nan_places_, best_places_)};
  }

  /// The maximum key, in every lane.
  LaneValue max_key(const LaneBests& bests) { return across(LaneOp::kMax, bests.keys); }
  /// The first place with this key, in every lane.
  LaneValue place_of(LaneValue key, const LaneBests& bests) {
    return first_of(b_.binary(LaneOp::kEqual, bests.keys, key), bests.places);
  }
  /// Combines all lanes; every lane gets the result.
  LaneValue across(LaneOp op, LaneValue value) {
    for (int distance = b_.num_lanes() / 2; distance > 0; distance /= 2) {
      value = b_.binary(op, value, b_.unary(LaneOp::kXorLanes, value, distance));
    }
    return value;
  }

  /// The first place among the mask's lanes, in every lane.
  LaneValue first_of(LaneValue mask, LaneValue places) {
    return across(LaneOp::kMin, b_.select(mask, places, b_.greatest()));
  }

  /// The value with which is_best() compares. For floats, it is the float just below the best value, or, if the best
  /// value is a NaN, infinity, which only a NaN passes.
  LaneValue bound_of(LaneValue key) {
    if (!is_float_) return key;
    const LaneValue is_nan = b_.binary(LaneOp::kEqual, key, b_.greatest());
    const LaneValue below = b_.binary(LaneOp::kAdd, key, b_.constant(-1));
    return invert_negative(b_, b_.select(is_nan, b_.constant(infinity_of(lane_dtype())), below), lane_dtype());
  }
  LaneValue is_best(LaneValue value, LaneValue bound) {
    return b_.binary(is_float_ ? LaneOp::kNotAtMostFloat : LaneOp::kEqual, ascending(value), bound);
  }

 private:
  LaneElement element() const { return element_of(lanes_.dtype); }
  DType lane_dtype() const { return lanes_.dtype == DType::kF64 ? DType::kF64 : DType::kF32; }
  std::int64_t worst() const {
    const std::int64_t max = max_lane(b_.lane_bits());
    if (!is_float_) return lanes_.smallest ? max : ~max;
    return lanes_.smallest ? infinity_of(lane_dtype()) : infinity_of(lane_dtype()) | ~max;
  }

  LaneValue comparable(LaneValue x) {
    return invert_bits(b_, widen_float(b_, x, lanes_.dtype), inverted_sign_of(lanes_.dtype));
  }
  /// Inverts a value if `smallest` is set, so that the best value becomes the maximum.
  LaneValue ascending(LaneValue value) {
    return !lanes_.smallest ? value : invert_bits(b_, value, is_float_ ? ~magnitude_of(lane_dtype()) : -1);
  }

  LaneBuilder& b_;
  const ArgLanes lanes_;
  const bool is_float_;
  LaneValue best_places_, best_;
  LaneValue nan_places_ = kNoLaneValue;
};

/// Updates the best values with a chunk of vectors, each `pitch` vectors after the previous one.
void enter_chunk(ArgBuilder& arg, int pointer, LaneValue place, int first_vector = 0, int pitch = 1) {
  LaneValue is_nan = kNoLaneValue;
  // Joins pairs in the order in which a binary counter carries, so that few values are live at a time.
  std::vector<LaneValue> best;
  for (int i = 0; i < kVectorsPerChunk; i += 2) {
    const LaneValue first = arg.load(pointer, (first_vector + i * pitch) * arg.vector_bytes());
    const LaneValue second = arg.load(pointer, (first_vector + (i + 1) * pitch) * arg.vector_bytes());
    if (arg.compares_floats()) {
      const LaneValue now = arg.unordered(first, second);
      is_nan = is_nan == kNoLaneValue ? now : arg.b().binary(LaneOp::kEither, is_nan, now);
    }
    best.push_back(arg.better_of(first, second));
    for (int pairs = i / 2 + 1; pairs % 2 == 0; pairs /= 2) {
      const LaneValue last = best.back();
      best.pop_back();
      best.back() = arg.better_of(best.back(), last);
    }
  }
  arg.enter(best[0], place, is_nan);
}

MicrokernelCode<FindInFew> find_in_few(IsaLevel isa, const ArgLanes& lanes) {
  enum { kRow, kCount };
  LaneBuilder b(isa, lane_bits_of(lanes.dtype));
  ArgBuilder arg(b, lanes);
  const LaneValue places = b.variable(b.numbers());
  b.for_vectors(kCount, [&](LaneValue mask) {
    const LaneValue x = mask == kNoLaneValue ? arg.load(kRow, 0) : arg.load_masked(kRow, mask);
    arg.enter(x, places, arg.compares_floats() ? arg.unordered(x, x) : kNoLaneValue);
    b.assign(places, b.binary(LaneOp::kAdd, places, b.constant(b.num_lanes())));
    b.advance(kRow, arg.vector_bytes());
  });
  const ArgBuilder::LaneBests bests = arg.lane_bests();
  return {b.finish_with_first(arg.place_of(arg.max_key(bests), bests))};
}

MicrokernelCode<SurveyChunks> survey_chunks(IsaLevel isa, const ArgLanes& lanes) {
  enum { kRow, kCount, kLastChunk, kLastPlace, kFound };
  LaneBuilder b(isa, lane_bits_of(lanes.dtype));
  ArgBuilder arg(b, lanes);
  const LaneValue place = b.variable(b.constant(0));
  b.for_blocks(kCount, kVectorsPerChunk, [&] {
    enter_chunk(arg, kRow, place);
    b.assign(place, b.binary(LaneOp::kAdd, place, b.constant(kVectorsPerChunk * b.num_lanes())));
    b.advance(kRow, kVectorsPerChunk * arg.vector_bytes());
  });
  b.if_any(kCount, [&] { enter_chunk(arg, kLastChunk, b.broadcast(kLastPlace)); });
  const ArgBuilder::LaneBests bests = arg.lane_bests();
  b.store(kFound, 0, bests.keys);
  b.store(kFound, b.vector_bytes(), bests.places);
  return {b.finish_with(kFound)};
}

/// How interleaved rows fall into vectors. With 8 lanes and 3 rows, the first lane of successive vectors belongs to
/// rows 0, 2, 1, and then to row 0 again: a period of 3 vectors, with 8 elements of each row.
struct ColumnPeriod {
  int vectors;
  std::int64_t elements_per_row;

  ColumnPeriod(int num_lanes, std::int64_t num_columns)
      : vectors(static_cast<int>(num_columns / std::gcd(num_columns, std::int64_t{num_lanes}))),
        elements_per_row(vectors * num_lanes / num_columns) {}
};

MicrokernelCode<SurveyColumns> survey_columns(IsaLevel isa, const ArgLanes& lanes) {
  enum { kRows, kCount, kLastChunk, kLastPlace, kFound };
  LaneBuilder b(isa, lane_bits_of(lanes.dtype));
  const ColumnPeriod period(b.num_lanes(), lanes.num_columns);
  std::vector<ArgBuilder> vectors;
  for (int i = 0; i < period.vectors; ++i) vectors.emplace_back(b, lanes);
  const auto enter_chunks = [&](int pointer, LaneValue place) {
    for (int i = 0; i < period.vectors; ++i) {
      enter_chunk(vectors[static_cast<std::size_t>(i)], pointer, place, i, period.vectors);
    }
  };
  const LaneValue place = b.variable(b.constant(0));
  const int chunk_vectors = kVectorsPerChunk * period.vectors;
  b.for_blocks(kCount, chunk_vectors, [&] {
    enter_chunks(kRows, place);
    b.assign(place, b.binary(LaneOp::kAdd, place, b.constant(kVectorsPerChunk * period.elements_per_row)));
    b.advance(kRows, chunk_vectors * vectors[0].vector_bytes());
  });
  b.if_any(kCount, [&] { enter_chunks(kLastChunk, b.broadcast(kLastPlace)); });
  for (int i = 0; i < period.vectors; ++i) {
    const ArgBuilder::LaneBests bests = vectors[static_cast<std::size_t>(i)].lane_bests();
    const auto offset = static_cast<std::int32_t>(sizeof(FoundInLanes)) * i;
    b.store(kFound, offset, bests.keys);
    b.store(kFound, offset + b.vector_bytes(), bests.places);
  }
  return {b.finish_with(kFound)};
}

MicrokernelCode<FindInChunks> find_in_chunks(IsaLevel isa, const ArgLanes& lanes) {
  enum { kRow, kFound };
  LaneBuilder b(isa, lane_bits_of(lanes.dtype));
  ArgBuilder arg(b, lanes);
  const ArgBuilder::LaneBests bests = {b.load(kFound, 0), b.load(kFound, b.vector_bytes())};
  const LaneValue key = arg.max_key(bests), chunk_place = arg.place_of(key, bests), bound = arg.bound_of(key);
  b.advance_by(kRow, chunk_place, static_cast<std::int64_t>(size_bytes(lanes.dtype)));
  const LaneValue step = b.constant(-b.num_lanes());
  LaneValue position = b.binary(LaneOp::kAdd, b.numbers(), b.constant((kVectorsPerChunk - 1) * b.num_lanes()));
  LaneValue first = b.constant(kVectorsPerChunk * b.num_lanes());
  for (int i = kVectorsPerChunk; i-- > 0;) {
    first = b.select(arg.is_best(arg.load(kRow, i * arg.vector_bytes()), bound), position, first);
    position = b.binary(LaneOp::kAdd, position, step);
  }
  return {b.finish_with_first(b.binary(LaneOp::kAdd, chunk_place, arg.across(LaneOp::kMin, first)))};
}

}  // namespace

void append_arg(ArgRowsParameters& p, const MicrokernelSink& sink, const ArgLanes& lanes) {
  p.chunk_elements = std::int64_t{kVectorsPerChunk} * num_lanes_of(sink.isa, lane_bits_of(lanes.dtype));
  p.max_at_once = kMaxPlaces;
  p.num_columns = lanes.num_columns;
  p.find_in_few = sink.append(find_in_few(sink.isa, lanes));
  if (lanes.num_columns > 1) {
    p.num_lanes = num_lanes_of(sink.isa, lane_bits_of(lanes.dtype));
    p.chunk_elements =
        kVectorsPerChunk * ColumnPeriod(static_cast<int>(p.num_lanes), lanes.num_columns).elements_per_row;
    p.survey_columns = sink.append(survey_columns(sink.isa, lanes));
    return;
  }
  p.survey_chunks = sink.append(survey_chunks(sink.isa, lanes));
  p.find_in_chunks = sink.append(find_in_chunks(sink.isa, lanes));
}

}  // namespace millrace
