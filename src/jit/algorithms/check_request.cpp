// SPDX-License-Identifier: Apache-2.0
// Checks that every algorithm needs.
#include <fmt/format.h>

#include "jit/algorithms/algorithm.h"

namespace millrace {

std::size_t num_operands(const SortDescriptor& sort) { return sort.load ? sort.load->operands.size() : 1; }
std::size_t num_operands(const ScanDescriptor& scan) { return scan.load ? scan.load->operands.size() : 1; }

std::size_t num_results(const SortDescriptor& sort) {
  return (sort.values.has_value() ? 1u : 0u) + (sort.indices.has_value() ? 1u : 0u);
}

Status check_sort(const SortDescriptor& sort) {
  const Shape& shape = sort.input.type.shape;
  const auto refuse = [&](std::string why) { return invalid_argument(fmt::format("sort '{}': {}", sort.name, why)); };
  if (sort.axis >= shape.rank()) {
    return refuse(fmt::format("axis {}, expected less than {}", sort.axis, shape.rank()));
  }
  if (!sort.values && !sort.indices) return refuse("neither values nor indices are wanted");
  Shape expected = shape;
  expected[sort.axis] = sort.k;
  const auto check_result = [&](const std::optional<KernelTensor>& result, DType dtype) -> Status {
    const TensorType wanted{dtype, expected};
    if (!result || result->type == wanted) return {};
    return refuse(
        fmt::format("result '{}' is {}, expected {}", result->name, result->type.to_text(), wanted.to_text()));
  };
  MILLRACE_TRY(check_result(sort.values, sort.input.type.dtype));
  MILLRACE_TRY(check_result(sort.indices, DType::kI64));
  if ((shape[sort.axis] - sort.k).upper_bound() < 0) {
    return refuse(fmt::format("k is {}, expected at most {}", sort.k.to_text(), shape[sort.axis].to_text()));
  }
  return {};
}

Status check_scan(const ScanDescriptor& scan) {
  const auto refuse = [&](std::string why) { return invalid_argument(fmt::format("scan '{}': {}", scan.name, why)); };
  const TensorType& type = scan.input.type;
  if (scan.axis >= type.shape.rank()) {
    return refuse(fmt::format("axis {}, expected less than {}", scan.axis, type.shape.rank()));
  }
  if (scan.result.type != type) {
    return refuse(fmt::format("the result is {}, expected {}", scan.result.type.to_text(), type.to_text()));
  }
  if (type.dtype == DType::kBool) return refuse("bool has no sum or maximum here");
  if (scan.kind == ReductionKind::kArgMax) return refuse("an argmax, expected a reduction to a value");
  return {};
}

}  // namespace millrace
