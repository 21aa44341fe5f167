// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "hal/cpu/code_loader.h"
#include "millrace/hal/host_kernel.h"
#include "millrace/jit/kernel_compiler.h"
#include "millrace/jit/loop_kernel_builder.h"

namespace millrace::gemm_test {

/// The host's levels that xbyak makes code for.
std::vector<IsaLevel> generated_levels();

/// A product to build. Extents of 0 are allowed; `batch` of 0 means no batch dim at all.
struct GemmCase {
  std::int64_t batch = 0, m = 1, n = 1, k = 1;
  bool a_is_transposed = false, b_is_transposed = false, c_is_transposed = false;
  bool a_is_broadcast = false, b_is_broadcast = false;  // over the batch
  std::int64_t padding = 0;                             // elements between the rows of every tensor

  std::string to_text() const;
};

/// How an epilogue operand walks C.
enum class Spread : std::uint8_t { kFull, kPerColumn, kPerRow, kScalar };

/// The results at a point of C: computed from the sum and the elements of the epilogue's operands there.
using Element = std::function<BodyValue(std::size_t operand)>;
using GemmEpilogue = std::function<std::vector<BodyValue>(BodyBuilder&, BodyValue sum, const Element& element)>;

/// Without an epilogue the result is the sum.
LoopKernel make_gemm(const GemmCase&, const std::vector<Spread>& operands = {}, const GemmEpilogue& epilogue = {});

/// Memory between two pages that cannot be touched; its data ends (or starts) exactly there.
class GuardedBuffer {
 public:
  GuardedBuffer(std::size_t size_bytes, bool at_end, std::size_t alignment = 4);
  GuardedBuffer(const GuardedBuffer&) = delete;
  GuardedBuffer& operator=(const GuardedBuffer&) = delete;
  ~GuardedBuffer();
  float* floats() const { return reinterpret_cast<float*>(data_); }
  std::byte* data() const { return data_; }
  std::size_t num_floats() const { return size_bytes_ / 4; }
  void make_read_only();

 private:
  std::byte* pages_ = nullptr;
  std::size_t mapped_bytes_ = 0;
  std::byte* data_ = nullptr;
  std::size_t size_bytes_ = 0;
};

/// A kernel compiled by xbyak, and memory for one run of it: operands random and read-only, results full of canaries.
class GemmRun {
 public:
  static constexpr float kCanary = -12345.5f;

  /// `fill` gives operand values; without one, they are random in [-1, 1].
  using Fill = std::function<float(std::size_t operand, std::size_t element)>;
  GemmRun(const LoopKernel& kernel, IsaLevel isa, bool guards_at_end = true, const Fill& fill = {});

  std::int64_t num_groups() const { return planned_.num_groups.constant(); }
  const PlannedKernel& planned() const { return planned_; }
  const ExecutableImage& image() const { return image_; }
  /// One call of the kernel, for groups [first, end).
  struct Call {
    std::uint32_t first = 0, end = 0;
    bool continues = false;  // the last one
  };
  /// With the code at `code`, or at its own place.
  void run(const Call&, const void* code = nullptr);
  void run() { run({0, static_cast<std::uint32_t>(num_groups())}); }
  void clear_workgroup_memory(std::string_view slot);
  void fill_workgroup_memory(std::byte);
  void clear_results();
  const GuardedBuffer& operand(std::size_t i) const { return *operands_[i]; }
  const GuardedBuffer& result(std::size_t i = 0) const { return *results_[i]; }

 private:
  PlannedKernel planned_;
  ExecutableImage image_;
  MappedCode code_;
  std::vector<std::unique_ptr<GuardedBuffer>> operands_, results_;
  std::unique_ptr<GuardedBuffer> workgroup_memory_;
  std::vector<void*> pointers_;
  alignas(64) std::array<std::byte, KernelArgs::kWorkerStateBytes> worker_state_ = {};
};

/// Element numbers of A, B and C at a point of the product.
std::size_t a_at(const GemmCase&, std::int64_t batch, std::int64_t m, std::int64_t k);
std::size_t b_at(const GemmCase&, std::int64_t batch, std::int64_t k, std::int64_t n);
std::size_t c_at(const GemmCase&, std::int64_t batch, std::int64_t m, std::int64_t n);

/// A plain double loop. `bound` is the error that the f32 product may have.
struct Expected {
  double sum = 0;
  double bound = 0;
};
Expected expected_sum(const GemmCase&, const float* a, const float* b, std::int64_t batch, std::int64_t m,
                      std::int64_t n);

/// Finds the first element of C that is off by more than its bound, or a canary in the padding that was written; empty
/// if the result is right. `finish` turns the exact sum into the exact result.
std::string find_error(const GemmCase&, const GemmRun&,
                       const std::function<double(double sum, std::int64_t m, std::int64_t n)>& finish = {});

}  // namespace millrace::gemm_test
