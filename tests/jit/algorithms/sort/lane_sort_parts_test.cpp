// SPDX-License-Identifier: Apache-2.0
// Sorts of long rows as a sequence of kernels: which rows it takes, and what the kernels bind. tests/ops/ runs them.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "tests/jit/algorithms/sort/cpu_sort_run.h"

namespace millrace {
namespace {

using test::descriptor_of;
using test::SortCase;

Result<KernelSequence> lower(const SortDescriptor& sort) {
  const Target target =
      Target::create({"cpu", IsaLevel::kAvx2}, {make_xbyak_generator(), make_llvm_generator()}).value();
  return lower_request(sort, target, {});
}

/// The scratch, and each kernel with its groups and buffers.
std::string summary_of(const KernelSequence& sequence) {
  constexpr std::string_view kKinds[] = {"operand", "result", "scratch"};
  std::string text;
  for (const SequenceScratch& scratch : sequence.scratch) {
    text += fmt::format("{} {} bytes\n", scratch.name, scratch.size_bytes.to_text());
  }
  for (const SequenceKernel& entry : sequence.kernels) {
    text += fmt::format("{} x {}:", entry.kernel.num_groups.to_text(), entry.kernel.name);
    for (std::size_t i = 0; i < entry.buffers.size(); ++i) {
      const SequenceOperand& buffer = entry.buffers[i];
      text += fmt::format(" {} {}{}", kKinds[static_cast<std::size_t>(buffer.kind)], buffer.index,
                          entry.kernel.info.buffer_is_written[i] ? " written" : "");
    }
    text += "\n";
  }
  return text;
}

TEST_CASE("a sort of long rows of floats is four kernels, which share scratch") {
  SortCase test{DType::kF32, {2, 1'000'000}, 1, 1'000'000};
  test.wants_indices = false;
  CHECK(summary_of(lower(descriptor_of(test)).value()) ==
        "cuts 16384 bytes\n"
        "starts 8184 bytes\n"
        "chunk_keys 8000000 bytes\n"
        "bucket_keys 16000000 bytes\n"
        "2 x sort_cuts: operand 0 scratch 0 written\n"
        "62 x sort_chunks: operand 0 scratch 0 scratch 1 written scratch 2 written\n"
        "62 x sort_buckets: operand 0 result 0 written scratch 0 scratch 1 scratch 2 scratch 3 written\n"
        "2 x sort_runs: operand 0 result 0 written scratch 0 scratch 1 scratch 2 scratch 3 written\n");
}

TEST_CASE("if keys hold an index, nothing is restored") {
  CHECK(summary_of(lower(descriptor_of({DType::kF32, {262'144}, 0, 262'144})).value()) ==
        "cuts 8192 bytes\n"
        "starts 192 bytes\n"
        "chunk_keys 2097152 bytes\n"
        "bucket_keys 4194304 bytes\n"
        "1 x sort_cuts: operand 0 scratch 0 written\n"
        "6 x sort_chunks: operand 0 scratch 0 scratch 1 written scratch 2 written\n"
        "6 x sort_buckets: operand 0 result 0 written result 1 written scratch 0 scratch 1 scratch 2 "
        "scratch 3 written\n");
}

/// What a sort of values reserves for the keys: "3145728 bytes", or "139264 bytes in workgroup memory".
std::string key_memory(DType dtype, std::int64_t rows, const SizeExpr& n) {
  SortDescriptor sort = descriptor_of({dtype, {rows, 1}, 1, 1, false, true, false});
  for (KernelTensor* tensor : {&sort.input, &*sort.values}) {
    tensor->type.shape = Shape{rows, n};
    tensor->layout = Layout::row_major(tensor->type.shape);
  }
  sort.k = n;
  const KernelSequence sequence = lower(sort).value();
  CHECK(sequence.algorithm == "lane_sort");
  if (sequence.scratch.empty()) {
    REQUIRE(sequence.kernels.size() == 1);
    for (const PlannedSlot& slot : sequence.kernels[0].kernel.memory.slots) {
      if (slot.name == "keys") return std::to_string(slot.size_bytes) + " bytes in workgroup memory";
    }
    return "nowhere";
  }
  REQUIRE(sequence.scratch.size() == 1);
  return sequence.scratch[0].size_bytes.to_text() + " bytes";
}

TEST_CASE("counted rows have memory that does not grow with their length") {
  for (const DType dtype : {DType::kU8, DType::kI8, DType::kBool}) {
    CHECK(key_memory(dtype, 3, 64'000'000) == "139264 bytes in workgroup memory");
    CHECK(key_memory(dtype, 3, Dim("n").at_most(64'000'000)) == "139264 bytes in workgroup memory");
    CHECK(key_memory(dtype, 3, 0xffff'ffff) == "139264 bytes in workgroup memory");
    CHECK(key_memory(dtype, 1, 0x1'0000'0000) == "34359738368 bytes");  // which are not counted
  }
  for (const DType dtype : {DType::kU16, DType::kI16, DType::kF16, DType::kBF16}) {
    CHECK(key_memory(dtype, 3, 100'000) == "2400000 bytes");
    CHECK(key_memory(dtype, 3, 131'072) == "3145728 bytes");
    CHECK(key_memory(dtype, 3, 1'000'000) == "3145728 bytes");
    CHECK(key_memory(dtype, 3, Dim("n")) == "24*min(n, 8589934592*floor_div(n, 4294967296) + 131072) bytes");
  }
}

TEST_CASE("a row of any length is sorted as a whole or in parts") {
  SortDescriptor sort = descriptor_of({DType::kI32, {1}, 0, 1});
  const SizeExpr n = Dim("n").at_most(1 << 30);
  for (KernelTensor* tensor : {&sort.input, &*sort.values, &*sort.indices}) {
    tensor->type.shape = Shape{n};
    tensor->layout = Layout::row_major(tensor->type.shape);
  }
  sort.k = n;
  const KernelSequence sequence = lower(sort).value();
  CHECK(sequence.algorithm == "lane_sort_parts, lane_sort");
}

TEST_CASE("few results of a long row are selected, for every k that a run may bind") {
  SortDescriptor sort = descriptor_of({DType::kI32, {1'000'000}, 0, 1});
  sort.k = Dim("k").at_most(100'000);
  for (std::optional<KernelTensor>* result : {&sort.values, &sort.indices}) {
    (*result)->type.shape = Shape{sort.k};
    (*result)->layout = Layout::row_major((*result)->type.shape);
  }
  const KernelSequence sequence = lower(sort).value();
  const auto launched = [&](std::int64_t k) {
    std::string names;
    for (const SequenceKernel& entry : sequence.kernels) {
      if (entry.kernel.num_groups.evaluate({{"k", k}}).value() > 0) names += entry.kernel.name + " ";
    }
    return names;
  };
  CHECK(launched(10) == "sort_first ");
  CHECK(launched(1024) == "sort_first ");
  CHECK(launched(8192) == "sort_first ");
  CHECK(launched(8193) == "sort_parts_cuts sort_parts_chunks sort_parts_buckets ");
}

TEST_CASE("short rows are refused, and rows that one kernel sorts faster are not considered") {
  const auto reason = [](const SortCase& test) {
    const KernelSequence sequence = lower(descriptor_of(test)).value();
    std::string text;
    for (const Refusal& refusal : sequence.refusals) {
      if (refusal.who == "lane_sort_parts") text += refusal.reason;
    }
    return text;
  };
  const auto algorithm = [](const SortCase& test) { return lower(descriptor_of(test)).value().algorithm; };
  CHECK(reason({DType::kF32, {262'143}, 0, 262'143}) == "rows of 262143 elements, expected at least 262144 to pay off");
  const SortCase selected{DType::kF32, {1'000'000}, 0, 100};
  CHECK(algorithm(selected) == "lane_sort");
  CHECK(reason(selected) == "");
  SortCase narrow{DType::kF16, {1'000'000}, 0, 1'000'000};
  CHECK(algorithm(narrow) == "lane_sort_parts");
  narrow.wants_indices = false;
  CHECK(algorithm(narrow) == "lane_sort");
  CHECK(reason(narrow) == "");
}

}  // namespace
}  // namespace millrace
