// SPDX-License-Identifier: Apache-2.0
#include "tests/jit/xbyak/gemm_harness.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <sys/mman.h>

#include <fmt/format.h>

#include "hal/host/routines/gemm/gemm_f32.h"
#include "hal/host/routines/routine.h"

namespace millrace::gemm_test {
namespace {

/// A tensor of two dims, the second contiguous unless `is_transposed`, and a batch dim before them.
struct Matrix {
  std::int64_t batch_stride, row_stride, column_stride;
};

Matrix matrix_of(std::int64_t rows, std::int64_t columns, bool is_transposed, bool is_broadcast, std::int64_t padding) {
  const std::int64_t line = (is_transposed ? rows : columns) + padding;
  const std::int64_t batch = is_broadcast ? 0 : line * (is_transposed ? columns : rows);
  return is_transposed ? Matrix{batch, 1, line} : Matrix{batch, line, 1};
}

Matrix a_matrix(const GemmCase& c) { return matrix_of(c.m, c.k, c.a_is_transposed, c.a_is_broadcast, c.padding); }
Matrix b_matrix(const GemmCase& c) { return matrix_of(c.k, c.n, c.b_is_transposed, c.b_is_broadcast, c.padding); }
Matrix c_matrix(const GemmCase& c) { return matrix_of(c.m, c.n, c.c_is_transposed, false, c.padding); }

/// A tensor, and how the kernel walks it.
struct Walk {
  KernelTensor tensor;
  std::vector<AffineIndex> indices;
};

/// The domain of a product, and the tensors over it.
struct Domain {
  const GemmCase& c;
  LoopKernelBuilder& kernel;
  std::optional<AffineIndex> batch;
  AffineIndex m, n, k;

  Domain(const GemmCase& gemm, LoopKernelBuilder& builder) : c(gemm), kernel(builder) {
    if (c.batch > 0) batch = kernel.parallel("b", c.batch);
    m = kernel.parallel("m", c.m);
    n = kernel.parallel("n", c.n);
    k = kernel.reduction("k", c.k);
  }

