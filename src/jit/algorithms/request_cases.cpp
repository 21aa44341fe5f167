// SPDX-License-Identifier: Apache-2.0
// Splits a request whose sizes are bound at run time among several algorithms: each lowers the sizes that it handles
// best. At run time, only the kernels of one algorithm are launched.
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

RequestCase sort_case(const SizeExpr& margin, SortDescriptor sort, const SortBounds& bounds, std::string_view name) {
  SizeExpr& n = sort.input.type.shape[sort.axis];
  if (!always_holds(margin)) sort.name += name;
  if (n.upper_bound() > bounds.n) n = min(n, bounds.n);
  if (const std::int64_t max_k = std::min(bounds.n, bounds.k); sort.k.upper_bound() > max_k)
    sort.k = min(sort.k, max_k);
  for (std::optional<KernelTensor>* result : {&sort.values, &sort.indices}) {
    if (*result) (*result)->type.shape[sort.axis] = sort.k;
  }
  return {margin, std::move(sort)};
}

std::vector<RequestCase> cases_of(const Algorithm& algorithm, const KernelRequest& request, const TargetSpec& spec) {
  std::vector<RequestCase> cases;
  if (algorithm.cases != nullptr) {
    cases = algorithm.cases(request, spec);
    if (cases.empty()) return {};
  }
  std::erase_if(cases, [](const RequestCase& one) { return never_holds(one.margin); });
  if (cases.empty()) cases.push_back({1, request});
  return cases;
}

bool CaseSequence::covers(const SizeExpr& margin) const {
  return std::ranges::any_of(
      taken_, [&](const SizeExpr& taken) { return never_holds(margin_of_both(margin, margin_of_not(taken))); });
}

void CaseSequence::append(KernelSequence sequence, std::string_view algorithm, const SizeExpr& margin) {
  SizeExpr taken = 0;
  for (const SizeExpr& earlier : taken_) taken = max(taken, earlier);
  const SizeExpr factor = indicator(margin_of_both(margin, margin_of_not(taken)));
  taken_.push_back(margin);
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
