// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "jit/fuse.h"
#include "millrace/jit/loop_kernel.h"

namespace millrace {
namespace {

class ConsumerFusion {
 public:
  ConsumerFusion(const LoopKernel& producer, std::uint32_t result, const LoopKernel& consumer, std::uint32_t operand)
      : producer_(producer), result_(result), consumer_(consumer), operand_(operand) {}

  Result<LoopKernel> run(bool keep_result) {
    MILLRACE_TRY(check_roles());
    MILLRACE_TRY(match_dims());
    MILLRACE_TRY(check_loads());
    fused_ = producer_;
    merge_tensors(keep_result);
    fused_.epilogue = join_epilogues(keep_result);
    return std::move(fused_);
  }

 private:
  template <class... Args>
  Status refuse(fmt::format_string<Args...> format, Args&&... args) const {
    return failed_precondition(fmt::format("fuse '{}' after '{}': ", consumer_.name, producer_.name) +
                               fmt::format(format, std::forward<Args>(args)...));
  }

  Status check_roles() const {
    if (classify(consumer_) != LoopKind::kMap) {
      return refuse("the consumer is a {}, expected a map", to_text(classify(consumer_)));
    }
    if (operand_ >= consumer_.operands.size() || result_ >= producer_.results.size()) {
      return refuse("operand {} of {}, result {} of {}", operand_, consumer_.operands.size(), result_,
                    producer_.results.size());
    }
    const TensorType& made = producer_.results[result_].type;
    const TensorType& wanted = consumer_.operands[operand_].type;
    if (made != wanted) return refuse("makes {}, operand {} is {}", made.to_text(), operand_, wanted.to_text());
    return {};
  }

  /// Finds the producer's dim for every dim of the consumer, from the first load of the result. A dim of extent 1 that
  /// has no counterpart is the index 0.
  Status match_dims() {
    const auto first = std::find_if(consumer_.loads.begin(), consumer_.loads.end(),
                                    [&](const Access& load) { return load.tensor == operand_; });
    if (first == consumer_.loads.end()) return refuse("no load of operand {}", operand_);
    const std::size_t num_dims = producer_.domain.size();
    std::vector<bool> is_covered(num_dims);
    std::vector<std::optional<std::size_t>> match(consumer_.domain.size());
    for (std::size_t axis = 0; axis < first->indices.size(); ++axis) {
      const auto from = as_single_dim(first->indices[axis]);
      const auto to = as_single_dim(producer_.stores[result_].indices[axis]);
      if (!from || !to || match[*from] || is_covered[*to]) continue;
      if (consumer_.domain[*from].extent != producer_.domain[*to].extent) continue;
      match[*from] = to;
      is_covered[*to] = true;
    }
    for (std::size_t d = 0; d < match.size(); ++d) {
      if (!match[d] && !consumer_.domain[d].extent.is(1)) {
        return refuse("the consumer's d{} is no dim of the producer", d);
      }
      point_.push_back(match[d] ? dim_index(num_dims, *match[d]) : constant_index(num_dims, 0));
    }
    for (std::size_t d = 0; d < producer_.num_parallel(); ++d) {
      if (!is_covered[d] && !producer_.domain[d].extent.is(1)) {
        return refuse("the producer's d{} is no dim of the consumer", d);
      }
    }
    return {};
  }

  /// Dims of extent 1 are always at 0: how an index walks them says nothing.
  AffineIndex without_unit_dims(AffineIndex index) const {
    for (std::size_t d = 0; d < index.coefficients.size(); ++d) {
      if (producer_.domain[d].extent.is(1)) index.coefficients[d] = 0;
    }
    return index;
  }

  Access moved(Access access) const {
    for (AffineIndex& index : access.indices) index = compose(index, point_, producer_.domain.size());
    return access;
  }

  Status check_loads() const {
    for (std::size_t i = 0; i < consumer_.loads.size(); ++i) {
      const Access load = moved(consumer_.loads[i]);
      if (load.tensor != operand_) continue;
      bool is_own_point = !load.dynamic_dim;
      for (std::size_t axis = 0; axis < load.indices.size(); ++axis) {
        is_own_point &=
            without_unit_dims(load.indices[axis]) == without_unit_dims(producer_.stores[result_].indices[axis]);
      }
      if (!is_own_point) return refuse("load {} reads another point of the result than the one just made", i);
    }
    return {};
  }

  void merge_tensors(bool keep_result) {
    if (!keep_result) {
      fused_.results.erase(fused_.results.begin() + result_);
      fused_.stores.erase(fused_.stores.begin() + result_);
    }
    for (std::size_t i = 0; i < consumer_.operands.size(); ++i) {
      if (i != operand_) fused_.operands.push_back(consumer_.operands[i]);
    }
    fused_.results.insert(fused_.results.end(), consumer_.results.begin(), consumer_.results.end());
    for (const Access& store : consumer_.stores) fused_.stores.push_back(moved(store));
    for (std::size_t i = 0; i < fused_.stores.size(); ++i) fused_.stores[i].tensor = static_cast<std::uint32_t>(i);
  }

  std::uint32_t add_load(Access load) {
    if (load.tensor > operand_) --load.tensor;
    load.tensor += static_cast<std::uint32_t>(producer_.operands.size());
    return find_or_add_load(fused_.loads, std::move(load));
  }

  Body join_epilogues(bool keep_result) {
    BodyBuilder builder;
    const auto keep = [](const BodyInstruction&) { return std::optional<BodyValue>(); };
    const std::vector<BodyValue> made = builder.inline_body(producer_.epilogue, keep);
    const BodyValue value =
        as_stored(builder, made[result_], producer_, result_, producer_.results[result_].type.dtype);
    const auto replace = [&](const BodyInstruction& instruction) -> std::optional<BodyValue> {
      if (instruction.op == KernelOp::kIndex) return affine_value(builder, point_[instruction.immediate]);
      if (instruction.op != KernelOp::kLoad) return std::nullopt;
      const Access& load = consumer_.loads[instruction.immediate];
      if (load.tensor == operand_) return value;
      return load_copy(builder, instruction, add_load(moved(load)));
    };
    const std::vector<BodyValue> appended = builder.inline_body(consumer_.epilogue, replace);
    for (std::size_t i = 0; i < made.size(); ++i) {
      if (keep_result || i != result_) builder.yield(made[i]);
    }
    for (const BodyValue yielded : appended) builder.yield(yielded);
    return builder.finish();
  }

  const LoopKernel& producer_;
  std::uint32_t result_;
  const LoopKernel& consumer_;
  std::uint32_t operand_;
  std::vector<AffineIndex> point_;  // per dim of the consumer: the index over the producer's domain
  LoopKernel fused_;
};

}  // namespace

Result<LoopKernel> fuse_consumer(const LoopKernel& producer, std::uint32_t result, const LoopKernel& consumer,
                                 std::uint32_t operand, bool keep_result) {
  return ConsumerFusion(producer, result, consumer, operand).run(keep_result);
}

}  // namespace millrace
