// SPDX-License-Identifier: Apache-2.0
#include "tests/support/kernels/mutate_code.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include <fmt/format.h>

namespace millrace::test {
namespace {

bool has(std::string_view text, std::string_view part) { return text.find(part) != text.npos; }

bool is_wait(std::string_view text) { return text.starts_with("s_wait") && !text.starts_with("s_waitcnt_depctr"); }

bool is_barrier(std::string_view text) { return text == "s_barrier" || text.starts_with("s_barrier_wait"); }

bool narrows_exec(std::string_view text) { return has(text, "_saveexec_") || text.starts_with("v_cmpx_"); }

bool changes_exec(std::string_view text) {
  if (narrows_exec(text)) return true;
  const std::string_view operands = text.substr(std::min(text.find(' '), text.size()));
  return text.starts_with("s_") && operands.starts_with(" exec");
}

bool is_memory(std::string_view text) {
  return text.starts_with("global_load") || text.starts_with("global_store") || text.starts_with("ds_load") ||
         text.starts_with("ds_store") || text.starts_with("ds_read") || text.starts_with("ds_write");
}

bool exchanges_lanes(std::string_view text) {
  return has(text, "permlane") || has(text, "quad_perm") || has(text, "row_") || text.starts_with("ds_bpermute") ||
         text.starts_with("ds_swizzle");
}

bool is_branch(std::string_view text) { return text.starts_with("s_branch") || text.starts_with("s_cbranch"); }

std::optional<std::uint64_t> target_of(const MachineCodeInstruction& branch) {
  if (!is_branch(branch.text)) return std::nullopt;
  const std::size_t space = branch.text.find(' ');
  int distance = 0;
  std::from_chars(branch.text.data() + space + 1, branch.text.data() + branch.text.size(), distance);
  return branch.address + branch.size_bytes + 4 * static_cast<std::uint64_t>(static_cast<std::int16_t>(distance));
}

bool is_target(const MachineCodeKernel& kernel, std::uint64_t address) {
  return std::ranges::any_of(kernel.instructions,
                             [&](const MachineCodeInstruction& code) { return target_of(code) == address; });
}

/// Where an exchange sinks to: behind the next instruction that switches lanes off, and the branch that may follow.
/// Nothing where another path comes in before that.
std::optional<std::size_t> place_to_sink(const MachineCodeKernel& kernel, std::size_t number) {
  const auto& code = kernel.instructions;
  for (std::size_t i = number + 1; i < code.size(); ++i) {
    if (is_target(kernel, code[i].address) || is_branch(code[i].text) || is_barrier(code[i].text)) return std::nullopt;
    if (!narrows_exec(code[i].text)) continue;
    const bool has_branch = i + 2 < code.size() && is_branch(code[i + 1].text);
    return has_branch && !is_target(kernel, code[i + 1].address) ? i + 1 : i;
  }
  return std::nullopt;
}

void sink(MachineCodeKernel& kernel, std::size_t number) {
  auto& code = kernel.instructions;
  const std::size_t last = *place_to_sink(kernel, number);
  std::vector<std::optional<std::uint64_t>> targets;
  for (std::size_t i = number; i <= last; ++i) targets.push_back(target_of(code[i]));
  const std::uint64_t first_address = code[number].address;
  std::rotate(code.begin() + static_cast<std::ptrdiff_t>(number),
              code.begin() + static_cast<std::ptrdiff_t>(number) + 1,
              code.begin() + static_cast<std::ptrdiff_t>(last) + 1);
  std::rotate(targets.begin(), targets.begin() + 1, targets.end());
  std::uint64_t address = first_address;
  for (std::size_t i = number; i <= last; ++i) {
    code[i].address = address;
    address += code[i].size_bytes;
    if (const auto target = targets[i - number]) {
      const auto distance = static_cast<std::int64_t>(*target - address) / 4;
      code[i].text = code[i].text.substr(0, code[i].text.find(' ')) + fmt::format(" {}", distance & 0xffff);
    }
  }
}

/// Adds a word to the place that it accesses.
std::string with_other_offset(std::string text) {
  const std::size_t offset = text.find(" offset");
  const std::size_t colon = text.find(':', std::min(offset, text.size()));
  const bool has_two_places = has(text, "2addr") || has(text, "read2") || has(text, "write2");
  if (offset == text.npos || (has_two_places && text.find(" offset0:") == text.npos)) {
    return text + (has_two_places ? " offset0:1" : " offset:16");
  }
  int value = 0;
  const char* const begin = text.data() + colon + 1;
  const auto end = std::from_chars(begin, text.data() + text.size(), value).ptr;
  const auto length = static_cast<std::size_t>(end - begin);
  return text.replace(colon + 1, length, std::to_string(has_two_places ? (value + 1) % 256 : value + 16));
}

}  // namespace

std::string_view to_text(CodeMistake mistake) {
  static constexpr std::string_view kNames[] = {"no wait", "no barrier", "no exec", "other offset", "sunk exchange"};
  return kNames[static_cast<std::size_t>(mistake)];
}

std::vector<CodeMutation> find_mutations(const MachineCodeKernel& kernel, const IsaProfile& profile) {
  std::vector<CodeMutation> mutations;
  const bool has_waves = kernel.workgroup_size > kernel.subgroup_size;
  for (std::size_t i = 0; i < kernel.instructions.size(); ++i) {
    if (profile.effective[i] == 0) continue;
    const std::string_view text = kernel.instructions[i].text;
    if (is_wait(text)) mutations.push_back({CodeMistake::kNoWait, i});
    if (is_barrier(text) && has_waves) mutations.push_back({CodeMistake::kNoBarrier, i});
    if (changes_exec(text)) mutations.push_back({CodeMistake::kNoExec, i});
    if (is_memory(text)) mutations.push_back({CodeMistake::kOtherOffset, i});
    if (const auto last = place_to_sink(kernel, i); exchanges_lanes(text) && last) {
      const std::size_t narrowing = narrows_exec(kernel.instructions[*last].text) ? *last : *last - 1;
      if (profile.effective[narrowing] > 0) mutations.push_back({CodeMistake::kSunkExchange, i});
    }
  }
  return mutations;
}

void mutate(MachineCodeKernel& kernel, const CodeMutation& mutation) {
  std::string& text = kernel.instructions[mutation.number].text;
  switch (mutation.mistake) {
    case CodeMistake::kSunkExchange:
      return sink(kernel, mutation.number);
    case CodeMistake::kOtherOffset:
      text = with_other_offset(text);
      return;
    default:
      text = "s_nop 0";
  }
}

}  // namespace millrace::test
