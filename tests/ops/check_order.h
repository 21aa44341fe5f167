// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tests/reference/evaluate.h"
#include "tests/support/ops/op_driver.h"

namespace millrace::test {

inline constexpr std::uint32_t kAllUses[] = {1, 2, 3};

/// How check_order runs.
struct OrderRuns {
  std::uint32_t max_groups_per_call = 0xffff'ffff;
  std::span<const std::uint32_t> uses = kAllUses;  // sets of used results
};

/// The targets of the host that have vectors; for bytes, whose sorts alone use features, also the best with them.
inline std::vector<TargetSpec> vector_targets(DType dtype) {
  std::vector<TargetSpec> targets = host_targets();
  std::erase_if(targets, [](const TargetSpec& target) { return target.isa == IsaLevel::kBaseline; });
  const TargetSpec best = TargetSpec::parse("cpu").value();
  if (size_bytes(dtype) == 1 && best.features.any()) targets.push_back(best);
  return targets;
}

/// Runs a sort or topk on every vector target of the host against the oracle.
inline void check_order(Op op, const Attributes& attributes, const reference::Tensor& rows, std::string_view name,
                        DriverTally& tally, const OrderRuns& runs = {}) {
  const std::vector<reference::Tensor> expected = reference::evaluate(op, attributes, {&rows, 1});
  for (const TargetSpec& target : vector_targets(rows.type.dtype)) {
    for (const std::uint32_t used : runs.uses) {
      OpTrial trial = {op, attributes, {&rows, 1}, 0, {}, ""};
      trial.options.run.target = target;
      trial.options.used_results = used;
      trial.options.run.max_groups_per_call = runs.max_groups_per_call;
      trial.label = fmt::format("{} {} {} {} on {} used results {}", to_text(op), name, rows.type.to_text(),
                                to_text(attributes), target.to_text(), used);
      run_trial(trial, expected, tally);
    }
  }
}

/// Checks that trials ran, and that nothing failed or was refused.
inline void check_all_passed(const DriverTally& tally) {
  CHECK(tally.ran > 0);
  for (const std::string& failure : tally.failures) FAIL_CHECK(failure);
  CHECK(fmt::format("{}", fmt::join(refusals(tally), "\n")) == "");
}

}  // namespace millrace::test
