// SPDX-License-Identifier: Apache-2.0
#include "ops/nest.h"

#include <fmt/format.h>

namespace millrace::ops {

std::uint32_t Nest::parallel(std::string name, SizeExpr extent) {
  kernel_.domain.push_back({std::move(name), std::move(extent), false});
  return static_cast<std::uint32_t>(kernel_.domain.size() - 1);
}

std::uint32_t Nest::reduction(std::string name, SizeExpr extent) {
  kernel_.domain.push_back({std::move(name), std::move(extent), true});
  return static_cast<std::uint32_t>(kernel_.domain.size() - 1);
}

void Nest::parallel_dims(const Shape& shape) {
  for (std::size_t d = 0; d < shape.rank(); ++d) parallel(fmt::format("d{}", d), shape[d]);
}

std::uint32_t Nest::operand(const TensorType& type) {
  const std::size_t number = kernel_.operands.size();
  kernel_.operands.push_back({fmt::format("x{}", number), type, Layout::row_major(type.shape)});
  return static_cast<std::uint32_t>(number);
}

AffineIndex Nest::index(std::initializer_list<Along> terms, SizeExpr offset) const {
  AffineIndex index{std::move(offset), std::vector<SizeExpr>(kernel_.domain.size())};
  for (const Along& term : terms) index.coefficients[term.dim] = index.coefficients[term.dim] + term.coefficient;
  return index;
}

std::vector<AffineIndex> Nest::identity(std::size_t rank) const {
  std::vector<AffineIndex> indices;
  for (std::size_t d = 0; d < rank; ++d) indices.push_back(along(static_cast<std::uint32_t>(d)));
  return indices;
}

BodyValue Nest::extent(BodyBuilder& body, const SizeExpr& size) {
  if (size.is_constant()) return body.constant_int(DType::kI64, size.constant());
  kernel_.extents.push_back(size);
  return body.extent(static_cast<std::uint32_t>(kernel_.extents.size() - 1));
}

std::uint32_t Nest::add_load(Access access) {
  kernel_.loads.push_back(std::move(access));
  return static_cast<std::uint32_t>(kernel_.loads.size() - 1);
}

BodyValue Nest::load(BodyBuilder& body, std::uint32_t operand, std::vector<AffineIndex> indices,
                     std::optional<Scalar> fill) {
  const std::uint32_t access = add_load({operand, std::move(indices), {}, fill});
  return body.load(access, body_dtype(kernel_.operands[operand].type.dtype));
}

BodyValue Nest::reduce(ReductionKind kind, BodyValue value) {
  term_.yield(value);
  kernel_.reductions.push_back({kind, value.dtype});
  const DType result = kind == ReductionKind::kArgMax ? DType::kI64 : value.dtype;
  return epilogue_.reduced(static_cast<std::uint32_t>(kernel_.reductions.size() - 1), result);
}

void Nest::store(const TensorType& type, std::vector<AffineIndex> indices, BodyValue value) {
  const std::size_t number = kernel_.results.size();
  kernel_.results.push_back({fmt::format("y{}", number), type, Layout::row_major(type.shape)});
  kernel_.stores.push_back({static_cast<std::uint32_t>(number), std::move(indices), {}, {}});
  epilogue_.yield(value);
}

std::vector<KernelRequest> Nest::finish() {
  kernel_.term = term_.finish();
  kernel_.epilogue = epilogue_.finish();
  std::vector<KernelRequest> requests;
  requests.emplace_back(std::move(kernel_));
  return requests;
}

}  // namespace millrace::ops
