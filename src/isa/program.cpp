// SPDX-License-Identifier: Apache-2.0
// Loads a code object into memory and decodes its kernels, once per object.
#include "isa/program.h"

#include <algorithm>
#include <cstring>
#include <unordered_map>

#include <fmt/format.h>

#include "isa/decode.h"

namespace millrace::isa {
namespace {

std::uint32_t word_at(const std::array<std::byte, 64>& descriptor, std::size_t offset) {
  std::uint32_t word = 0;
  std::memcpy(&word, descriptor.data() + offset, sizeof(word));
  return word;
}

InitialState read_descriptor(const std::array<std::byte, 64>& descriptor, const Machine& machine) {
  const std::uint32_t rsrc1 = word_at(descriptor, 48), rsrc2 = word_at(descriptor, 52);
  const std::uint32_t properties = word_at(descriptor, 56);
  const auto has = [](std::uint32_t word, std::uint32_t bit) { return (word >> bit & 1) != 0; };
  return {.has_private_segment_buffer = has(properties, 0),
          .has_dispatch_pointer = has(properties, 1),
          .has_queue_pointer = has(properties, 2),
          .has_argument_pointer = has(properties, 3),
          .has_dispatch_id = has(properties, 4),
          .has_flat_scratch = has(properties, 5),
          .has_private_segment_size = has(properties, 6),
          .has_group_id = {has(rsrc2, 7), has(rsrc2, 8), has(rsrc2, 9)},
          .has_group_info = has(rsrc2, 10),
          .num_thread_ids = (rsrc2 >> 11 & 3) + 1,
          .num_user_scalars = rsrc2 >> 1 & 31,
          .mode = rsrc1 >> 12 & 0xff,
          // From GFX12 on, DX10_CLAMP is always on and IEEE does not exist; their bits have other meanings.
          .clamps_nan_to_zero = machine.major >= 12 || has(rsrc1, 21),
          .is_ieee = machine.major < 12 && has(rsrc1, 23)};
}

/// Fails if the kernel needs something that only a driver provides.
Status check_kernel(const MachineCodeKernel& kernel) {
  const std::uint32_t properties = word_at(kernel.descriptor, 56), rsrc2 = word_at(kernel.descriptor, 52);
  if (!kernel.hidden_arguments.empty()) {
    return unimplemented(fmt::format("its hidden argument '{}' is not modelled", kernel.hidden_arguments.front()));
  }
  if (kernel.instructions.empty()) return data_loss("it has no instructions");
  // Only a driver has the dispatch packet, the queue and its ids.
  if ((properties & 0b1'0110) != 0) return unimplemented("it reads the dispatch packet, which is not modelled");
  if ((rsrc2 >> 11 & 3) != 0 && (kernel.workgroup_size == 0)) return data_loss("its workgroup has 0 threads");
  return {};
}

class LoadedProgram final : public Program {
 public:
  Status load(const MachineCode& code) {
    MILLRACE_TRY(place_segments(code));
    for (const MachineCodeKernel& kernel : code.kernels) {
      const Status status = add_kernel(code, kernel);
      if (!status.ok()) {
        return {status.code(), fmt::format("kernel '{}' for {}: {}", kernel.symbol, code.gfx, status.message())};
      }
    }
    return {};
  }

  const Kernel* find(std::string_view symbol) const override {
    const auto found = std::ranges::find(kernels_, symbol, [](const auto& kernel) { return kernel->symbol; });
    return found == kernels_.end() ? nullptr : found->get();
  }

 private:
  Status place_segments(const MachineCode& code) {
    std::uint64_t end = 0;
    constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 31;
    for (const MachineCodeSegment& segment : code.segments) {
      if (segment.address > kMaxBytes || segment.memory_bytes > kMaxBytes ||
          segment.bytes.size() > segment.memory_bytes) {
        return data_loss("code object: a segment is outside the first 2 GiB");
      }
      end = std::max(end, segment.address + segment.memory_bytes);
    }
    image_.resize(end / sizeof(std::uint64_t) + 1);
    auto* bytes = reinterpret_cast<std::byte*>(image_.data());
    for (const MachineCodeSegment& segment : code.segments) {
      std::ranges::copy(segment.bytes, bytes + segment.address);
    }
    for (const MachineCodeRelocation& relocation : code.relocations) {
      if (end < sizeof(std::uint64_t) || relocation.address > end - sizeof(std::uint64_t)) {
        return data_loss(fmt::format("code object: a relocation at {:#x} is outside the object", relocation.address));
      }
      const std::uint64_t target = base() + relocation.target;
      std::memcpy(bytes + relocation.address, &target, sizeof(target));
    }
    return {};
  }

  Status add_kernel(const MachineCode& code, const MachineCodeKernel& from) {
    MILLRACE_TRY(check_kernel(from));
    auto kernel = std::make_unique<Kernel>();
    MILLRACE_TRY_ASSIGN(kernel->machine, make_machine(code.gfx, from.subgroup_size));
    kernel->symbol = from.symbol;
    kernel->initial = read_descriptor(from.descriptor, kernel->machine);
    kernel->entry_address = base() + from.entry;
    kernel->argument_bytes = from.argument_bytes;
    kernel->workgroup_bytes = from.workgroup_bytes;
    kernel->private_bytes = from.private_bytes;
    kernel->workgroup_size = from.workgroup_size;
    kernel->image_address = base();
    kernel->image_bytes = image_.size() * sizeof(std::uint64_t);
    MILLRACE_TRY(decode(from, *kernel));
    kernels_.push_back(std::move(kernel));
    return {};
  }

  static Status decode(const MachineCodeKernel& from, Kernel& kernel) {
    std::unordered_map<std::uint64_t, std::uint32_t> number_of;  // keyed by address
    kernel.num_vector_registers = 1;
    for (const MachineCodeInstruction& code : from.instructions) {
      MILLRACE_TRY_ASSIGN(Instruction instruction, decode_instruction(code, from.entry, kernel.machine));
      number_of.emplace(instruction.address, static_cast<std::uint32_t>(kernel.instructions.size()));
      for (const RegisterRange& range : instruction.registers) {
        if (!range.is_vector) continue;
        kernel.num_vector_registers = std::max<std::uint32_t>(kernel.num_vector_registers, range.first + range.count);
      }
      kernel.instructions.push_back(std::move(instruction));
    }
    for (Instruction& instruction : kernel.instructions) {
      if (instruction.row->kind != Class::kBranch) continue;
      const std::uint64_t target = instruction.address + instruction.size_bytes +
                                   4 * static_cast<std::uint64_t>(static_cast<std::int16_t>(instruction.immediate));
      const auto found = number_of.find(target);
      if (found == number_of.end()) {
        return data_loss(fmt::format("at {:#x}, {}: branches to {:#x}, where no instruction begins",
                                     instruction.address, instruction.text, target));
      }
      instruction.target = found->second;
    }
    return {};
  }

  std::uint64_t base() const { return reinterpret_cast<std::uint64_t>(image_.data()); }

  std::vector<std::uint64_t> image_;
  std::vector<std::unique_ptr<Kernel>> kernels_;
};

}  // namespace

Result<std::shared_ptr<const Program>> load_program(MachineCode code) {
  auto program = std::make_shared<LoadedProgram>();
  MILLRACE_TRY(program->load(code));
  return std::shared_ptr<const Program>(std::move(program));
}

}  // namespace millrace::isa
