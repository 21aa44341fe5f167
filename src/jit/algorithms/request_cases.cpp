// SPDX-License-Identifier: Apache-2.0
// Requests whose sizes a run binds: several algorithms share them, each the sizes that it is best at, and a run
// launches the kernels of one.
#include "jit/algorithms/request_cases.h"

#include <algorithm>

#include <fmt/format.h>

#include "jit/algorithms/size_margin.h"

namespace millrace {
namespace {

std::string free_name(const KernelSequence& sequence, const std::string& name) {
  const auto is_free = [&](const std::string& wanted) {
    return std::ranges::none_of(sequence.scratch, [&](const SequenceScratch& other) { return other.name == wanted; });
  };
  std::string found = name;
  for (int number = 2; !is_free(found); ++number) found = fmt::format("{}_{}", name, number);
  return found;
}

}  // namespace

SortDescriptor with_at_most(const SortDescriptor& sort, const SortBounds& bounds, std::string_view name) {
  const SizeExpr& n = sort.input.type.shape[sort.axis];
  if (n.upper_bound() <= bounds.n && sort.k.upper_bound() <= bounds.k) return sort;
  SortDescriptor limited = sort;
  limited.name += name;
  if (n.upper_bound() > bounds.n) limited.input.type.shape[sort.axis] = min(n, bounds.n);
  limited.k = min(sort.k, std::min(bounds.n, bounds.k));
  for (std::optional<KernelTensor>* result : {&limited.values, &limited.indices}) {
    if (*result) (*result)->type.shape[sort.axis] = limited.k;
  }
  return limited;
}

std::vector<RequestCase> cases_of(const Algorithm& algorithm, const KernelRequest& request, const TargetSpec& spec) {
  std::vector<RequestCase> cases;
  if (algorithm.cases != nullptr) cases = algorithm.cases(request, spec);
  std::erase_if(cases, [](const RequestCase& one) { return never_holds(one.margin); });
  if (cases.empty()) cases.push_back({1, request});
  return cases;
}

bool CaseSequence::covers(const SizeExpr& margin) const {
  return never_holds(margin_of_both(margin, margin_of_not(taken_)));
}

void CaseSequence::append(KernelSequence sequence, std::string_view algorithm, const SizeExpr& margin) {
  const SizeExpr factor = indicator(margin_of_both(margin, margin_of_not(taken_)));
  taken_ = max(taken_, margin);
  if (!all_.algorithm.ends_with(algorithm)) {
    all_.algorithm += (all_.algorithm.empty() ? "" : ", ") + std::string(algorithm);
  }
  const auto first_scratch = static_cast<std::uint32_t>(all_.scratch.size());
  for (const SequenceScratch& scratch : sequence.scratch) {
    all_.scratch.push_back({free_name(all_, scratch.name), scratch.size_bytes * factor});
  }
  for (SequenceKernel& entry : sequence.kernels) {
    entry.kernel.num_groups = entry.kernel.num_groups * factor;
    if (entry.kernel.flops) entry.kernel.flops = *entry.kernel.flops * factor;
    for (SequenceOperand& buffer : entry.buffers) {
      if (buffer.kind == SequenceOperand::Kind::kScratch) buffer.index += first_scratch;
    }
    all_.kernels.push_back(std::move(entry));
  }
}

}  // namespace millrace
