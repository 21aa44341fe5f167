// SPDX-License-Identifier: Apache-2.0
// Which scans and scatters are refused, and how the others are lowered. tests/ops tests their results.
#include <doctest/doctest.h>

#include "tests/jit/algorithms/observed_sequence.h"
#include "tests/jit/algorithms/run_sequence.h"

namespace millrace {
namespace {

using test::forced;
using test::interpreted_target;

KernelTensor tensor(std::string name, DType dtype, const Shape& shape) {
  return {std::move(name), {dtype, shape}, Layout::row_major(shape)};
}

ScanDescriptor scan_of(const Shape& shape, std::uint32_t axis) {
  ScanDescriptor scan;
  scan.name = "scan";
  scan.input = tensor("x", DType::kF32, shape);
  scan.result = tensor("y", DType::kF32, shape);
  scan.axis = axis;
  return scan;
}

ScatterDescriptor scatter_of() {
  ScatterDescriptor scatter;
  scatter.name = "scatter";
  scatter.input = tensor("x", DType::kF32, {9, 20});
  scatter.indices = tensor("i", DType::kI64, {3});
  scatter.updates = tensor("u", DType::kF32, {3, 20});
  scatter.result = tensor("y", DType::kF32, {9, 20});
  return scatter;
}

std::string refusal(const KernelRequest& request, const char* algorithm) {
  return lower_request(request, interpreted_target(IsaLevel::kAvx2), forced(algorithm)).status().message();
}

TEST_CASE("a group scans one line, and across the last dim a vector of lines") {
  const Target target = interpreted_target(IsaLevel::kAvx2);
  CHECK(to_text(lower_request(scan_of({9, 20}, 0), target, forced("")).value()) == R"(sequence "scan_lines" {
  refused lane_scan_parts: rows of 9 elements, expected at least 4194304 to pay off
  refused lane_scan: rows of 9 elements, expected at least 16 to pay off
  kernel scan by interpreter in 3 groups (operand 0, result 0)
}
)");
  CHECK(to_text(lower_request(scan_of({9, 20}, 1), target, forced("")).value()) == R"(sequence "scan_lines" {
  refused lane_scan_parts: rows of 20 elements, expected at least 4194304 to pay off
  refused lane_scan: kernel scan: no generator of cpu:avx2 supports it:
  interpreter: a row kernel, expected a loop nest or a machine kernel
  kernel scan by interpreter in 9 groups (operand 0, result 0)
}
)");
  CHECK(to_text(lower_request(scatter_of(), target, forced("")).value()) == R"(sequence "scatter_lines" {
  kernel scatter by interpreter in 3 groups (operand 0, operand 1, operand 2, result 0)
}
)");
}

TEST_CASE("on a GPU a thread scans one line, and has a guard") {
  const Target target = test::gpu_target("gfx1100");
  const KernelSequence sequence = lower_request(scatter_of(), target, forced("")).value();
  CHECK(to_text(sequence) == R"(sequence "scatter_lines" {
  kernel scatter by llvm in 1 groups (operand 0, operand 1, operand 2, result 0)
}
)");
  CHECK(std::get<MachineKernel>(sequence.kernels[0].kernel.mapped).workgroup_size == 256);
}

TEST_CASE("an invalid scan is refused") {
  CHECK(refusal(scan_of({4}, 1), "scan_lines") ==
        "lower 'scan' for cpu:avx2: no algorithm lowers it; scan_lines: scan 'scan': axis 1, expected less than 1");
  ScanDescriptor scan = scan_of({4}, 0);
  scan.result = tensor("y", DType::kF64, {4});
  CHECK(refusal(scan, "scan_lines") ==
        "lower 'scan' for cpu:avx2: no algorithm lowers it; scan_lines: scan 'scan': the result is f64[4], expected "
        "f32[4]");
  CHECK(refusal(scan_of({4}, 0), "merge_sort") ==
        "lower 'scan' for cpu:avx2: no algorithm lowers it; merge_sort: lowers sorts, not scans");
}

TEST_CASE("a scatter whose tensors do not fit each other is refused") {
  ScatterDescriptor scatter = scatter_of();
  scatter.updates = tensor("u", DType::kF32, {4, 20});
  CHECK(refusal(scatter, "scatter_lines") ==
        "lower 'scatter' for cpu:avx2: no algorithm lowers it; scatter_lines: scatter 'scatter': the updates are "
        "f32[4x20], expected f32[3x20]");
  CHECK(refusal(scatter_of(), "loop_direct") ==
        "lower 'scatter' for cpu:avx2: no algorithm lowers it; loop_direct: lowers loops, not scatters");
}

}  // namespace
}  // namespace millrace
