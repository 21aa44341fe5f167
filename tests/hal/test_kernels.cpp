// SPDX-License-Identifier: Apache-2.0
#include "tests/hal/test_kernels.h"

#include <cstring>
#include <utility>

#include "hal/host/routines/gemm/gemm_f32.h"
#include "hal/host/routines/routine.h"

namespace millrace {
namespace {

class FunctionKernel final : public HostKernel {
 public:
  explicit FunctionKernel(HostKernelBody body) : body_(std::move(body)) {}
  Status run(const KernelArgs& args, std::uint32_t first, std::uint32_t end) const override {
    return body_(args, first, end);
  }
  Status run_observed(const KernelArgs& args, std::uint32_t first, std::uint32_t end,
                      const KernelObservation&) const override {
    return body_(args, first, end);
  }

 private:
  HostKernelBody body_;
};

}  // namespace

ExecutableImage host_kernel_image(const TargetSpec& target, KernelInfo info, HostKernelBody body) {
  return {.format = ImageFormat::kInterpreted,
          .target = target.is_cpu() ? "cpu:baseline" : target.to_text(),
          .info = std::move(info),
          .kernel = std::make_shared<FunctionKernel>(std::move(body))};
}

ExecutableImage host_kernel_image(KernelInfo info, HostKernelBody body) {
  return host_kernel_image({}, std::move(info), std::move(body));
}

ExecutableImage code_image(KernelInfo info, std::initializer_list<int> bytes) {
  std::vector<std::byte> code;
  for (int byte : bytes) code.push_back(static_cast<std::byte>(byte));
  return {.target = "cpu:baseline", .info = std::move(info), .bytes = std::move(code), .code_bytes = bytes.size()};
}

namespace {

// Arguments come as rdi = args, esi = first_group, edx = end_group.

ExecutableImage store_ids_code() {
  return code_image({.name = "store_ids", .num_buffers = 1, .buffer_is_written = {true}},
                    {
                        0x48, 0x8b, 0x47, 0x10,  //       mov rax, [rdi + 16]     args->buffers
                        0x48, 0x8b, 0x00,        //       mov rax, [rax]          buffers[0]
                        0x39, 0xd6,              // next: cmp esi, edx
                        0x73, 0x09,              //       jae done
                        0x89, 0xf1,              //       mov ecx, esi
                        0x89, 0x0c, 0x88,        //       mov [rax + rcx*4], ecx
                        0xff, 0xc6,              //       inc esi
                        0xeb, 0xf3,              //       jmp next
                        0xc3,                    // done: ret
                    });
}

ExecutableImage scale_code() {
  return code_image({.name = "scale", .num_buffers = 2, .num_sizes = 1, .buffer_is_written = {false, true}},
                    {
                        0x48, 0x8b, 0x47, 0x10,  //       mov rax, [rdi + 16]     args->buffers
                        0x4c, 0x8b, 0x00,        //       mov r8, [rax]           buffers[0]
                        0x4c, 0x8b, 0x48, 0x08,  //       mov r9, [rax + 8]       buffers[1]
                        0x48, 0x8b, 0x47, 0x18,  //       mov rax, [rdi + 24]     args->sizes
                        0x4c, 0x8b, 0x10,        //       mov r10, [rax]          sizes[0]
                        0x39, 0xd6,              // next: cmp esi, edx
                        0x73, 0x12,              //       jae done
                        0x89, 0xf1,              //       mov ecx, esi
                        0x41, 0x8b, 0x04, 0x88,  //       mov eax, [r8 + rcx*4]
                        0x41, 0x0f, 0xaf, 0xc2,  //       imul eax, r10d
                        0x41, 0x89, 0x04, 0x89,  //       mov [r9 + rcx*4], eax
                        0xff, 0xc6,              //       inc esi
                        0xeb, 0xea,              //       jmp next
                        0xc3,                    // done: ret
                    });
}

ExecutableImage fail_index_code() {
  return code_image({.name = "gather_0"}, {
                                              0x48, 0x8b, 0x07,        // mov rax, [rdi]             args->status
                                              0xf0, 0x83, 0x08, 0x01,  // lock or dword [rax], 1     kIndexOutOfRange
                                              0xc3,                    // ret
                                          });
}

ExecutableImage workgroup_address_code(std::uint64_t workgroup_bytes) {
  return code_image({.name = "workgroup_address",
                     .num_buffers = 1,
                     .num_sizes = 1,
                     .buffer_is_written = {true},
                     .workgroup_bytes = workgroup_bytes},
                    {
                        0x48, 0x8b, 0x4f, 0x08,        // mov rcx, [rdi + 8]            args->workgroup_memory
                        0x48, 0x8b, 0x47, 0x10,        // mov rax, [rdi + 16]           args->buffers
                        0x48, 0x8b, 0x00,              // mov rax, [rax]                buffers[0]
                        0x48, 0x89, 0x08,              // mov [rax], rcx
                        0x48, 0x8b, 0x47, 0x18,        // mov rax, [rdi + 24]           args->sizes
                        0x48, 0x8b, 0x00,              // mov rax, [rax]                sizes[0]
                        0xc6, 0x01, 0x01,              // mov byte [rcx], 1
                        0xc6, 0x44, 0x01, 0xff, 0x01,  // mov byte [rcx + rax - 1], 1
                        0xc3,                          // ret
                    });
}

/// The code where the target runs it, else `body`, which does the same.
ExecutableImage code_or(const TargetSpec& target, ExecutableImage code, HostKernelBody body) {
  return target.is_cpu() ? std::move(code) : host_kernel_image(target, std::move(code.info), std::move(body));
}

std::uint32_t* words_of(const KernelArgs& args, std::size_t buffer) {
  return static_cast<std::uint32_t*>(args.buffers[buffer]);
}

}  // namespace

ExecutableImage store_ids_image(const TargetSpec& target) {
  return code_or(target, store_ids_code(), [](const KernelArgs& args, std::uint32_t first, std::uint32_t end) {
    for (std::uint32_t group = first; group < end; ++group) words_of(args, 0)[group] = group;
    return Status();
  });
}

ExecutableImage scale_image(const TargetSpec& target) {
  return code_or(target, scale_code(), [](const KernelArgs& args, std::uint32_t first, std::uint32_t end) {
    const auto factor = static_cast<std::uint32_t>(args.sizes[0]);
    for (std::uint32_t group = first; group < end; ++group)
      words_of(args, 1)[group] = words_of(args, 0)[group] * factor;
    return Status();
  });
}

ExecutableImage fail_index_image(const TargetSpec& target) {
  return code_or(target, fail_index_code(), [](const KernelArgs& args, std::uint32_t, std::uint32_t) {
    *args.status |= static_cast<std::uint32_t>(KernelError::kIndexOutOfRange);
    return Status();
  });
}

ExecutableImage workgroup_address_image(std::uint64_t workgroup_bytes, const TargetSpec& target) {
  return code_or(target, workgroup_address_code(workgroup_bytes),
                 [](const KernelArgs& args, std::uint32_t, std::uint32_t) {
                   auto* bytes = static_cast<std::uint8_t*>(args.workgroup_memory);
                   static_cast<std::uint64_t*>(args.buffers[0])[0] = reinterpret_cast<std::uintptr_t>(bytes);
                   bytes[0] = bytes[args.sizes[0] - 1] = 1;
                   return Status();
                 });
}

ExecutableImage load_constant_image() {
  ExecutableImage image = code_image({.name = "load_constant", .num_buffers = 1, .buffer_is_written = {true}},
                                     {
                                         0x48, 0x8b, 0x47, 0x10,              // mov rax, [rdi + 16]   args->buffers
                                         0x48, 0x8b, 0x00,                    // mov rax, [rax]        buffers[0]
                                         0x8b, 0x0d, 0xf3, 0x0f, 0x00, 0x00,  // mov ecx, [rip + 4083] image + 4096
                                         0x89, 0x08,                          // mov [rax], ecx
                                         0xc3,                                // ret
                                     });
  const std::uint32_t constant = 0x600dcafe;
  std::vector<std::byte> bytes(image.bytes.begin(), image.bytes.end());
  bytes.resize(4096 + sizeof(constant));
  std::memcpy(bytes.data() + 4096, &constant, sizeof(constant));
  image.bytes = std::move(bytes);
  image.code_bytes = 4096;
  return image;
}

ExecutableImage routine_image(std::int64_t a, std::int64_t num_groups) {
  ExecutableImage image = code_image({.name = "routine", .num_buffers = 1, .buffer_is_written = {true}},
                                     {
                                         0xcc,                          // int3: the entry is not the start
                                         0x48, 0x8b, 0x57, 0x28,        // mov rdx, [rdi + 40]: where to store
                                         0x48, 0x89, 0xd0,              // mov rax, rdx
                                         0x48, 0x2b, 0x07,              // sub rax, [rdi]: the buffer's begin
                                         0x48, 0xc1, 0xf8, 0x02,        // sar rax, 2: the group's number
                                         0x48, 0x0f, 0xaf, 0x47, 0x18,  // imul rax, [rdi + 24]: steps of k
                                         0xff, 0xc0,                    // inc eax
                                         0x89, 0x02,                    // mov [rdx], eax
                                         0xc3,                          // ret
                                     });
  image.entry_offset = 1;
  GemmParameters p{};
  p.tiles = {.parts = num_groups, .base = 1};  // a group is one row
  p.tile_groups = num_groups;
  p.panels = p.k_blocks = {.parts = 1, .base = 1};
  p.k_blocks.base = a;
  p.lanes = p.tiles_per_group = p.panels_per_group = p.panel_groups = p.num_inner_groups = 1;
  p.num_accesses = 1;
  p.epilogue[0].m = 1;
  image.routine = call_of(Routine::gemm_f32, p);
  return image;
}

}  // namespace millrace
