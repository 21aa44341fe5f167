// SPDX-License-Identifier: Apache-2.0
// Appends planned kernels to the sequence to which an algorithm lowers a request. Verifies and prints sequences.
#include <set>
#include <string_view>

#include <fmt/format.h>

#include "base/guard_allocations.h"
#include "base/verification.h"
#include "jit/algorithms/algorithm.h"
#include "jit/algorithms/traffic.h"
#include "jit/ir/touched_bytes.h"
#include "jit/plan/plan_verified.h"

namespace millrace {
namespace {

std::string operand_text(const SequenceOperand& operand) {
  constexpr std::string_view kKinds[] = {"operand", "result", "scratch"};
  return fmt::format("{} {}", kKinds[static_cast<std::size_t>(operand.kind)], operand.index);
}

std::string refusals_text(const std::vector<Refusal>& refusals, std::string_view indent) {
  std::string text;
  for (const Refusal& refusal : refusals)
    text += fmt::format("{}refused {}: {}\n", indent, refusal.who, refusal.reason);
  return text;
}

void check_kernel(const KernelSequence& sequence, const SequenceKernel& entry, std::string& broken) {
  const KernelInfo& info = entry.kernel.info;
  const auto fail = [&](std::string what) {
    broken += fmt::format("{}sequence '{}': kernel '{}': {}", broken.empty() ? "" : "\n", sequence.algorithm,
                          entry.kernel.name, what);
  };
  if (entry.buffers.size() != info.num_buffers) {
    return fail(fmt::format("{} buffers bound, expected {}", entry.buffers.size(), info.num_buffers));
  }
  if (entry.kernel.sizes.size() != info.num_sizes) {
    return fail(fmt::format("{} sizes bound, expected {}", entry.kernel.sizes.size(), info.num_sizes));
  }
  for (std::size_t i = 0; i < entry.buffers.size(); ++i) {
    const SequenceOperand& buffer = entry.buffers[i];
    if (buffer.kind == SequenceOperand::Kind::kScratch && buffer.index >= sequence.scratch.size()) {
      fail(fmt::format("buffer {} is {}, expected less than {}", i, operand_text(buffer), sequence.scratch.size()));
    }
    if (buffer.kind == SequenceOperand::Kind::kOperand && info.buffer_is_written[i]) {
      fail(fmt::format("writes buffer {}, which is {}, expected a result or scratch", i, operand_text(buffer)));
    }
  }
}

/// Scratch names must be unique, because readers match scratch between kernels by name.
void check_scratch(const KernelSequence& sequence, std::string& broken) {
  std::set<std::string_view> names;
  for (const SequenceScratch& scratch : sequence.scratch) {
    if (names.insert(scratch.name).second) continue;
    broken += fmt::format("{}sequence '{}': scratch '{}' occurs twice, expected unique names",
                          broken.empty() ? "" : "\n", sequence.algorithm, scratch.name);
  }
}

}  // namespace

Status verify(const KernelSequence& sequence) {
  return guard_allocations([&]() -> Status {
    VerificationCount::note(IrLevel::kKernelSequence);
    std::string broken;
    if (sequence.kernels.empty()) broken = fmt::format("sequence '{}': no kernel", sequence.algorithm);
    check_scratch(sequence, broken);
    for (const SequenceKernel& entry : sequence.kernels) check_kernel(sequence, entry, broken);
    if (broken.empty()) return {};
    return internal_error(std::move(broken));
  });
}

std::string to_text(const KernelSequence& sequence) {
  std::string text = fmt::format("sequence \"{}\" {{\n", sequence.algorithm) + refusals_text(sequence.refusals, "  ");
  for (std::size_t i = 0; i < sequence.scratch.size(); ++i) {
    text += fmt::format("  scratch {} {} {} bytes\n", i, sequence.scratch[i].name,
                        sequence.scratch[i].size_bytes.to_text());
  }
  for (const SequenceKernel& entry : sequence.kernels) {
    text += fmt::format("  kernel {} by {} in {} groups (", entry.kernel.name, entry.kernel.generator,
                        entry.kernel.num_groups.to_text());
    for (std::size_t i = 0; i < entry.buffers.size(); ++i) {
      text += (i > 0 ? ", " : "") + operand_text(entry.buffers[i]);
    }
    text += ")";
    for (const SizeExpr& size : entry.kernel.sizes) text += " size " + size.to_text();
    if (entry.kernel.info.workgroup_bytes > 0) {
      text += fmt::format(", {} bytes of workgroup memory", entry.kernel.info.workgroup_bytes);
    }
    text += "\n" + refusals_text(entry.refusals, "    ");
  }
  return text + "}\n";
}

Status append_kernel(KernelSequence& sequence, const Kernel& kernel, std::vector<SequenceOperand> buffers,
                     const Target& target, const LowerOptions& options) {
  const auto* nest = std::get_if<LoopKernel>(&kernel);
  if (nest != nullptr) MILLRACE_TRY(verify_step(*nest));
  MILLRACE_TRY_ASSIGN(PlanOutcome outcome, plan_verified(kernel, target, options.compile));
  std::vector<BufferTraffic> traffic = traffic_of(kernel, outcome.kernel.info);
  std::vector<std::optional<ByteRange>> touched;
  if (nest != nullptr) {
    touched = touched_bytes(*nest);
    if (nest->in_place) touched.erase(touched.begin() + *nest->in_place);
  }
  sequence.kernels.push_back({std::move(outcome.kernel), std::move(buffers), std::move(touched),
                              std::move(outcome.refusals), std::move(traffic)});
  return {};
}

std::vector<SequenceOperand> buffers_of(const LoopKernel& kernel) {
  std::vector<SequenceOperand> buffers = operands_then_results(kernel.operands.size(), kernel.results.size());
  if (kernel.in_place) buffers.erase(buffers.begin() + *kernel.in_place);
  return buffers;
}

std::vector<SequenceOperand> operands_then_results(std::size_t num_operands, std::size_t num_results) {
  std::vector<SequenceOperand> buffers;
  for (std::uint32_t i = 0; i < num_operands; ++i) buffers.push_back({SequenceOperand::Kind::kOperand, i});
  for (std::uint32_t i = 0; i < num_results; ++i) buffers.push_back({SequenceOperand::Kind::kResult, i});
  return buffers;
}

}  // namespace millrace
