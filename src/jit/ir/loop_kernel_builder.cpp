// SPDX-License-Identifier: Apache-2.0
// Builds loop kernels for applications and algorithms, and records the first wrong call.
#include "millrace/jit/loop_kernel_builder.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/guard_allocations.h"
#include "jit/ir/affine.h"
#include "millrace/base/printable.h"

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
  const auto is_body = [&](const Pass& pass) { return &body == &pass.term; };
  if (std::ranges::none_of(passes_, is_body) && &body != &epilogue_) {
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

BodyBuilder& LoopKernelBuilder::next_pass() { return passes_.emplace_back().term; }

BodyValue LoopKernelBuilder::reduce(ReductionKind kind, BodyValue value) {
  if (!term().defines(value)) {
    return note_mistake(epilogue_,
                        fmt::format("reduce {}: expected a value of the term; load() it into term()", to_text(kind)));
  }
  passes_.back().reduced.push_back(value);
  kernel_.reductions.push_back({kind, value.dtype, current_pass()});
  const DType result = returns_index(kind) ? DType::kI64 : value.dtype;
  results_.push_back(epilogue_.reduced(static_cast<std::uint32_t>(kernel_.reductions.size() - 1), result));
  return results_.back();
}

KeptId LoopKernelBuilder::keep(BodyValue value) {
  if (!term().defines(value)) {
    note_mistake(term(), "keep: expected a value of the current term");
    return KeptId{};
  }
  passes_.back().kept.push_back(value);
  kernel_.temporaries.push_back({value.dtype, current_pass()});
  return static_cast<KeptId>(kernel_.temporaries.size() - 1);
}

BodyValue LoopKernelBuilder::reduced(BodyValue result) {
  const auto it = std::ranges::find(results_, result.id, &BodyValue::id);
  if (it == results_.end() || it->dtype != result.dtype || !epilogue_.defines(result)) {
    return note_mistake(term(), "reduced: expected a result of reduce()");
  }
  return term().reduced(static_cast<std::uint32_t>(it - results_.begin()), result.dtype);
}

BodyValue LoopKernelBuilder::kept(KeptId id) {
  const auto number = static_cast<std::uint32_t>(id);
  if (number >= kernel_.temporaries.size()) {
    return note_mistake(term(), fmt::format("kept: value {}, expected less than {}; use an id from keep()", number,
                                            kernel_.temporaries.size()));
  }
  return term().temporary(number, kernel_.temporaries[number].dtype);
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
  add_result(std::move(tensor), std::move(indices), {});
  epilogue_.yield(value);
}

void LoopKernelBuilder::store_in_pass(std::string name, TensorType type, std::vector<AffineIndex> indices,
                                      BodyValue value) {
  Layout layout = Layout::row_major(type.shape);
  store_in_pass({std::move(name), std::move(type), std::move(layout)}, std::move(indices), value);
}

void LoopKernelBuilder::store_in_pass(KernelTensor tensor, std::vector<AffineIndex> indices, BodyValue value) {
  if (!term().defines(value)) {
    value = note_mistake(term(), fmt::format("store '{}': expected a value of the current term", tensor.name));
  }
  add_result(std::move(tensor), std::move(indices), current_pass());
  passes_.back().stored.push_back(value);
}

void LoopKernelBuilder::add_result(KernelTensor tensor, std::vector<AffineIndex> indices,
                                   std::optional<std::uint32_t> pass) {
  const auto number = static_cast<std::uint32_t>(kernel_.results.size());
  kernel_.results.push_back(std::move(tensor));
  kernel_.stores.push_back({number, std::move(indices), {}, {}, pass});
}

Result<LoopKernel> LoopKernelBuilder::finish_unverified() {
  return guard_allocations([&]() -> Result<LoopKernel> {
    if (std::exchange(is_finished_, true)) {
      return failed_precondition(
          "loop kernel: finish() is called twice; call it once, and not at all where GraphBuilder::kernel builds the "
          "kernel");
    }
    const auto take_mistake = [&](std::string_view role, const BodyBuilder& body) {
      if (mistake_.empty() && !body.mistake().empty()) mistake_ = fmt::format("the {} {}", role, body.mistake());
    };
    for (const Pass& pass : passes_) take_mistake("term", pass.term);
    take_mistake("epilogue", epilogue_);
    if (!mistake_.empty())
      return invalid_argument(fmt::format("loop kernel '{}': {}", printable(kernel_.name), mistake_));
    // An index has no coefficients for dims that were added after it.
    for (std::vector<Access>* accesses : {&kernel_.loads, &kernel_.stores}) {
      for (Access& access : *accesses) {
        for (AffineIndex& index : access.indices) {
          index.coefficients.resize(std::max(index.coefficients.size(), kernel_.domain.size()));
        }
      }
    }
    for (Pass& pass : passes_) {
      const bool is_map = passes_.size() == 1 && pass.reduced.empty() && pass.kept.empty() && pass.stored.empty();
      if (is_map) break;
      for (const auto* values : {&pass.reduced, &pass.kept, &pass.stored}) {
        for (const BodyValue value : *values) pass.term.yield(value);
      }
      kernel_.terms.push_back(pass.term.finish());
    }
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
