// SPDX-License-Identifier: Apache-2.0
// Builds the microkernels of running sums, products, minima and maxima.
#include "jit/lanes/scan_microkernels.h"

#include <bit>

#include "jit/lanes/sort_keys.h"

namespace millrace {
namespace {

/// The number of vectors that are scanned together: as many as fit in registers. The operations on one vector depend on
/// each other, so operations on several vectors are interleaved.
int vectors_per_block(IsaLevel isa) { return isa == IsaLevel::kAvx512 ? 8 : 4; }

bool is_order(ReductionKind kind) { return kind == ReductionKind::kMin || kind == ReductionKind::kMax; }

/// The offset added to a float's key, so that every NaN is beyond +inf for a maximum, or beyond -inf for a minimum.
std::int64_t order_offset(const ScanLanes& scan) {
  if (scan.kind == ReductionKind::kMin) return max_lane(scan.lane_bits()) - infinity_of(scan.dtype);
  return coarse_offset_of(scan.dtype);
}

class ScanBuilder {
 public:
  ScanBuilder(IsaLevel isa, const ScanLanes& scan, bool streams)
      : b_(isa, scan.lane_bits()),
        scan_(scan),
        streams_(streams),
        max_vectors_(vectors_per_block(isa)),
        given_(b_.broadcast(kCarry)) {}

  LaneFunction run() {
    carry_ = b_.variable(scan_.is_block ? identity() : given_);
    for (const int vectors : {max_vectors_, 1}) {
      b_.for_blocks(kCount, vectors, [&] { scan_block(vectors); });
    }
    b_.if_any(kCount, [&] { scan_rest(); });
    return b_.finish_with_first(carry_);
  }

  LaneFunction run_total(bool of_totals) {
    const LaneElement read = of_totals ? b_.lane_element() : element();
    const auto term = [&](LaneValue x) { return of_totals ? x : to_lanes(x); };
    const LaneValue total = b_.variable(identity());
    for (const int vectors : {max_vectors_, 1}) {
      b_.for_blocks(kCount, vectors, [&] {
        std::vector<LaneValue> block;
        const int bytes = b_.vector_bytes(read);
        for (int i = 0; i < vectors; ++i) {
          b_.prefetch_ahead(kFrom, i * bytes);
          block.push_back(term(b_.load(kFrom, i * bytes, read)));
        }
        // Combines pairs, so that only one operation per block depends on the previous block.
        for (; block.size() > 1; block.resize(block.size() / 2)) {
          for (std::size_t i = 0; i < block.size() / 2; ++i) block[i] = combined(block[2 * i], block[2 * i + 1]);
        }
        b_.assign(total, combined(total, block[0]));
        b_.advance(kFrom, vectors * bytes);
      });
    }
    b_.if_any(kCount, [&] {
      const LaneValue mask = b_.binary(LaneOp::kLess, b_.numbers(), b_.broadcast(kCount));
      const LaneValue x = term(b_.load_masked(kFrom, 0, read, mask, b_.constant(0)));
      b_.assign(total, combined(total, b_.select(mask, x, identity())));
    });
    LaneValue all = total;
    for (int distance = b_.num_lanes() / 2; distance > 0; distance /= 2) {
      all = combined(all, b_.unary(LaneOp::kXorLanes, all, distance));
    }
    return b_.finish_with_first(combined(given_, all));
  }

 private:
  enum { kFrom, kTo, kCount, kCarry, kFromStart, kToStart };

  LaneElement element() const { return element_of(scan_.dtype); }
  int vector_bytes() const { return b_.vector_bytes(element()); }

