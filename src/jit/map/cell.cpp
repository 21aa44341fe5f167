// SPDX-License-Identifier: Apache-2.0
// Emits the load or store of one cell of a tile, with its mask and bounds checks.
#include "jit/map/body.h"

namespace millrace {
namespace {

class CellEmitter {
 public:
  CellEmitter(const MapContext& context, const CellAccess& access, const std::optional<MachineValue>& mask)
      : context_(context), b_(context.b), access_(access), mask_(mask), lanes_(context.tiling.lanes) {}

  MachineValue load() {
    const MachineValue offset = scalar_offset();
    const Guard inside = guard();
    if (!is_vector()) {
      if (!inside.scalar) return b_.load(access_.plan.memory, offset);
      return b_.load_masked(access_.plan.memory, offset, *inside.scalar, other());
    }
    const std::optional<MachineValue> mask = joined_mask(inside);
    if (is_contiguous()) {
      if (!mask) return b_.load(access_.plan.memory, offset, lanes_);
      // The hardware translates the address even if no lane is set. That costs about 100 ns if the page is unmapped.
      const MachineValue mapped = inside.scalar ? b_.select(*inside.scalar, offset, b_.i64(0)) : offset;
      return b_.load_masked(access_.plan.memory, mapped, *mask, b_.splat(other(), lanes_));
    }
    const MachineValue offsets = lane_offsets(offset);
    const MachineValue lanes = mask ? *mask : all_lanes();
    return b_.gather(access_.plan.memory, offsets, lanes, b_.splat(other(), lanes_));
  }

  /// The offset of a streaming store. Nothing if the cell needs another store.
  std::optional<MachineValue> streaming_offset() {
    if (!access_.plan.streams || mask_ || !is_contiguous()) return std::nullopt;
    return scalar_offset();
  }

  void store(MachineValue value) {
    const MachineValue offset = scalar_offset();
    if (!is_vector()) return b_.store(access_.plan.memory, offset, value);
    if (value.lanes == 1) value = b_.splat(value, lanes_);
    if (!is_contiguous()) {
      const MachineValue offsets = lane_offsets(offset);
      return b_.scatter(access_.plan.memory, offsets, mask_ ? *mask_ : all_lanes(), value);
    }
    if (mask_) return b_.store_masked(access_.plan.memory, offset, *mask_, value);
    b_.store(access_.plan.memory, offset, value);
  }

 private:
  SizeExpr lane_coefficient(const AffineIndex& index) const { return context_.vector_coefficient(index); }
  bool has_vector_index() const { return access_.dynamic_index && access_.dynamic_index->lanes > 1; }

  bool is_vector() const {
    if (lanes_ == 1) return false;
    if (has_vector_index() || !lane_coefficient(access_.plan.offset).is(0)) return true;
    for (const GuardPlan& guard : access_.plan.guards) {
      if (!lane_coefficient(guard.index).is(0)) return true;
    }
    return false;
  }
  bool is_contiguous() const { return !has_vector_index() && lane_coefficient(access_.plan.offset).is(1); }

  MachineValue other() { return b_.constant_scalar(access_.plan.other); }
  MachineValue all_lanes() { return b_.splat(b_.constant_int(DType::kBool, 1), lanes_); }

  MachineValue scalar_offset() {
    LinearValue offset = context_.in_tile(access_.position.offset, access_.plan.offset, access_.row, access_.vector);
    if (access_.dynamic_index && !has_vector_index()) {
      offset = offset.plus(b_, LinearValue(*access_.dynamic_index), access_.plan.dynamic_stride);
    }
    return offset.value(b_);
  }

  /// base + lane * coefficient, in every lane.
  MachineValue along_lanes(MachineValue base, const SizeExpr& coefficient, DType dtype) {
    if (coefficient.is(0)) return b_.splat(base, lanes_);
    MachineValue lane = b_.lane_iota(dtype, lanes_);
    if (!coefficient.is(1)) {
      const MachineValue step =
          coefficient.is_constant() ? b_.constant_int(dtype, coefficient.constant()) : b_.size(coefficient);
      lane = b_.mul(lane, b_.splat(step, lanes_));
    }
    return b_.add(lane, b_.splat(base, lanes_));
  }

  MachineValue lane_offsets(MachineValue offset) {
    const MachineValue offsets = along_lanes(offset, lane_coefficient(access_.plan.offset), DType::kI64);
    if (!has_vector_index()) return offsets;
    const MachineValue stride = LinearValue::of_size(b_, access_.plan.dynamic_stride).value(b_);
    return b_.add(offsets, b_.mul(*access_.dynamic_index, b_.splat(stride, lanes_)));
  }

