// SPDX-License-Identifier: Apache-2.0
// Random functions, compiled by LLVM for AMD GPUs and for this processor: the executor of machine code must give this
// processor's results. LLVM knows what each instruction computes, so it is a witness of the table of semantics.
//
//     isa_witness [SEED [COUNT [PROCESSOR]]]     the tests' functions without arguments
//
// Prints each seed that fails, with the shortest function that still fails; the exit code is then 1.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <fmt/format.h>

#include "compile_ir.h"
#include "folding.h"
#include "isa/execute.h"
#include "jit/llvm/amdgpu/machine_code.h"
#include "millrace/hal/gfx_target.h"
#include "random_ir.h"

namespace millrace::test {
namespace {

constexpr std::uint32_t kMaxSteps = 40;

struct Place {
  std::string gfx;
  std::uint32_t subgroup_size;
};

std::string gpu_ir(const std::vector<RandomFunction>& functions) {
  std::string ir = "declare i32 @llvm.amdgcn.workitem.id.x()\n";
  for (std::size_t i = 0; i < functions.size(); ++i) {
    ir += fmt::format(
        "define protected amdgpu_kernel void @f{}(ptr addrspace(1) noalias readonly %in, ptr addrspace(1) noalias "
        "%out) #0 {{\nentry:\n  %id = call i32 @llvm.amdgcn.workitem.id.x()\n  %thread = zext i32 %id to i64\n{}}}\n",
        i, functions[i].body);
  }
  // Without these a kernel has arguments that only a driver knows.
  return ir + fmt::format(
                  "attributes #0 = {{ \"amdgpu-flat-work-group-size\"=\"{0},{0}\" \"amdgpu-no-implicitarg-ptr\" "
                  "\"amdgpu-no-dispatch-ptr\" \"amdgpu-no-queue-ptr\" \"amdgpu-no-dispatch-id\" "
                  "\"amdgpu-no-workgroup-id-y\" \"amdgpu-no-workgroup-id-z\" \"amdgpu-no-workitem-id-y\" "
                  "\"amdgpu-no-workitem-id-z\" \"amdgpu-no-heap-ptr\" \"amdgpu-no-hostcall-ptr\" }}\n",
                  kNumThreads);
}

std::string host_ir(const std::vector<RandomFunction>& functions) {
  std::string ir;
  for (std::size_t i = 0; i < functions.size(); ++i) {
    ir += fmt::format("define void @f{}(ptr %in, ptr %out, i64 %thread) {{\nentry:\n{}}}\n", i, functions[i].body);
  }
  return ir;
}

std::uint64_t low_bits(std::uint64_t value, IrType type) {
  static constexpr int kSizes[] = {8, 8, 16, 32, 64, 32, 64, 32};
  const int unused = 64 - kSizes[static_cast<std::size_t>(type)];
  return value << unused >> unused;
}

bool is_nan(std::uint64_t bits, IrType type) {
  if (type == IrType::kF32) return (bits & 0x7fff'ffff) > 0x7f80'0000;
  return type == IrType::kF64 && (bits & 0x7fff'ffff'ffff'ffff) > 0x7ff0'0000'0000'0000;
}

/// How the results differ; empty if they do not.
std::string compare(const RandomFunction& function, const std::vector<std::uint64_t>& found,
                    const std::vector<std::uint64_t>& expected) {
  for (std::uint32_t thread = 0; thread < kNumThreads; ++thread) {
    for (std::uint32_t i = 0; i < kNumResults; ++i) {
      const IrType type = function.results[i];
      const std::uint64_t a = low_bits(found[thread * kNumResults + i], type);
      const std::uint64_t b = low_bits(expected[thread * kNumResults + i], type);
      if (a == b || (is_nan(a, type) && is_nan(b, type))) continue;
      return fmt::format("thread {}, result {}: {:#x}, expected {:#x}", thread, i, a, b);
    }
  }
  return {};
}

Result<std::vector<std::uint64_t>> run_on_gpu(const isa::Program& program, const std::string& name,
                                              std::vector<std::uint64_t>& rows, std::uint64_t seed) {
  std::vector<std::uint64_t> out(kNumThreads * kNumResults);
  const isa::Kernel* kernel = program.find(name);
  if (kernel == nullptr) return internal_error("no such kernel");
  const std::uint64_t arguments[] = {reinterpret_cast<std::uint64_t>(rows.data()),
                                     reinterpret_cast<std::uint64_t>(out.data())};
  const isa::LaunchBuffer buffers[] = {
      {.name = "in", .address = arguments[0], .size_bytes = rows.size() * 8, .is_written = false},
      {.name = "out", .address = arguments[1], .size_bytes = out.size() * 8, .is_written = true}};
  isa::Launch launch{.num_groups = 1, .arguments = std::as_bytes(std::span(arguments)), .buffers = buffers};
  launch.seed = seed;
  MILLRACE_TRY(isa::run_kernel(*kernel, launch).status());
  return out;
}

std::vector<std::uint64_t> run_on_host(NativeIr::Function function, const std::vector<std::uint64_t>& rows) {
  std::vector<std::uint64_t> out(kNumThreads * kNumResults);
  for (std::uint32_t thread = 0; thread < kNumThreads; ++thread) function(rows.data(), out.data(), thread);
  return out;
}

/// What is wrong with each of the functions.
Result<std::vector<std::string>> check(const Place& place, std::uint64_t first, std::uint64_t count,
                                       std::uint32_t num_steps) {
  std::vector<RandomFunction> for_gpu, for_host;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    for_gpu.push_back(make_random_function(seed, num_steps, "ptr addrspace(1)"));
    for_host.push_back(make_random_function(seed, num_steps, "ptr"));
  }
  MILLRACE_TRY_ASSIGN(const std::vector<std::byte> object,
                      compile_ir_for_gpu(gpu_ir(for_gpu), place.gfx, place.subgroup_size));
  MILLRACE_TRY_ASSIGN(MachineCode code, decode_llvm_code_object(object));
  MILLRACE_TRY_ASSIGN(const std::shared_ptr<const isa::Program> program, isa::load_program(std::move(code)));
  MILLRACE_TRY_ASSIGN(const std::unique_ptr<NativeIr> native, compile_ir_for_host(host_ir(for_host)));
  std::vector<std::string> reports;
  for (std::uint64_t i = 0; i < count; ++i) {
    std::vector<std::uint64_t> rows = make_rows(first + i);
    const std::string name = fmt::format("f{}", i);
    const NativeIr::Function function = native->find(name);
    if (function == nullptr) return internal_error("no native function");
    const std::vector<std::uint64_t> expected = run_on_host(function, rows);
    const auto found = run_on_gpu(*program, name, rows, (first + i) % 2 == 0 ? first + i : 0);
    reports.push_back(found.ok() ? compare(for_gpu[i], *found, expected) : found.status().message());
  }
  return reports;
}

/// The report on the shortest function of a seed that fails.
std::string shortest_failure(const Place& place, std::uint64_t seed) {
  for (std::uint32_t num_steps = 0; num_steps <= kMaxSteps; ++num_steps) {
    const auto reports = check(place, seed, 1, num_steps);
    const std::string report = reports.ok() ? reports->front() : reports.status().message();
    if (report.empty()) continue;
    return fmt::format("{}, {} lanes, seed {}, {} steps: {}\n{}", place.gfx, place.subgroup_size, seed, num_steps,
                       report, make_random_function(seed, num_steps, "ptr addrspace(1)").body);
  }
  return fmt::format("{}, seed {}: fails only among others", place.gfx, seed);
}

std::uint64_t check_all(const Place& place, std::uint64_t first, std::uint64_t count) {
  constexpr std::uint64_t kAtOnce = 20;  // functions of a module
  std::uint64_t num_failed = 0;
  for (std::uint64_t seed = first; seed < first + count; seed += kAtOnce) {
    const std::uint64_t num = std::min(kAtOnce, first + count - seed);
    const auto reports = check(place, seed, num, kMaxSteps);
    for (std::uint64_t i = 0; i < num; ++i) {
      if (reports.ok() && (*reports)[i].empty()) continue;
      if (!reports.ok() && check(place, seed + i, 1, kMaxSteps).ok()) continue;  // another one fails to compile
      if (++num_failed <= 10) fmt::print("{}\n", shortest_failure(place, seed + i));
    }
  }
  fmt::print("{}, {} lanes, seeds {} to {}: {} failed\n", place.gfx, place.subgroup_size, first, first + count - 1,
             num_failed);
  std::fflush(stdout);
  return num_failed;
}

std::uint64_t check_folding(std::uint64_t seed) {
  const auto reports = check_foldings(seed);
  if (!reports.ok()) {
    fmt::print("folding: {}\n", reports.status().message());
    return 1;
  }
  std::uint64_t num_failed = 0;
  for (const FoldingReport& report : *reports) {
    fmt::print("{}: {} folded, {} failed\n", report.instruction, report.num_folded, report.mistakes.size());
    for (std::size_t i = 0; i < report.mistakes.size() && i < 3; ++i) fmt::print("  {}\n", report.mistakes[i]);
    num_failed += report.mistakes.size();
  }
  return num_failed;
}

}  // namespace
}  // namespace millrace::test

int main(int argc, char** argv) {
  using namespace millrace::test;
  std::uint64_t first = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1;
  const std::uint64_t count = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 40;
  std::uint64_t num_failed = 0;
  for (const millrace::GfxTarget& target : millrace::gfx_targets()) {
    if (argc > 3 && target.name != argv[3]) continue;
    for (const std::uint32_t subgroup_size : {32u, 64u}) {
      if (target.generation == millrace::GfxGeneration::kCdna && subgroup_size == 32) continue;
      num_failed += check_all({std::string(target.name), subgroup_size}, first, count);
      first += count;  // each place has functions of its own
    }
  }
  num_failed += check_folding(first);
  return num_failed == 0 ? 0 : 1;
}