  void scan_block(int vectors) {
    const auto offset_of = [&](int i) { return (scan_.reverse ? -(i + 1) : i) * vector_bytes(); };
    std::vector<LaneValue> block;
    for (int i = 0; i < vectors; ++i) {
      b_.prefetch_ahead(kFrom, offset_of(i), scan_.reverse);
      block.push_back(to_lanes(b_.load(kFrom, offset_of(i), element())));
    }
    scan_each(block);
    const std::vector<LaneValue> results = scan_.is_block ? with_base(block) : with_carry(block);
    for (int i = 0; i < vectors; ++i) {
      const LaneValue y = results[static_cast<std::size_t>(i)];
      if (streams_) {
        b_.stream(kTo, offset_of(i), y);
      } else {
        b_.store(kTo, offset_of(i), element(), y);
      }
    }
    for (const int pointer : {kFrom, kTo}) b_.advance(pointer, (scan_.reverse ? -vectors : vectors) * vector_bytes());
  }

  /// Scans the elements that come last in scan order. In a reverse scan, these are at the start of the row.
  void scan_rest() {
    const int from = scan_.reverse ? kFromStart : kFrom, to = scan_.reverse ? kToStart : kTo;
    const LaneValue mask = b_.binary(LaneOp::kLess, b_.numbers(), b_.broadcast(kCount));
    const LaneValue x = to_lanes(b_.load_masked(from, 0, element(), mask, b_.constant(0)));
    std::vector<LaneValue> block = {b_.select(mask, x, identity())};
    scan_each(block);
    b_.store(to, 0, element(), (scan_.is_block ? with_base(block) : with_carry(block))[0], mask);
  }

  LaneOp move() const { return scan_.reverse ? LaneOp::kMoveDown : LaneOp::kMoveUp; }

  /// Scans the lanes of each vector separately, without the carry.
  void scan_each(std::vector<LaneValue>& block) {
    for (int distance = 1; distance < b_.num_lanes(); distance *= 2) {
      for (LaneValue& x : block) x = combined(x, b_.move(move(), x, distance, identity()));
    }
  }

  /// The last lane in the order of the scan, in every lane.
  LaneValue last_of(LaneValue x) { return b_.unary(LaneOp::kSpread, x, scan_.reverse ? 0 : b_.num_lanes() - 1); }

  /// The results of some vectors, given their scanned lanes.
  std::vector<LaneValue> with_carry(const std::vector<LaneValue>& block) {
    std::vector<LaneValue> results;
    for (const LaneValue x : block) {
      LaneValue result = combined(x, carry_);
      if (scan_.exclusive) result = b_.move(move(), result, 1, carry_);
      results.push_back(from_lanes(result));
      // Only the vector's total is added to the carry, so that the next vector depends on just one operation.
      b_.assign(carry_, combined(carry_, last_of(x)));
    }
    return results;
  }

  /// The results of a block. Vectors are added to the carry in pairs. A pair then depends on two operations of the
  /// previous pair, but needs one operation fewer. That offsets the cost of adding the base.
  std::vector<LaneValue> with_base(const std::vector<LaneValue>& block) {
    std::vector<LaneValue> results;
    for (std::size_t i = 0; i < block.size(); i += 2) {
      const bool is_pair = i + 1 < block.size();
      const LaneValue first = combined(block[i], carry_);
      const LaneValue second = is_pair ? combined(combined(block[i + 1], last_of(block[i])), carry_) : first;
      results.push_back(result_in_block(first, carry_));
      if (is_pair) results.push_back(result_in_block(second, scan_.exclusive ? last_of(first) : carry_));
      b_.assign(carry_, last_of(second));
    }
    return results;
  }

  /// The results of a vector, given the inclusive `sums` of its lanes and the sum `before` the vector. Neither includes
  /// the base.
  LaneValue result_in_block(LaneValue sums, LaneValue before) {
    if (scan_.exclusive) sums = b_.move(move(), sums, 1, before);
    return from_lanes(combined(given_, sums));
  }

  LaneValue identity() { return b_.constant(scan_identity(scan_)); }

