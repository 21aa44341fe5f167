// SPDX-License-Identifier: Apache-2.0
// Linking GPU objects: which are refused, and what reading them back finds.
#include <algorithm>
#include <array>
#include <cstring>

#include <doctest/doctest.h>

#include "gpu_modules.h"
#include "jit/llvm/amdgpu/machine_code.h"

namespace millrace {
namespace {

using test::compile_gpu_module, test::info_of_gpu_module, test::link_gpu_modules;

constexpr char kEmpty[] = "define protected amdgpu_kernel void @kernel() { ret void }";

TEST_CASE("an object without anything to resolve is linked") {
  const CodeObjectInfo info = info_of_gpu_module(kEmpty);
  REQUIRE(info.kernels.size() == 1);
  CHECK(info.kernels[0].symbol == "kernel");
  CHECK(info.target == "amdgcn-amd-amdhsa--gfx1100");
  CHECK(info.undefined_symbols.empty());
  CHECK(info.relocations.empty());
  CHECK(info.other_functions.empty());
}

TEST_CASE("undefined symbols are refused, and named") {
  const std::string object = compile_gpu_module(R"(
    declare ptr @malloc(i64)
    declare void @free(ptr)
    define protected amdgpu_kernel void @kernel() {
      %memory = call ptr @malloc(i64 8)
      call void @free(ptr %memory)
      ret void
    })");
  const Status status = link_gpu_modules({object}).status();
  CHECK(status.code() == StatusCode::kInternal);
  CHECK(status.message() == "link: undefined symbol: malloc; undefined symbol: free");
  CHECK(link_gpu_modules({compile_gpu_module(kEmpty)}).ok());  // lld runs again
}

TEST_CASE("two kernels of one name are refused") {
  const std::string object = compile_gpu_module(kEmpty);
  CHECK(link_gpu_modules({object, object}).status().message() ==
        "link: duplicate symbol: kernel; duplicate symbol: kernel.kd");
}

TEST_CASE("objects of two targets are refused") {
  std::string other = compile_gpu_module(kEmpty);
  other[18] = 62;  // EM_X86_64
  CHECK(!link_gpu_modules({compile_gpu_module(kEmpty), other}).ok());
}

std::string kernels(const std::vector<std::string>& names, const std::string& flags = "") {
  std::string ir = flags;
  for (const std::string& name : names) ir += "define protected amdgpu_kernel void @" + name + "() { ret void }\n";
  return ir;
}

std::size_t num_notes(const std::vector<std::byte>& object) {
  const std::string_view text(reinterpret_cast<const char*>(object.data()), object.size());
  std::size_t count = 0;
  for (std::size_t at = 0; (at = text.find("amdhsa.kernels", at)) != std::string_view::npos; ++at) ++count;
  return count;
}

TEST_CASE("a joined object has one metadata note, with the kernels of all") {
  std::vector<std::string> objects, names;
  for (int i = 0; i < 20; ++i) {  // enough that MessagePack writes their array in another form
    names.push_back("kernel_" + std::to_string(i));
    objects.push_back(compile_gpu_module(kernels({names.back()})));
  }
  objects.push_back(compile_gpu_module(kernels({"first_of_two", "second_of_two"})));
  names.insert(names.end(), {"first_of_two", "second_of_two"});
  const std::vector<std::byte> linked = link_gpu_modules(objects).value();
  CHECK(num_notes(linked) == 1);
  const CodeObjectInfo info = read_llvm_code_object(linked).value();
  REQUIRE(info.kernels.size() == names.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    CHECK(info.kernels[i].symbol == names[i]);
    CHECK(info.kernels[i].code_bytes > 0);
  }
  CHECK(info.target == "amdgcn-amd-amdhsa--gfx1100");
}

TEST_CASE("objects whose metadata is of two versions are refused") {
  const auto of_version = [](const char* name, const char* version) {
    return compile_gpu_module(kernels({name},
                                      "!llvm.module.flags = !{!0}\n!0 = !{i32 1, !\"amdhsa_code_object_version\", "
                                      "i32 " +
                                          std::string(version) + "}\n"));
  };
  CHECK(link_gpu_modules({of_version("a", "400"), of_version("b", "400")}).ok());
  CHECK(!link_gpu_modules({of_version("a", "400"), of_version("b", "500")}).ok());
}

TEST_CASE("the version of an object, and its requirements on a processor, are read") {
  const std::string flag = "!llvm.module.flags = !{!0}\n!0 = !{i32 1, !\"amdhsa_code_object_version\", i32 ";
  CHECK(info_of_gpu_module(kernels({"kernel"}, flag + "400}\n")).version == 4);
  CHECK(info_of_gpu_module(kernels({"kernel"}, flag + "500}\n")).version == 5);
  CHECK(info_of_gpu_module(kernels({"kernel"}), "gfx90a").set_features.empty());
  const CodeObjectInfo set = info_of_gpu_module(
      "define protected amdgpu_kernel void @kernel() \"target-features\"=\"+xnack,-sramecc\" { ret void }", "gfx90a");
  CHECK(set.set_features == std::vector<std::string>{"xnack+", "sramecc-"});
  CHECK(set.target == "amdgcn-amd-amdhsa--gfx90a:sramecc-:xnack+");
}

TEST_CASE("functions that are called, hidden arguments and a stack without bound are found") {
  const CodeObjectInfo info = info_of_gpu_module(R"(
    define internal i32 @helper(i32 %n) noinline {
      %twice = add i32 %n, %n
      ret i32 %twice
    }
    define protected amdgpu_kernel void @kernel(ptr addrspace(1) %to, ptr %unknown, i32 %n) {
      %first = call i32 @helper(i32 %n)
      %second = call i32 %unknown(i32 %first)
      store i32 %second, ptr addrspace(1) %to
      ret void
    })");
  REQUIRE(info.kernels.size() == 1);
  CHECK(info.other_functions == std::vector<std::string>{"helper"});
  CHECK(info.kernels[0].has_dynamic_stack);
  CHECK(info.kernels[0].argument_bytes > 20);
  REQUIRE(!info.kernels[0].hidden_arguments.empty());
  CHECK(info.kernels[0].hidden_arguments[0] == "hidden_block_count_x");
}

TEST_CASE("relative relocations are decoded, and others refused") {
  std::vector<std::byte> object = link_gpu_modules({compile_gpu_module(R"(
    @numbers = internal addrspace(1) constant [4 x i32] [i32 1, i32 2, i32 3, i32 4]
    @places = protected addrspace(1) global [2 x ptr addrspace(1)] [
      ptr addrspace(1) @numbers, ptr addrspace(1) getelementptr (i32, ptr addrspace(1) @numbers, i64 3)]
    define protected amdgpu_kernel void @kernel(ptr addrspace(1) %to) {
      store ptr addrspace(1) @places, ptr addrspace(1) %to
      ret void
    })")})
                                      .value();
  const MachineCode code = decode_llvm_code_object(object).value();
  REQUIRE(code.relocations.size() == 2);
  CHECK(code.relocations[1].address == code.relocations[0].address + 8);
  CHECK(code.relocations[1].target == code.relocations[0].target + 12);
  const auto segment = std::ranges::find_if(code.segments, [&](const MachineCodeSegment& each) {
    return code.relocations[0].target - each.address < each.bytes.size();
  });
  REQUIRE(segment != code.segments.end());
  CHECK(segment->bytes[code.relocations[1].target - segment->address] == std::byte{4});

  // An Elf64_Rela: offset, type, addend.
  const std::array<std::uint64_t, 3> entry = {code.relocations[0].address, llvm::ELF::R_AMDGPU_RELATIVE64,
                                              code.relocations[0].target};
  const auto bytes = std::as_bytes(std::span(entry));
  const auto found = std::search(object.begin(), object.end(), bytes.begin(), bytes.end());
  REQUIRE(found != object.end());
  const auto message_with = [&](std::size_t word, std::uint64_t value) {
    std::vector<std::byte> damaged = object;
    std::memcpy(&damaged[found - object.begin() + 8 * word], &value, sizeof(value));
    return decode_llvm_code_object(damaged).status().message();
  };
  CHECK(message_with(1, llvm::ELF::R_AMDGPU_ABS64) ==
        "code object: relocation of type R_AMDGPU_ABS64, expected only relative ones");
  CHECK(message_with(0, 0xfffffffffffffffc) ==
        "code object: relocation at 0xfffffffffffffffc lies outside of the segments");
}

TEST_CASE("code for waves of 64 is printed with 64-bit masks, also on RDNA") {
  const auto text_of = [](const std::string& features, const std::string& mask) {
    const std::string object = compile_gpu_module(
        "define protected amdgpu_kernel void @kernel() \"target-features\"=\"" + features +
        "\" { call void asm sideeffect \"v_cmp_eq_u32_e32 " + mask + ", v0, v1\", \"~{vcc}\"() ret void }");
    const MachineCodeKernel kernel = decode_llvm_code_object(link_gpu_modules({object}).value()).value().kernels.at(0);
    return std::to_string(kernel.subgroup_size) + ": " + kernel.instructions.at(0).text;
  };
  CHECK(text_of("+wavefrontsize32", "vcc_lo") == "32: v_cmp_eq_u32_e32 vcc_lo, v0, v1");
  CHECK(text_of("+wavefrontsize64,-wavefrontsize32", "vcc") == "64: v_cmp_eq_u32_e32 vcc, v0, v1");
}

}  // namespace
}  // namespace millrace
