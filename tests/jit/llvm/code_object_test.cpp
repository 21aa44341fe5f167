// SPDX-License-Identifier: Apache-2.0
// Code objects: their checks, how they are joined, and which files are refused.
#include <cstring>
#include <map>

#include <doctest/doctest.h>

#include "millrace/jit/kernel_cache.h"
#include "millrace/jit/machine_builder.h"
#include "tests/jit/llvm/emit_support.h"
#include "tests/jit/llvm/gpu_support.h"
#include "tests/support/gpu/gpu_kernels.h"
#include "tests/support/sliced.h"

namespace millrace {
namespace {

const GfxTarget& kGfx = *find_gfx_target("gfx1100");

EmittedGpuKernel row_sum() { return EmittedGpuKernel(test::row_sum_kernel(DType::kF32, 32), kGfx); }

TEST_CASE("an object that differs from its plan is refused, with all differences") {
  const EmittedGpuKernel kernel = row_sum();
  CHECK(check_code_object(kernel.info(), kernel.planned(), spec_of(kGfx)).ok());
  CodeObjectInfo info = kernel.info();
  info.target = "amdgcn-amd-amdhsa--gfx1030";
  info.version = 5;
  info.set_features = {"xnack+"};
  info.undefined_symbols = {"malloc", "free"};
  info.other_functions = {"helper"};
  info.relocations = {"R_AMDGPU_ABS64"};
  CodeObjectKernel& code = info.kernels[0];
  code.argument_bytes = 272;
  code.hidden_arguments = {"hidden_block_count_x"};
  code.workgroup_bytes = 64;
  code.private_bytes = 16;
  code.workgroup_size = 1024;
  code.subgroup_size = 64;
  code.num_vector_spills = 2;
  code.has_dynamic_stack = true;
  code.inactive_lane_reads = {"v_permlanex16_b32 v2, v1, s2, s3 at byte 132"};
  CHECK(
      check_code_object(info, kernel.planned(), spec_of(kGfx)).message() ==
      "kernel 'row_sum' for amdgpu:gfx1100: its code object is not as planned: target amdgcn-amd-amdhsa--gfx1030, "
      "expected amdgcn-amd-amdhsa--gfx1100; version 5, expected 4; processor features xnack+, expected none; undefined "
      "symbols malloc, free, expected none; functions other than kernels helper, expected none; relocations "
      "R_AMDGPU_ABS64, expected none; bytes of arguments 272, expected 32; hidden arguments hidden_block_count_x, "
      "expected none; bytes of workgroup memory 64, expected 32; bytes of private memory 16, expected at most 0; "
      "threads of a workgroup 1024, expected 256; threads of a subgroup 64, expected 32; spills of vector registers 2, "
      "expected 0; dynamic stack true, expected false; exchanges with lanes that may be off v_permlanex16_b32 v2, v1, "
      "s2, s3 at byte 132, expected none");
  info = kernel.info();
  info.kernels.clear();
  CHECK(check_code_object(info, kernel.planned(), spec_of(kGfx)).message() ==
        "kernel 'row_sum' for amdgpu:gfx1100: its code object is not as planned: no kernel '" +
            kernel_symbol(kernel.planned()) + "'");
}

TEST_CASE("emission fails if the object differs from its plan") {
  MachineBuilder b("lookup");
  b.set_workgroup(32, 32);
  const MemoryHandle x = b.buffer("x", DType::kI32, BufferAccess::kReadWrite),
                     mine = b.private_memory(DType::kI32, 200, "mine");
  const MachineValue thread = b.thread_id();
  b.store(mine, b.load(x, thread), thread);
  b.store(x, thread, b.load(mine, thread));
  const TargetSpec spec = spec_of(kGfx);
  const auto generator = make_llvm_generator();
  PlannedKernel planned = generator->plan(b.finish(), spec).value();
  CHECK(generator->emit(planned, spec).ok());
  planned.memory.private_bytes = 400;
  const Status status = generator->emit(planned, spec).status();
  CHECK(status.code() == StatusCode::kInternal);
  CHECK(status.message() ==
        "kernel 'lookup' for amdgpu:gfx1100: its code object is not as planned: bytes of private memory 816, expected "
        "at most 416");
}

TEST_CASE("an error of LLVM is a status: more workgroup memory than the target has") {
  const TargetSpec spec = spec_of(kGfx);
  const auto generator = make_llvm_generator();
  PlannedKernel planned = generator->plan(test::row_sum_kernel(DType::kF32, 32), spec).value();
  planned.memory.workgroup_bytes = 80 * 1024;
  const Status status = generator->emit(planned, spec).status();
  CHECK(status.code() == StatusCode::kInternal);
  CHECK(status.message() == "llvm: kernel 'row_sum': local memory (81920) exceeds limit (65536) in function '" +
                                kernel_symbol(planned) + "'");
}

TEST_CASE("the kernels of a program are joined to one object, each distinct one once") {
  const EmittedGpuKernel sum = row_sum();
  const EmittedGpuKernel scan(test::block_scan_kernel(DType::kI32, 32), kGfx);
  MachineKernel renamed = test::row_sum_kernel(DType::kF32, 32);
  renamed.name = "another_layer";
  const EmittedGpuKernel again(renamed, kGfx);
  CHECK(again.image().symbol == sum.image().symbol);
  const std::vector<ExecutableImage> images = {sum.image(), scan.image(), again.image()};
  const CodeObjectInfo info = read_code_object(link_images(images).value()).value();
  REQUIRE(info.kernels.size() == 2);
  CHECK(info.undefined_symbols.empty());
  CHECK(check_code_object(info, sum.planned(), spec_of(kGfx)).ok());
  CHECK(check_code_object(info, scan.planned(), spec_of(kGfx)).ok());
  CHECK(check_code_object(info, again.planned(), spec_of(kGfx)).ok());
}

TEST_CASE("an object has one metadata note, with all of its kernels") {
  const std::vector<ExecutableImage> images = {row_sum().image(),
                                               EmittedGpuKernel(test::block_scan_kernel(DType::kI32, 32), kGfx).image(),
                                               EmittedGpuKernel(test::axpy_kernel(DType::kF32, 32), kGfx).image()};
  const std::vector<std::byte> object = link_images(images).value();
  const std::string_view text(reinterpret_cast<const char*>(object.data()), object.size());
  CHECK(text.find("amdhsa.kernels") != std::string_view::npos);
  CHECK(text.find("amdhsa.kernels") == text.rfind("amdhsa.kernels"));
  CHECK(read_code_object(object).value().kernels.size() == 3);
}

TEST_CASE("an object is of version 4, and for processors with xnack and sramecc on or off") {
  // Bytes of the ELF header: the version of the ABI, and of the flags, the processor and the features: bit 8 alone is
  // "any" of xnack, bit 10 of sramecc. RDNA has neither.
  const std::map<std::string_view, std::uint32_t> flags = {{"gfx90a", 0x53f}, {"gfx942", 0x54c}, {"gfx1030", 0x36},
                                                           {"gfx1100", 0x41}, {"gfx1151", 0x4a}, {"gfx1201", 0x4e}};
  for (const GfxTarget& gfx : gfx_targets()) {
    CAPTURE(gfx.name);
    const EmittedGpuKernel kernel(test::row_sum_kernel(DType::kF32, gfx.subgroup_size), gfx);
    const std::vector<std::byte> object = link_images({{kernel.image()}}).value();
    std::uint32_t found = 0;
    std::memcpy(&found, object.data() + 48, sizeof(found));
    REQUIRE(flags.contains(gfx.name));
    CHECK(found == flags.at(gfx.name));
    CHECK(object[8] == std::byte{2});  // ELFABIVERSION_AMDGPU_HSA_V4
    CHECK(kernel.info().version == 4);
    CHECK(kernel.info().set_features.empty());
  }
}

TEST_CASE("objects that cannot be joined are refused, and named") {
  const auto message = [](const std::vector<ExecutableImage>& images) {
    return link_images(images).status().message();
  };
  const ExecutableImage sum = row_sum().image();
  ExecutableImage host, other = sum, broken = sum;
  host.info.name = "gelu";
  other.info.name = "softmax";
  other.target = "amdgpu:gfx1030";
  broken.bytes = std::vector<std::byte>{std::byte{1}, std::byte{2}};
  CHECK(message({}) == "link: no image, expected one or more");
  CHECK(message({sum, host}) == "link: kernel 'gelu' is not a GPU object; give images for GPU targets only");
  CHECK(
      message({sum, other}) ==
      "link: kernel 'row_sum' is for amdgpu:gfx1100, kernel 'softmax' for amdgpu:gfx1030; link each target by itself");
  CHECK(message({broken}) == "link: not an object file: Invalid ELF class");
}

TEST_CASE("a file that is not a code object is refused, with the reason") {
  const auto message = [](std::span<const std::byte> bytes) { return read_code_object(bytes).status().message(); };
  std::vector<std::byte> object = link_images({{row_sum().image()}}).value();
  CHECK(read_code_object(object).ok());
  CHECK(message({}) == "code object: invalid buffer: the size (0) is smaller than an ELF header (64)");
  CHECK(message(row_sum().image().bytes) == "code object: not a shared object for an AMD GPU");  // relocatable
  object[18] = std::byte{62};                                                                    // EM_X86_64
  CHECK(message(object) == "code object: not a shared object for an AMD GPU");
}

TEST_CASE("a truncated or damaged object is an error or another object, never a crash" * test::Sliced()) {
  const std::vector<std::byte> object = link_images({{row_sum().image()}}).value();
  for (std::size_t size = 0; size < object.size(); size += 7) {
    CHECK(!read_code_object(std::span(object).first(size)).ok());
  }
  for (std::size_t i = 0; i < object.size(); ++i) {
    std::vector<std::byte> damaged = object;
    damaged[i] ^= std::byte{0x55};
    (void)read_code_object(damaged);
  }
}

TEST_CASE("GPU images are kept on disk and read back unchanged") {
  const EmittedGpuKernel sum = row_sum();
  const ExecutableImage back = decode_image(encode_image(sum.image(), "key"), "key").value();
  CHECK(back.format == ImageFormat::kGpuObject);
  CHECK(back.symbol == sum.image().symbol);
  CHECK(back.bytes == sum.image().bytes);
  CHECK(back.info == sum.image().info);
  CHECK(back.target == "amdgpu:gfx1100");
}

TEST_CASE("a kernel whose workgroups the target cannot run is refused") {
  const auto message = [](const MachineKernel& kernel, const TargetSpec& spec) {
    return make_llvm_generator()->plan(kernel, spec).status().message();
  };
  CHECK(message(test::axpy_kernel(DType::kF32, 32), {.isa = IsaLevel::kAvx2}) ==
        "kernel 'axpy': workgroups of 256 threads, cpu:avx2 runs one thread per workgroup");
  CHECK(message(test::axpy_kernel(DType::kF32, 64), spec_of(kGfx)) ==
        "kernel 'axpy': subgroups of 64 threads, amdgpu:gfx1100 runs subgroups of 32");
  CHECK(message(MachineBuilder("serial").finish(), spec_of(kGfx)) ==
        "kernel 'serial': subgroups of 1 threads, amdgpu:gfx1100 runs subgroups of 32");
  MachineKernel large = test::axpy_kernel(DType::kF32, 32);
  large.workgroup_size = 2048;
  CHECK(message(large, spec_of(kGfx)) == "kernel 'axpy': workgroups of 2048 threads, amdgpu:gfx1100 runs 1024 at most");
}

TEST_CASE("a kernel's IR, assembly and linked object are shown") {
  const TargetSpec spec = spec_of(kGfx);
  const auto generator = make_llvm_generator();
  const PlannedKernel planned = generator->plan(test::row_sum_kernel(DType::kF32, 32), spec).value();
  const auto listing = [&](ListingKind kind) { return generator->listing(planned, spec, kind).value(); };
  const auto has = [](const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; };
  CHECK(has(listing(ListingKind::kLlvmIr), "amdgpu_kernel void @" + kernel_symbol(planned)));
  CHECK(has(listing(ListingKind::kAssembly), ".amdhsa_kernel " + kernel_symbol(planned)));
  CHECK(has(listing(ListingKind::kAssembly), "s_barrier"));
  const std::string object = listing(ListingKind::kObject);
  const CodeObjectInfo info = read_code_object(std::as_bytes(std::span(object))).value();
  CHECK(check_code_object(info, planned, spec).ok());
}

}  // namespace
}  // namespace millrace