  LaneValue combined(LaneValue a, LaneValue b) {
    switch (scan_.kind) {
      case ReductionKind::kSum:
        return b_.binary(is_float(scan_.dtype) ? LaneOp::kAddFloat : LaneOp::kAdd, a, b);
      case ReductionKind::kProd:
        return b_.binary(is_float(scan_.dtype) ? LaneOp::kMulFloat : LaneOp::kMul, a, b);
      case ReductionKind::kMin:
        return b_.binary(LaneOp::kMin, a, b);
      default:
        return b_.binary(LaneOp::kMax, a, b);
    }
  }

  LaneValue to_lanes(LaneValue x) {
    if (!is_order(scan_.kind)) return widen_float(b_, x, scan_.dtype);
    if (!is_float(scan_.dtype)) return invert_bits(b_, x, inverted_sign_of(scan_.dtype));
    return b_.binary(LaneOp::kAdd, invert_negative(b_, x, scan_.dtype), b_.constant(order_offset(scan_)));
  }

  LaneValue from_lanes(LaneValue x) {
    if (!is_order(scan_.kind)) return narrow_float(b_, x, scan_.dtype);
    if (!is_float(scan_.dtype)) return invert_bits(b_, x, inverted_sign_of(scan_.dtype));
    return invert_negative(b_, b_.binary(LaneOp::kAdd, x, b_.constant(-order_offset(scan_))), scan_.dtype);
  }

  LaneBuilder b_;
  const ScanLanes scan_;
  const bool streams_;
  const int max_vectors_;
  LaneValue given_;                 // the argument kCarry, in every lane
  LaneValue carry_ = kNoLaneValue;  // in every lane
};

}  // namespace

ScanLanes scan_lanes_of(const ScanDescriptor& scan) {
  return {scan.input.type.dtype, scan.kind, scan.exclusive, scan.reverse};
}

std::int64_t scan_identity(const ScanLanes& scan) {
  const bool is_min = scan.kind == ReductionKind::kMin;
  if (scan.kind == ReductionKind::kSum) return 0;
  if (scan.kind == ReductionKind::kProd) {
    if (!is_float(scan.dtype)) return 1;
    return scan.dtype == DType::kF64 ? std::bit_cast<std::int64_t>(1.0) : std::bit_cast<std::int32_t>(1.0f);
  }
  // For a minimum, +inf has the greatest key; for a maximum, -inf has the least key.
  if (is_float(scan.dtype) || size_bytes(scan.dtype) >= 4) {
    return is_min ? max_lane(scan.lane_bits()) : ~max_lane(scan.lane_bits());
  }
  if (is_signed(scan.dtype)) return is_min ? magnitude_of(scan.dtype) : ~magnitude_of(scan.dtype);
  return is_min ? 2 * magnitude_of(scan.dtype) + 1 : 0;
}

std::int64_t scan_total_bytes(const ScanDescriptor& scan) { return lane_bits_of(scan.input.type.dtype) / 8; }

void append_scan(ScanRowsParameters& p, const MicrokernelSink& sink, const ScanLanes& scan) {
  const auto append = [&](const LaneFunction& f) { return sink.append(MicrokernelCode<ScanElements>{f}); };
  p.element_bytes = static_cast<std::int64_t>(size_bytes(scan.dtype));
  p.total_bytes = scan.lane_bits() / 8;
  p.vector_bytes = std::int64_t{num_lanes_of(sink.isa, scan.lane_bits())} * p.total_bytes;
  p.is_reverse = scan.reverse;
  p.identity = scan_identity(scan);
  if (p.step != ScanRowsStep::kRows) {
    p.total = append(ScanBuilder(sink.isa, scan, false).run_total(p.step == ScanRowsStep::kParts));
  }
  if (p.step == ScanRowsStep::kTotals) return;
  p.scan = append(ScanBuilder(sink.isa, scan, false).run());
  // A streaming store writes whole lanes, so elements must be as wide as lanes.
  if (p.element_bytes == p.total_bytes) p.stream = append(ScanBuilder(sink.isa, scan, true).run());
}

}  // namespace millrace
