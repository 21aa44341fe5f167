// SPDX-License-Identifier: Apache-2.0
// Looks up an op's definition, and checks the rules for every op: operand counts, attributes and limits on types.
#include <algorithm>

#include <fmt/format.h>

#include "base/guard_allocations.h"
#include "millrace/base/printable.h"
#include "millrace/ops/op_def.h"
#include "ops/call_example.h"
#include "ops/infer.h"

namespace millrace {

// If src/ops/ has no define_<op>() for a row of the table, linking fails with an error that names the op.
#define MILLRACE_OP(name, operands, results, traits, attributes, meaning, example) OpDef define_##name();
#include "millrace/ops/op_table.inc"

const OpDef& definition(Op op) {
  static const OpDef kDefinitions[] = {
#define MILLRACE_OP(name, operands, results, traits, attributes, meaning, example) define_##name(),
#include "millrace/ops/op_table.inc"
  };
  return kDefinitions[static_cast<std::size_t>(op)];
}

Attributes default_attributes(Op op) {
  switch (op) {
#define MILLRACE_OP(name, operands, results, traits, attributes, meaning, example) \
  case Op::name:                                                                   \
    return attributes{};
#include "millrace/ops/op_table.inc"
  }
  __builtin_unreachable();
}

namespace {

/// The maximum number of elements of a tensor, which keeps byte offsets far inside int64 for every dtype and stride.
constexpr std::int64_t kMaxElements = std::int64_t{1} << 48;
/// The maximum number of terms of an element count. Eight dims of a hundred terms each would expand to 10^16 terms.
constexpr std::size_t kMaxTerms = 4096;

bool holds_attributes_of(Op op, const Attributes& attributes) {
  switch (op) {
#define MILLRACE_OP(name, operands, results, traits, type, meaning, example) \
  case Op::name:                                                             \
    return std::holds_alternative<type>(attributes);
#include "millrace/ops/op_table.inc"
  }
  __builtin_unreachable();
}

std::string_view attributes_name(const Attributes& attributes) {
  for (const Op op : kAllOps) {
    if (holds_attributes_of(op, attributes)) return info(op).attributes;
  }
  __builtin_unreachable();
}

Status check_limits(std::string_view role, std::size_t number, const TensorType& type) {
  const std::string problem = broken_limit(type);
  return problem.empty() ? Status() : invalid_argument(fmt::format("{} {} {}", role, number, problem));
}

/// Finds the first size in an attribute that always divides by zero.
struct DivisorCheck {
  Status& status;
  void operator()(std::string_view name, const SizeExpr& size) const {
    if (!status.ok() || size.is_too_long() || !size.divides_by_zero()) return;
    status = invalid_argument(
        fmt::format("{} has {}, expected divisors of 1 or more; correct the divisor", name, size.to_text()));
  }
  void operator()(std::string_view name, const std::vector<SizeExpr>& sizes) const {
    for (const SizeExpr& size : sizes) (*this)(name, size);
  }
  template <class T>
  void operator()(std::string_view, const T&) const {}
};

Status check_divisors(const Attributes& attributes) {
  Status status;
  // A copy: `visit` also serves writers, so it is not const.
  std::visit([&](auto copy) { copy.visit(DivisorCheck{status}); }, attributes);
  return status;
}

Status check_operand_count(Op op, std::size_t found) {
  const OperandCount count = operand_count(op);
  if (count.contains(found)) return {};
  const std::string example = call_example_text(op);
  return invalid_argument(operand_count_problem(parse_call_example(example), count, found));
}

}  // namespace

// Each extent counts as its lower bound, and as at least 1, so that strides keep the limit even if an extent is 0.
std::string broken_limit(const TensorType& type) {
  if (static_cast<std::size_t>(type.dtype) >= std::size(kAllDTypes)) {
    return fmt::format("has dtype number {}, expected less than {}; use a name of DType",
                       static_cast<unsigned>(type.dtype), std::size(kAllDTypes));
  }
  if (type.shape.rank() > kMaxRank) {
    return fmt::format("is {}, of rank {}, expected {} or less; reshape it", printable(type.to_text()),
                       type.shape.rank(), kMaxRank);
  }
  std::int64_t count = 1;
  std::size_t num_terms = 1;
  for (const SizeExpr& dim : type.shape.dims()) {
    if (dim.is_too_long()) {
      return "has a dim with 500 parts or more when multiplied out, or 64 levels deep; use a symbol for it";
    }
    num_terms *= std::min(dim.num_terms(), kMaxTerms + 1);
    if (num_terms > kMaxTerms) {
      return fmt::format(
          "is {}, expected an element count of at most {} terms when it is multiplied out; "
          "use a symbol for a long sum",
          type.to_text(), kMaxTerms);
    }
    if (dim.divides_by_zero())
      return fmt::format("is {}, expected divisors of 1 or more; correct the divisor", type.to_text());
    if (dim.is_constant() && dim.constant() < 0) {
      return fmt::format("is {}, expected extents of 0 or more; correct the extent", type.to_text());
    }
    const std::int64_t min_extent = std::max<std::int64_t>(dim.lower_bound(), 1);
    if (min_extent >= kMaxElements || count >= (kMaxElements + min_extent - 1) / min_extent) {
      return fmt::format("is {}, expected fewer than 2^48 elements; divide it", type.to_text());
    }
    count *= min_extent;
  }
  return {};
}

Result<Inference> infer_types(Op op, std::span<const TensorType> operands, const Attributes& attributes) {
  return guard_allocations([&]() -> Result<Inference> {
    if (!is_known(op)) {
      return invalid_argument(fmt::format("op number {}, expected less than {}; use a name of Op",
                                          static_cast<unsigned>(op), std::size(kAllOps)));
    }
    MILLRACE_TRY(check_operand_count(op, operands.size()));
    if (!holds_attributes_of(op, attributes)) {
      return invalid_argument(fmt::format("attributes are {}, expected {}; pass what {} takes",
                                          attributes_name(attributes), info(op).attributes, to_text(op)));
    }
    for (std::size_t i = 0; i < operands.size(); ++i) MILLRACE_TRY(check_limits("operand", i, operands[i]));
    MILLRACE_TRY(check_divisors(attributes));
    MILLRACE_TRY_ASSIGN(Inference inferred, definition(op).infer(operands, attributes));
    const std::vector<TensorType>& results = inferred.results;
    MILLRACE_CHECK(results.size() == static_cast<std::size_t>(info(op).num_results));
    for (std::size_t i = 0; i < results.size(); ++i) MILLRACE_TRY(check_limits("result", i, results[i]));
    return inferred;
  });
}

}  // namespace millrace
