// SPDX-License-Identifier: Apache-2.0
// Merges the kernels of a program that differ only in numbers into one kernel with more size arguments, so that less
// code is generated.
#include "millrace/jit/share_kernels.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include "base/guard_allocations.h"
#include "base/verification.h"
#include "jit/plan/kernel_numbers.h"
#include "millrace/base/check.h"

namespace millrace {
namespace {

/// The minimum number of distinct kernels of one shape that share code. If there are fewer, they keep their numbers as
/// constants, and each gets its own code, which takes 2 to 5 ms to generate (commit 4df18eec).
constexpr std::size_t kWorthSharing = 16;
/// The maximum number of combinations of KernelNumbers::specialized values that get code of their own.
constexpr std::size_t kMaxSpecializations = 64;

using Bits = std::vector<std::uint64_t>;

struct Member {
  PlannedKernel* kernel = nullptr;
  std::vector<KernelNumber> numbers;
};

/// Kernels with one generator and one shape.
struct Group {
  const KernelCompiler* generator = nullptr;
  std::vector<std::size_t> specialized;
  std::vector<Member> members;
};

const KernelCompiler* find_generator(const PlannedKernel& kernel, const Target& target) {
  if (!std::holds_alternative<MachineKernel>(kernel.mapped)) return nullptr;
  const KernelCompiler* generator = target.find_generator(kernel.generator);
  return generator != nullptr && generator->emits_code() ? generator : nullptr;
}

/// Returns groups in the order of their first members, so that equal programs have equal kernels.
std::vector<Group> group_kernels(std::span<PlannedKernel* const> kernels, const Target& target) {
  std::vector<Group> groups;
  std::unordered_map<std::string, std::size_t> known;  // by generator and shape
  for (PlannedKernel* kernel : kernels) {
    const KernelCompiler* generator = find_generator(*kernel, target);
    if (generator == nullptr) continue;
    KernelNumbers found = find_numbers(std::get<MachineKernel>(kernel->mapped));
    const auto [place, is_new] = known.try_emplace(kernel->generator + '\n' + found.shape, groups.size());
    if (is_new) groups.push_back({generator, std::move(found.specialized), {}});
    groups[place->second].members.push_back({kernel, std::move(found.numbers)});
  }
  return groups;
}

/// One group per combination of specialized numbers, unless there are too many combinations.
std::vector<Group> split_by_specialized_numbers(Group group) {
  std::vector<Group> parts;
  std::map<Bits, std::size_t> known;
  for (const Member& member : group.members) {
    Bits values;
    for (const std::size_t number : group.specialized) values.push_back(member.numbers[number].bits);
    const auto [place, is_new] = known.try_emplace(std::move(values), parts.size());
    if (is_new) parts.push_back({group.generator, {}, {}});
    parts[place->second].members.push_back(member);
    if (parts.size() > kMaxSpecializations) break;
  }
  if (parts.size() > kMaxSpecializations) {
    parts.clear();
    parts.push_back(std::move(group));
  }
  return parts;
}

bool has_many_distinct(const Group& group) {
  if (group.members.size() < kWorthSharing) return false;
  std::set<Bits> distinct;
  for (const Member& member : group.members) {
    Bits bits;
    for (const KernelNumber& number : member.numbers) bits.push_back(number.bits);
    distinct.insert(std::move(bits));
    if (distinct.size() >= kWorthSharing) return true;
  }
  return false;
}

/// The arguments of a shared kernel: the source of each number, and the values that each member passes.
struct Arguments {
  std::vector<NumberSource> sources;  // one per number
  std::vector<Bits> values;           // one row per argument, one column per member
};

/// Two numbers share one argument if they are equal in every member. Two i64 numbers, such as offsets, also share one
/// if their difference is the same in every member. The accesses of one tile then have one address plus displacements,
/// as without sharing.
Arguments choose_arguments(const Group& group) {
  Arguments arguments;
  std::map<std::pair<bool, Bits>, std::uint32_t> known;
  const std::vector<KernelNumber>& first = group.members.front().numbers;
  for (std::size_t i = 0; i < first.size(); ++i) {
    Bits values;
    for (const Member& member : group.members) values.push_back(member.numbers[i].bits);
    if (std::ranges::all_of(values, [&](std::uint64_t bits) { return bits == first[i].bits; })) {
      arguments.sources.push_back({{}, first[i].bits});
      continue;
    }
    const bool is_sum = first[i].dtype == DType::kI64;
    Bits key = values;
    for (std::uint64_t& bits : key) bits -= is_sum ? first[i].bits : 0;
    const auto [place, is_new] =
        known.try_emplace({is_sum, std::move(key)}, static_cast<std::uint32_t>(arguments.values.size()));
    if (is_new) arguments.values.push_back(std::move(values));
    const std::uint64_t constant = is_sum ? first[i].bits - arguments.values[place->second].front() : 0;
    arguments.sources.push_back({place->second, constant});
  }
  return arguments;
}

void share(const Group& group, const TargetSpec& spec) {
  const Arguments arguments = choose_arguments(group);
  const auto& first = std::get<MachineKernel>(group.members.front().kernel->mapped);
  MachineKernel kernel = replace_numbers(first, arguments.sources, arguments.values.size());
  if (const Status status = unguarded(verify_step(kernel)); !status.ok()) {
    check_failed(__FILE__, __LINE__, status.message().c_str());
  }
  const Result<PlannedKernel> planned = unguarded(group.generator->plan(Kernel(std::move(kernel)), spec));
  if (!planned.ok()) return;  // the generator maps loop nests itself and does not support machine kernels
  for (std::size_t i = 0; i < group.members.size(); ++i) {
    PlannedKernel& member = *group.members[i].kernel;
    PlannedKernel shared = *planned;
    shared.name = shared.info.name = member.name;
    shared.num_groups = member.num_groups;
    shared.flops = member.flops;
    shared.sizes = member.sizes;
    for (const Bits& values : arguments.values) shared.sizes.emplace_back(static_cast<std::int64_t>(values[i]));
    member = std::move(shared);
  }
}

}  // namespace

void share_kernels(std::span<PlannedKernel* const> kernels, const Target& target) {
  for (Group& group : group_kernels(kernels, target)) {
    for (const Group& part : split_by_specialized_numbers(std::move(group))) {
      if (has_many_distinct(part)) share(part, target.spec());
    }
  }
}

}  // namespace millrace
