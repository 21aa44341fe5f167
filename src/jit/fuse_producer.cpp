// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "jit/fuse.h"
#include "millrace/jit/loop_kernel.h"

namespace millrace {
namespace {

/// For each domain dim of a map, the dim of its one result that it walks. Nothing unless the stores cover every element
/// of the result once, in the result's own coordinates: then any coordinate of the result names a point of the domain.
std::optional<std::vector<std::size_t>> result_dims_of_domain(const LoopKernel& map) {
  const Access& store = map.stores[0];
  const Shape& shape = map.results[0].type.shape;
  std::vector<std::optional<std::size_t>> found(map.domain.size());
  for (std::size_t axis = 0; axis < store.indices.size(); ++axis) {
    if (shape[axis].is(1) && store.indices[axis] == constant_index(map.domain.size(), 0)) continue;
    const std::optional<std::size_t> dim = as_single_dim(store.indices[axis]);
    if (!dim || found[*dim] || map.domain[*dim].extent != shape[axis]) return std::nullopt;
    found[*dim] = axis;
  }
  std::vector<std::size_t> axes;
  for (const auto& axis : found) {
    if (!axis) return std::nullopt;
    axes.push_back(*axis);
  }
  return axes;
}

class ProducerFusion {
 public:
  ProducerFusion(const LoopKernel& consumer, std::uint32_t operand, const LoopKernel& producer)
      : consumer_(consumer), operand_(operand), producer_(producer) {}

  Result<LoopKernel> run() {
    MILLRACE_TRY(check_roles());
    fused_ = consumer_;
    fused_.loads.clear();
    fused_.operands.erase(fused_.operands.begin() + operand_);
    fused_.operands.insert(fused_.operands.end(), producer_.operands.begin(), producer_.operands.end());
    for (const Access& load : consumer_.loads) {
      MILLRACE_TRY(check_load(load));
      if (load.tensor == operand_) continue;
      keep_load(load);
    }
    MILLRACE_TRY_ASSIGN(fused_.term, inline_loads(consumer_.term));
    MILLRACE_TRY_ASSIGN(fused_.epilogue, inline_loads(consumer_.epilogue));
    return std::move(fused_);
  }

 private:
  template <class... Args>
  Status refuse(fmt::format_string<Args...> format, Args&&... args) const {
    return failed_precondition(fmt::format("fuse '{}' into '{}': ", producer_.name, consumer_.name) +
                               fmt::format(format, std::forward<Args>(args)...));
  }

  Status check_roles() {
    if (classify(producer_) != LoopKind::kMap || producer_.results.size() != 1) {
      return refuse("the producer is a {} with {} results, expected a map with one", to_text(classify(producer_)),
                    producer_.results.size());
    }
    if (operand_ >= consumer_.operands.size()) {
      return refuse("operand {}, expected less than {}", operand_, consumer_.operands.size());
    }
    const TensorType& made = producer_.results[0].type;
    const TensorType& wanted = consumer_.operands[operand_].type;
    if (made != wanted) return refuse("makes {}, operand {} is {}", made.to_text(), operand_, wanted.to_text());
    const auto axes = result_dims_of_domain(producer_);
    if (!axes) return refuse("the producer's store does not walk each element of its result by its own dims");
    axes_ = *axes;
    return {};
  }

  Status check_load(const Access& load) const {
    if (load.tensor != operand_) return {};
    if (load.dynamic_dim) return refuse("a load of operand {} has a dynamic index", operand_);
    if (!load.fill || is_inside_everywhere(load)) return {};
    if (!is_plain_view()) return refuse("a load of operand {} has a fill, and the producer is no plain view", operand_);
    return {};
  }

  bool is_inside_everywhere(const Access& load) const {
    const Shape& shape = consumer_.operands[load.tensor].type.shape;
    for (std::size_t axis = 0; axis < shape.rank(); ++axis) {
      if (!is_inside(load.indices[axis], shape[axis], consumer_.domain)) return false;
    }
    return true;
  }

