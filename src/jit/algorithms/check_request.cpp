// SPDX-License-Identifier: Apache-2.0
// Checks sort and scan requests. Every algorithm does this before it lowers one.
#include <fmt/format.h>

#include "hal/host/routines/row_parts.h"
#include "jit/algorithms/algorithm.h"

namespace millrace {

std::size_t num_operands(const SortDescriptor& sort) {
  return sort.load ? sort.load->operands.size() : sort.input_indices ? 2 : 1;
}
std::size_t num_operands(const ScanDescriptor& scan) { return scan.load ? scan.load->operands.size() : 1; }

std::size_t num_results(const SortDescriptor& sort) {
  return (sort.values.has_value() ? 1u : 0u) + (sort.indices.has_value() ? 1u : 0u);
}

Status check_sort(const SortDescriptor& sort) {
  MILLRACE_TRY(check_sort_of_parts(sort));
  if (!sort.parts.is(1)) {
    return unimplemented(
        fmt::format("sort '{}': rows in {} parts, expected whole rows", sort.name, sort.parts.to_text()));
  }
  if (!sort.input_indices) return {};
  return unimplemented(fmt::format("sort '{}': elements with indices, expected elements without", sort.name));
}

Status check_sort_of_parts(const SortDescriptor& sort) {
  const Shape& shape = sort.input.type.shape;
  const auto refuse = [&](std::string why) { return invalid_argument(fmt::format("sort '{}': {}", sort.name, why)); };
  if (sort.axis >= shape.rank()) {
    return refuse(fmt::format("axis {}, expected less than {}", sort.axis, shape.rank()));
  }
  if (!sort.values && !sort.indices) return refuse("neither values nor indices are requested");
  Shape expected = shape;
  expected[sort.axis] = sort.parts * sort.k;
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
  const SizeExpr multiples = floor_div(shape[sort.axis], max(sort.parts, 1) * RowParts::kMultiple);
  if (!sort.parts.is(1) && (multiples * RowParts::kMultiple - sort.k).upper_bound() < 0) {
    return refuse(fmt::format("k is {}, expected at most {}, the minimum length of a part", sort.k.to_text(),
                              (multiples * RowParts::kMultiple).to_text()));
  }
  if (!sort.input_indices) return {};
  const TensorType wanted{DType::kI64, shape};
  if (sort.input_indices->type != wanted) {
    return refuse(
        fmt::format("the input's indices are {}, expected {}", sort.input_indices->type.to_text(), wanted.to_text()));
  }
  if (sort.input_indices->layout != sort.input.layout) {
    return refuse(fmt::format("'{}' is laid out as {}, expected {} like '{}'", sort.input_indices->name,
                              sort.input_indices->layout.to_text(), sort.input.layout.to_text(), sort.input.name));
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
  if (scan.step != ScanStep::kRows) return refuse("a step of a scan, expected a whole scan");
  if (type.dtype == DType::kBool) return refuse("bool elements, expected integers or floats");
  if (returns_index(scan.kind)) return refuse("an index reduction, expected one to a value");
  return {};
}

}  // namespace millrace
