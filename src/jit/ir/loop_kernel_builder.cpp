// SPDX-License-Identifier: Apache-2.0
// Builds loop kernels for applications and algorithms, and records the first wrong call.
#include "millrace/jit/loop_kernel_builder.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/guard_allocations.h"
#include "jit/ir/affine.h"

namespace millrace {

AffineIndex operator+(AffineIndex a, const AffineIndex& b) {
  a.offset = a.offset + b.offset;
  a.coefficients.resize(std::max(a.coefficients.size(), b.coefficients.size()));
  for (std::size_t d = 0; d < b.coefficients.size(); ++d) a.coefficients[d] = a.coefficients[d] + b.coefficients[d];
  return a;
}

AffineIndex operator+(AffineIndex index, const SizeExpr& elements) {
  index.offset = index.offset + elements;
  return index;
}

AffineIndex operator-(AffineIndex index, const SizeExpr& elements) {
  index.offset = index.offset - elements;
  return index;
}

AffineIndex operator*(AffineIndex index, const SizeExpr& factor) {
  index.offset = index.offset * factor;
  for (SizeExpr& coefficient : index.coefficients) coefficient = coefficient * factor;
  return index;
}

AffineIndex LoopKernelBuilder::add_dim(LoopDim dim) {
  AffineIndex index{0, std::vector<SizeExpr>(kernel_.domain.size() + 1)};
  index.coefficients.back() = 1;
  kernel_.domain.push_back(std::move(dim));
  return index;
}

AffineIndex LoopKernelBuilder::parallel(std::string name, SizeExpr extent) {
  return add_dim({std::move(name), std::move(extent), false});
}

AffineIndex LoopKernelBuilder::reduction(std::string name, SizeExpr extent) {
  return add_dim({std::move(name), std::move(extent), true});
}

AffineIndex LoopKernelBuilder::groups(std::string name, SizeExpr extent) {
  return add_dim({std::move(name), std::move(extent), false, true});
}

std::vector<AffineIndex> LoopKernelBuilder::parallel_dims(const Shape& shape) {
  std::vector<AffineIndex> point;
  for (std::size_t d = 0; d < shape.rank(); ++d) point.push_back(parallel(fmt::format("d{}", d), shape[d]));
  return point;
}

OperandId LoopKernelBuilder::operand(std::string name, TensorType type) {
  Layout layout = Layout::row_major(type.shape);
  return operand({std::move(name), std::move(type), std::move(layout)});
}

OperandId LoopKernelBuilder::operand(KernelTensor tensor) {
  kernel_.operands.push_back(std::move(tensor));
  return static_cast<OperandId>(kernel_.operands.size() - 1);
}

std::uint32_t LoopKernelBuilder::access_number(Access access) {
  const auto it = std::find(kernel_.loads.begin(), kernel_.loads.end(), access);
  if (it != kernel_.loads.end()) return static_cast<std::uint32_t>(it - kernel_.loads.begin());
  kernel_.loads.push_back(std::move(access));
  return static_cast<std::uint32_t>(kernel_.loads.size() - 1);
}

/// Records the first mistake. Returns a constant in place of the wrong call's result, so that later calls can be
/// recorded.
BodyValue LoopKernelBuilder::note_mistake(BodyBuilder& body, std::string text) {
  if (mistake_.empty()) mistake_ = std::move(text);
  return body.constant_scalar(Scalar::of(0.0f));
}

BodyValue LoopKernelBuilder::load(BodyBuilder& body, OperandId operand, std::vector<AffineIndex> indices,
                                  const LoadOptions& options) {
  const auto number = static_cast<std::uint32_t>(operand);
  if (number >= kernel_.operands.size()) {
    return note_mistake(
        body, fmt::format("load: operand {}, expected less than {}; use an id from operand() of this builder", number,
                          kernel_.operands.size()));
  }
  const KernelTensor& tensor = kernel_.operands[number];
  if (&body != &term_ && &body != &epilogue_) {
    return note_mistake(body, fmt::format("load '{}': into another body, expected term() or epilogue() of this "
                                          "builder",
                                          tensor.name));
  }
  const DType dtype = body_dtype(tensor.type.dtype);
  Access access{number, std::move(indices), {}, options.fill};
  if (!options.gather_index) return body.load(access_number(std::move(access)), dtype);
  if (options.gather_index->dtype != DType::kI64 || !body.defines(*options.gather_index)) {
    return note_mistake(body, fmt::format("load '{}': gather index is {}, expected an i64 of the same body; convert it",
                                          tensor.name, to_text(options.gather_index->dtype)));
  }
  access.dynamic_dim = options.gather_dim;
  return body.load(access_number(std::move(access)), dtype, *options.gather_index);
}

BodyValue LoopKernelBuilder::index(BodyBuilder& body, const AffineIndex& index) {
  return index_value(body, index, kernel_.extents);
}

BodyValue LoopKernelBuilder::extent(BodyBuilder& body, const SizeExpr& size) {
  return extent_value(body, size, kernel_.extents);
}

BodyValue LoopKernelBuilder::reduce(ReductionKind kind, BodyValue value) {
  if (!term_.defines(value)) {
    return note_mistake(epilogue_,
                        fmt::format("reduce {}: expected a value of the term; load() it into term()", to_text(kind)));
  }
  term_.yield(value);
  kernel_.reductions.push_back({kind, value.dtype});
  const DType result = returns_index(kind) ? DType::kI64 : value.dtype;
  return epilogue_.reduced(static_cast<std::uint32_t>(kernel_.reductions.size() - 1), result);
}

void LoopKernelBuilder::store(std::string name, TensorType type, std::vector<AffineIndex> indices, BodyValue value) {
  Layout layout = Layout::row_major(type.shape);
  store({std::move(name), std::move(type), std::move(layout)}, std::move(indices), value);
}

void LoopKernelBuilder::store(KernelTensor tensor, std::vector<AffineIndex> indices, BodyValue value) {
  if (!epilogue_.defines(value)) {
    value = note_mistake(epilogue_,
                         fmt::format("store '{}': expected a value of the epilogue; reduce() gives one", tensor.name));
  }
  const auto number = static_cast<std::uint32_t>(kernel_.results.size());
  kernel_.results.push_back(std::move(tensor));
  kernel_.stores.push_back({number, std::move(indices), {}, {}});
  epilogue_.yield(value);
}

Result<LoopKernel> LoopKernelBuilder::finish_unverified() {
  return guard_allocations([&]() -> Result<LoopKernel> {
    for (const BodyBuilder* body : {&term_, &epilogue_}) {
      if (body->mistake().empty() || !mistake_.empty()) continue;
      mistake_ = fmt::format("the {} {}", body == &term_ ? "term" : "epilogue", body->mistake());
    }
    if (!mistake_.empty()) return invalid_argument(fmt::format("loop kernel '{}': {}", kernel_.name, mistake_));
    // An index has no coefficients for dims that were added after it.
    for (std::vector<Access>* accesses : {&kernel_.loads, &kernel_.stores}) {
      for (Access& access : *accesses) {
        for (AffineIndex& index : access.indices) {
          index.coefficients.resize(std::max(index.coefficients.size(), kernel_.domain.size()));
        }
      }
    }
    kernel_.term = term_.finish();
    kernel_.epilogue = epilogue_.finish();
    return std::move(kernel_);
  });
}

Result<LoopKernel> LoopKernelBuilder::finish() {
  return guard_allocations([&]() -> Result<LoopKernel> {
    MILLRACE_TRY_ASSIGN(LoopKernel kernel, finish_unverified());
    MILLRACE_TRY(verify(kernel));
    return kernel;
  });
}

}  // namespace millrace