  /// Whether the access is inside its tensor. `scalar` joins the checks that are equal in all lanes. `vector` joins all
  /// checks if some differ between lanes, and is empty otherwise.
  struct Guard {
    std::optional<MachineValue> scalar, vector;
  };
  Guard guard() {
    Guard guard;
    const auto join = [&](std::optional<MachineValue>& all, MachineValue inside) {
      all = all ? b_.bit_and(*all, inside) : inside;
    };
    const std::vector<GuardPlan>& plans = access_.plan.guards;
    for (std::size_t g = 0; g < plans.size(); ++g) {
      if (!differs_between_lanes(plans[g]))
        join(guard.scalar, is_inside_guard(plans[g], access_.position.guards[g], {}));
    }
    for (std::size_t g = 0; g < plans.size(); ++g) {
      if (!differs_between_lanes(plans[g])) continue;
      const std::optional<MachineValue> other = guard.vector ? std::nullopt : guard.scalar;
      join(guard.vector, is_inside_guard(plans[g], access_.position.guards[g], other));
    }
    return guard;
  }

  bool differs_between_lanes(const GuardPlan& guard) const {
    const bool is_dynamic_vector = guard.has_dynamic_index && has_vector_index();
    return lanes_ > 1 && (is_dynamic_vector || !lane_coefficient(guard.index).is(0));
  }

  /// Compares unsigned values. A negative index is then above every extent, so one comparison is enough. If `other` is
  /// false, the extent counts as 0: joining two masks would take more instructions than joining one with a scalar.
  MachineValue is_inside_guard(const GuardPlan& guard, const LinearValue& base,
                               const std::optional<MachineValue>& other) {
    LinearValue linear = context_.in_tile(base, guard.index, access_.row, access_.vector);
    if (guard.has_dynamic_index && !has_vector_index()) {
      linear = linear.plus(b_, LinearValue(*access_.dynamic_index));
    }
    const SizeExpr coefficient = lane_coefficient(guard.index);
    const bool is_narrow = guard.fits_i32 && !coefficient.is(0) && lanes_ > 1;
    const DType dtype = is_narrow ? DType::kI32 : DType::kI64;
    const DType unsigned_dtype = is_narrow ? DType::kU32 : DType::kU64;
    MachineValue index = b_.convert(dtype, linear.value(b_));
    const bool is_dynamic_vector = guard.has_dynamic_index && has_vector_index();
    if (differs_between_lanes(guard)) index = along_lanes(index, coefficient, dtype);
    if (is_dynamic_vector) index = b_.add(index, *access_.dynamic_index);
    MachineValue extent = b_.convert(dtype, LinearValue::of_size(b_, guard.extent).value(b_));
    if (other) extent = b_.select(*other, extent, b_.constant_int(dtype, 0));
    index = b_.bitcast(unsigned_dtype, index);
    return b_.lt(index, b_.bitcast(unsigned_dtype, extent));
  }

  std::optional<MachineValue> joined_mask(const Guard& inside) {
    std::optional<MachineValue> mask = inside.vector;
    if (inside.scalar && !mask) mask = b_.splat(*inside.scalar, lanes_);
    if (!mask) return mask_;
    return mask_ ? b_.bit_and(*mask_, *mask) : mask;
  }

  const MapContext& context_;
  MachineBuilder& b_;
  const CellAccess& access_;
  const std::optional<MachineValue>& mask_;
  std::uint32_t lanes_;
};

}  // namespace

MachineValue load_cell(const MapContext& context, const CellAccess& access, const std::optional<MachineValue>& mask) {
  return CellEmitter(context, access, mask).load();
}

void CellStores::store(const CellAccess& access, const std::optional<MachineValue>& mask, MachineValue value) {
  CellEmitter cell(context_, access, mask);
  const std::optional<MachineValue> offset = cell.streaming_offset();
  if (!offset) return cell.store(value);
  if (value.lanes == 1) value = context_.b.splat(value, context_.tiling.lanes);
  streaming_.push_back({access.plan.memory, *offset, value});
}

void CellStores::store_woven(const CellAccess& access, std::vector<MachineValue> values) {
  MachineBuilder& b = context_.b;
  const bool is_bool = values[0].dtype == DType::kBool;
  for (MachineValue& value : values) {
    if (value.lanes == 1) value = b.splat(value, context_.tiling.lanes);
    if (is_bool) value = b.convert(DType::kU8, value);
  }
  LinearValue offset = context_.in_tile(access.position.offset, access.plan.offset, access.row, access.vector);
  for (const MachineValue& woven : weave(b, std::move(values))) {
    const MachineValue value = is_bool ? b.convert(DType::kBool, woven) : woven;
    if (access.plan.streams) {
      streaming_.push_back({access.plan.memory, offset.value(b), value});
    } else {
      b.store(access.plan.memory, offset.value(b), value);
    }
    offset = offset.plus(b, LinearValue(std::int64_t{context_.tiling.lanes}));
  }
}

void CellStores::finish() {
  for (const Streaming& store : streaming_) context_.b.store_streaming(store.memory, store.offset, store.value);
}

}  // namespace millrace