  /// Whether the producer's element at a coordinate is its operand's element at the same coordinate, in any order of
  /// dims: then inside the one is inside the other, and its load can take over the consumer's guard.
  bool is_plain_view() const {
    const Body& body = producer_.epilogue;
    if (body.instructions.size() != 1 || body.instructions[BodyValueId{}].op != KernelOp::kLoad) return false;
    const Access& load = producer_.loads[body.instructions[BodyValueId{}].immediate];
    if (load.fill || load.dynamic_dim) return false;
    const Shape& shape = producer_.operands[load.tensor].type.shape;
    std::vector<bool> walked(producer_.domain.size());
    for (std::size_t axis = 0; axis < shape.rank(); ++axis) {
      const std::optional<std::size_t> dim = as_single_dim(load.indices[axis]);
      if (!dim || walked[*dim] || shape[axis] != producer_.domain[*dim].extent) return false;
      walked[*dim] = true;
    }
    return std::all_of(walked.begin(), walked.end(), [](bool is_walked) { return is_walked; });
  }

  std::uint32_t keep_load(Access load) {
    if (load.tensor > operand_) --load.tensor;
    return find_or_add_load(fused_.loads, std::move(load));
  }

  /// Where the producer's domain dims stand for the element that `load` of the consumer names.
  std::vector<AffineIndex> point_of(const Access& load) const {
    std::vector<AffineIndex> point;
    for (const std::size_t axis : axes_) point.push_back(load.indices[axis]);
    return point;
  }

  std::uint32_t composed_load(const Access& of_producer, const Access& through) {
    Access load = of_producer;
    load.tensor += static_cast<std::uint32_t>(consumer_.operands.size() - 1);
    const std::vector<AffineIndex> point = point_of(through);
    for (AffineIndex& index : load.indices) index = compose(index, point, consumer_.domain.size());
    if (through.fill && !is_inside_everywhere(through)) load.fill = through.fill;
    return find_or_add_load(fused_.loads, std::move(load));
  }

  Result<Body> inline_loads(const Body& body) {
    BodyBuilder builder;
    Status problem;
    std::map<std::uint64_t, BodyValue> made;  // per load of the consumer: its instructions appear once
    const auto replace = [&](const BodyInstruction& instruction) -> std::optional<BodyValue> {
      if (instruction.op != KernelOp::kLoad) return std::nullopt;
      const Access& load = consumer_.loads[instruction.immediate];
      if (load.tensor != operand_) return load_copy(builder, instruction, keep_load(load));
      const auto found = made.find(instruction.immediate);
      if (found != made.end()) return found->second;
      Result<BodyValue> value = inline_producer(builder, load);
      if (!value.ok()) {
        problem = value.status();
        return builder.constant_scalar(Scalar{instruction.dtype, 0});
      }
      made.emplace(instruction.immediate, *value);
      return *value;
    };
    for (const BodyValue value : builder.inline_body(body, replace)) builder.yield(value);
    MILLRACE_TRY(problem);
    return builder.finish();
  }

  Result<BodyValue> inline_producer(BodyBuilder& builder, const Access& through) {
    const std::vector<AffineIndex> point = point_of(through);
    Status problem;
    const auto replace = [&](const BodyInstruction& instruction) -> std::optional<BodyValue> {
      if (instruction.op == KernelOp::kLoad) {
        return load_copy(builder, instruction, composed_load(producer_.loads[instruction.immediate], through));
      }
      if (instruction.op != KernelOp::kIndex) return std::nullopt;
      std::optional<BodyValue> value = affine_value(builder, point[instruction.immediate]);
      if (value) return value;
      problem = refuse("the producer's index {} is {} in the consumer, which no body can compute",
                       instruction.immediate, to_text(point[instruction.immediate]));
      return builder.constant_int(DType::kI64, 0);
    };
    const BodyValue value = builder.inline_body(producer_.epilogue, replace)[0];
    MILLRACE_TRY(problem);
    return as_stored(builder, value, producer_, 0, producer_.results[0].type.dtype);
  }

  const LoopKernel& consumer_;
  std::uint32_t operand_;
  const LoopKernel& producer_;
  std::vector<std::size_t> axes_;  // per domain dim of the producer: the dim of its result
  LoopKernel fused_;
};

}  // namespace

Result<LoopKernel> fuse_producer(const LoopKernel& consumer, std::uint32_t operand, const LoopKernel& producer) {
  return ProducerFusion(consumer, operand, producer).run();
}

}  // namespace millrace