  struct Axis {
    std::int64_t extent, stride;
    AffineIndex index;
  };
  Walk walk(std::string name, std::int64_t batch_stride, std::vector<Axis> axes) const {
    if (batch && batch_stride != 0) axes.insert(axes.begin(), {c.batch, batch_stride, *batch});
    Walk result;
    std::vector<SizeExpr> extents;
    for (const Axis& axis : axes) {
      extents.push_back(axis.extent);
      result.tensor.layout.strides.push_back(axis.stride);
      result.indices.push_back(axis.index);
    }
    result.tensor.name = std::move(name);
    result.tensor.type = {DType::kF32, Shape(std::move(extents))};
    return result;
  }
  Walk a() const {
    const Matrix matrix = a_matrix(c);
    return walk("a", matrix.batch_stride, {{c.m, matrix.row_stride, m}, {c.k, matrix.column_stride, k}});
  }
  Walk b() const {
    const Matrix matrix = b_matrix(c);
    return walk("b", matrix.batch_stride, {{c.k, matrix.row_stride, k}, {c.n, matrix.column_stride, n}});
  }
  Walk like_c(std::string name) const {
    const Matrix matrix = c_matrix(c);
    return walk(std::move(name), matrix.batch_stride, {{c.m, matrix.row_stride, m}, {c.n, matrix.column_stride, n}});
  }
  Walk spread(std::string name, Spread spread) const {
    if (spread == Spread::kFull) return like_c(std::move(name));
    if (spread == Spread::kPerColumn) return walk(std::move(name), 0, {{c.n, 1, n}});
    if (spread == Spread::kPerRow) return walk(std::move(name), 0, {{c.m, 1, m}});
    return walk(std::move(name), 0, {});
  }
};

std::size_t position(const Matrix& matrix, std::int64_t batch, std::int64_t row, std::int64_t column) {
  return static_cast<std::size_t>(batch * matrix.batch_stride + row * matrix.row_stride +
                                  column * matrix.column_stride);
}

std::size_t buffer_bytes(const KernelTensor& tensor) {
  return static_cast<std::size_t>(extent_elements(tensor.type.shape, tensor.layout).constant()) * 4;
}

}  // namespace

std::vector<IsaLevel> generated_levels() {
  std::vector<IsaLevel> levels;
  for (const IsaLevel isa : host_isa_levels()) {
    if (isa != IsaLevel::kBaseline) levels.push_back(isa);
  }
  return levels;
}

std::string GemmCase::to_text() const {
  return fmt::format("batch {} m {} n {} k {}{}{}{}{}{} padding {}", batch, m, n, k, a_is_transposed ? " A'" : "",
                     b_is_transposed ? " B'" : "", c_is_transposed ? " C'" : "", a_is_broadcast ? " one A" : "",
                     b_is_broadcast ? " one B" : "", padding);
}

LoopKernel make_gemm(const GemmCase& c, const std::vector<Spread>& operands, const GemmEpilogue& epilogue) {
  LoopKernelBuilder kernel("dot");
  const Domain domain(c, kernel);
  const auto load = [&](BodyBuilder& body, const Walk& walk) {
    return kernel.load(body, kernel.operand(walk.tensor), walk.indices);
  };
  const BodyValue a = load(kernel.term(), domain.a());
  const BodyValue sum = kernel.reduce(ReductionKind::kSum, kernel.term().mul(a, load(kernel.term(), domain.b())));
  std::vector<std::pair<OperandId, Walk>> others;
  for (const Spread spread : operands) {
    Walk walk = domain.spread(fmt::format("e{}", others.size()), spread);
    const OperandId operand = kernel.operand(walk.tensor);
    others.emplace_back(operand, std::move(walk));
  }
  BodyBuilder& body = kernel.epilogue();
  const auto element = [&](std::size_t i) { return kernel.load(body, others[i].first, others[i].second.indices); };
  const std::vector<BodyValue> values = epilogue ? epilogue(body, sum, element) : std::vector<BodyValue>{sum};
  for (std::size_t i = 0; i < values.size(); ++i) {
    Walk walk = domain.like_c(fmt::format("c{}", i));
    kernel.store(std::move(walk.tensor), std::move(walk.indices), values[i]);
  }
  return kernel.finish().value();
}

GuardedBuffer::GuardedBuffer(std::size_t size_bytes, bool at_end, std::size_t alignment) : size_bytes_(size_bytes) {
  constexpr std::size_t kPage = 4096;
  const std::size_t inside = (size_bytes + kPage - 1) / kPage * kPage;
  mapped_bytes_ = inside + 2 * kPage;
  pages_ = static_cast<std::byte*>(mmap(nullptr, mapped_bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  MILLRACE_CHECK(pages_ != MAP_FAILED);
  MILLRACE_CHECK(inside == 0 || mprotect(pages_ + kPage, inside, PROT_READ | PROT_WRITE) == 0);
  data_ = pages_ + kPage + (at_end ? (inside - size_bytes) / alignment * alignment : 0);
}

GuardedBuffer::~GuardedBuffer() { munmap(pages_, mapped_bytes_); }

void GuardedBuffer::make_read_only() {
  constexpr std::size_t kPage = 4096;
  MILLRACE_CHECK(mprotect(pages_ + kPage, mapped_bytes_ - 2 * kPage, PROT_READ) == 0);
}

GemmRun::GemmRun(const LoopKernel& kernel, IsaLevel isa, bool guards_at_end, const Fill& fill) {
  const TargetSpec spec{"cpu", isa};
  const auto generator = make_xbyak_generator();
  planned_ = generator->plan(kernel, spec).value();
  image_ = generator->emit(planned_, spec).value();
  code_ = MappedCode::map(image_.bytes, image_.code_bytes).value();
  std::mt19937 random(7);
  std::uniform_real_distribution<float> distribution(-1, 1);
  for (const KernelTensor& tensor : kernel.operands) {
    operands_.push_back(std::make_unique<GuardedBuffer>(buffer_bytes(tensor), guards_at_end));
    GuardedBuffer& buffer = *operands_.back();
    for (std::size_t i = 0; i < buffer.num_floats(); ++i) {
      buffer.floats()[i] = fill ? fill(operands_.size() - 1, i) : distribution(random);
    }
    if (buffer.num_floats() > 0) buffer.make_read_only();
    pointers_.push_back(buffer.data());
  }
  for (const KernelTensor& tensor : kernel.results) {
    results_.push_back(std::make_unique<GuardedBuffer>(buffer_bytes(tensor), guards_at_end));
    pointers_.push_back(results_.back()->data());
  }
  workgroup_memory_ = std::make_unique<GuardedBuffer>(planned_.info.workgroup_bytes, guards_at_end, 64);
  clear_results();
}

void GemmRun::clear_results() {
  for (const auto& result : results_) std::fill_n(result->floats(), result->num_floats(), kCanary);
}

void GemmRun::clear_workgroup_memory(std::string_view name) {
  const auto& slots = planned_.memory.slots;
  const auto slot = std::ranges::find(slots, name, &PlannedSlot::name);
  MILLRACE_CHECK(slot != slots.end());
  std::fill_n(workgroup_memory_->data() + slot->offset_bytes, slot->size_bytes, std::byte{0});
}

void GemmRun::fill_workgroup_memory(std::byte value) {
  std::fill_n(workgroup_memory_->data(), planned_.info.workgroup_bytes, value);
}

void GemmRun::run(const Call& call, const void* code) {
  if (!call.continues) worker_state_ = {};
  std::uint32_t status = 0;
  const KernelArgs args{&status, workgroup_memory_->data(), pointers_.data(), nullptr, worker_state_.data()};
  gemm_f32(code != nullptr ? code : code_.data(), image_.routine.parameters, &args, call.first, call.end);
  MILLRACE_CHECK(status == 0);
}

std::size_t a_at(const GemmCase& c, std::int64_t batch, std::int64_t m, std::int64_t k) {
  return position(a_matrix(c), batch, m, k);
}
std::size_t b_at(const GemmCase& c, std::int64_t batch, std::int64_t k, std::int64_t n) {
  return position(b_matrix(c), batch, k, n);
}
std::size_t c_at(const GemmCase& c, std::int64_t batch, std::int64_t m, std::int64_t n) {
  return position(c_matrix(c), batch, m, n);
}

Expected expected_sum(const GemmCase& c, const float* a, const float* b, std::int64_t batch, std::int64_t m,
                      std::int64_t n) {
  Expected result;
  double magnitude = 0;
  for (std::int64_t k = 0; k < c.k; ++k) {
    const double product = static_cast<double>(a[a_at(c, batch, m, k)]) * b[b_at(c, batch, k, n)];
    result.sum += product;
    magnitude += std::fabs(product);
  }
  result.bound = static_cast<double>(c.k) * std::numeric_limits<float>::epsilon() * magnitude;
  return result;
}

std::string find_error(const GemmCase& c, const GemmRun& run,
                       const std::function<double(double, std::int64_t, std::int64_t)>& finish) {
  const float* result = run.result().floats();
  std::vector<bool> is_inside(run.result().num_floats());
  for (std::int64_t batch = 0; batch < std::max<std::int64_t>(c.batch, 1); ++batch) {
    for (std::int64_t m = 0; m < c.m; ++m) {
      for (std::int64_t n = 0; n < c.n; ++n) {
        const std::size_t at = c_at(c, batch, m, n);
        is_inside[at] = true;
        Expected expected = expected_sum(c, run.operand(0).floats(), run.operand(1).floats(), batch, m, n);
        if (finish) {
          // Epilogues of these tests change no distance by more than a few roundings.
          expected.sum = finish(expected.sum, m, n);
          expected.bound += 4 * std::numeric_limits<float>::epsilon() * std::fabs(expected.sum);
        }
        if (std::fabs(result[at] - expected.sum) <= expected.bound) continue;
        return fmt::format("{}: C[{}, {}, {}] is {}, expected {} +- {}", c.to_text(), batch, m, n, result[at],
                           expected.sum, expected.bound);
      }
    }
  }
  for (std::size_t i = 0; i < is_inside.size(); ++i) {
    if (!is_inside[i] && result[i] != GemmRun::kCanary) {
      return fmt::format("{}: element {} of C's padding was written with {}", c.to_text(), i, result[i]);
    }
  }
  return {};
}

}  // namespace millrace::gemm_test
