// SPDX-License-Identifier: Apache-2.0
#include "tests/support/ops/op_driver.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include <fmt/format.h>

#include "tests/reference/evaluate.h"
#include "tests/support/difference.h"
#include "tests/support/ops/op_samples.h"

namespace millrace::test {
namespace {

using reference::Tensor;

/// 16-bit floats pass through f32, which makes a signalling NaN quiet; all else is moved as it is.
bool keeps_nan_bits(Op op, DType dtype) {
  const bool moves = has_trait(op, kView) || has_trait(op, kMove) || op == Op::bit_cast;
  return has_trait(op, kOrder) || (moves && size_bytes(dtype) > 2);
}

}  // namespace

void order_rows(std::vector<Tensor>& results, std::int64_t axis_attribute) {
  const std::vector<Tensor> before = results;
  const Tensor& keys = before.back();
  reference::Extents rows = keys.extents();
  if (keys.num_elements() == 0) return;
  const std::size_t axis = reference::from_front(axis_attribute, rows.size());
  const reference::Extents strides = reference::row_major_strides(rows);
  const auto k = static_cast<std::size_t>(rows[axis]);
  rows[axis] = 1;
  reference::for_each_index(rows, [&](const reference::Extents& row) {
    const auto at = [&](std::size_t i) {
      return reference::offset_of(row, strides) + static_cast<std::int64_t>(i) * strides[axis];
    };
    const auto key = [&](std::size_t i) {
      std::uint64_t bits = 0;
      std::memcpy(&bits, keys.element(at(i)), size_bytes(keys.type.dtype));
      return bits;
    };
    std::vector<std::size_t> order(k);
    std::iota(order.begin(), order.end(), 0);
    std::ranges::sort(order, {}, key);
    for (std::size_t r = 0; r < results.size(); ++r) {
      const std::size_t bytes = size_bytes(results[r].type.dtype);
      for (std::size_t i = 0; i < k; ++i)
        std::memcpy(results[r].element(at(i)), before[r].element(at(order[i])), bytes);
    }
  });
}

std::string compare_results(const OpTrial& trial, std::vector<Tensor> found, std::span<const Tensor> all_expected) {
  std::vector<Tensor> expected;
  for (std::size_t i = 0; i < all_expected.size(); ++i) {
    if ((trial.options.used_results >> i & 1) != 0) expected.push_back(all_expected[i]);
  }
  if (found.size() != expected.size()) {
    return fmt::format("found {} results, expected {}", found.size(), expected.size());
  }
  if (const auto* topk = std::get_if<TopKAttrs>(&trial.attributes); topk && !topk->sorted && !found.empty()) {
    order_rows(found, topk->axis);
    order_rows(expected, topk->axis);
  }
  const std::vector<long double> bounds = reference::accumulation_bound(trial.op, trial.attributes, trial.operands);
  for (std::size_t i = 0; i < found.size(); ++i) {
    const Tolerance tolerance = {trial.max_ulp, bounds, keeps_nan_bits(trial.op, expected[i].type.dtype)};
    if (std::string text = find_difference(found[i], expected[i], tolerance); !text.empty()) {
      return fmt::format("result {}: {}", i, text);
    }
  }
  return "";
}

namespace {

std::string shapes_text(std::span<const Tensor> operands) {
  std::string text;
  for (const Tensor& operand : operands) text += " " + operand.type.to_text();
  return text;
}

/// How problem number `n` of a row is run: every combination comes up as rows, dtypes and problems go by.
OpRunOptions vary(const TargetSpec& target, std::size_t n) {
  OpRunOptions options;
  options.run.target = target;
  options.run.max_groups_per_call = n % 5 == 0 ? 1 : 0xffff'ffff;
  options.strides = static_cast<Strides>(n % 3);
  options.guard = n / 3 % 2 == 0 ? GuardedBuffer::Guard::kAfter : GuardedBuffer::Guard::kBefore;
  return options;
}

/// A problem with its operands and the oracle's results.
struct SampledProblem {
  std::vector<Tensor> operands;
  std::vector<Tensor> expected;
  OpTrial trial;
};

SampledProblem sample_problem(const OpCase& row, const OpProblem& problem, DType dtype, const TargetSpec& target,
                              std::size_t number, DriverTally& tally) {
  std::mt19937_64 random(number);
  SampledProblem sampled;
  sampled.operands = sample_operands(row, problem, dtype, random);
  const Attributes attributes = attributes_for(problem, dtype);
  sampled.expected = reference::evaluate(row.op, attributes, sampled.operands);
  sampled.trial = {row.op, attributes, sampled.operands, row.max_ulp, vary(target, number), ""};
  sampled.trial.label = fmt::format("{} {}{} {} problem {}", to_text(row.op), to_text(dtype),
                                    shapes_text(sampled.operands), to_text(attributes), number);
  const auto inferred = infer_types(row.op, types_of(sampled.operands), attributes);
  if (!inferred.ok() || inferred->results != types_of(sampled.expected)) {
    tally.failures.push_back(sampled.trial.label + ": infer differs from the oracle: " + inferred.status().message());
  }
  return sampled;
}

void run_problem(const OpCase& row, const OpProblem& problem, DType dtype, const TargetSpec& target, std::size_t number,
                 DriverTally& tally) {
  SampledProblem sampled = sample_problem(row, problem, dtype, target, number, tally);
  OpTrial& trial = sampled.trial;
  const std::vector<Tensor>& expected = sampled.expected;
  for (const std::string& generator : generator_names(target)) {
    trial.options.run.force_generator = generator;
    run_trial(trial, expected, tally);
  }
  trial.options.run.force_generator = "";
  // The other side of the buffer, too.
  trial.options.guard = static_cast<GuardedBuffer::Guard>(1 - static_cast<int>(trial.options.guard));
  for (const std::string& algorithm : algorithm_names(target)) {
    trial.options.run.force_algorithm = algorithm;
    run_trial(trial, expected, tally);
  }
}

/// Dtypes tried with every problem. Each of the others has a third of the problems, in turn, so that together they have
/// all.
bool is_tried_whole(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kF64 || dtype == DType::kI32 || dtype == DType::kBool;
}

/// The problems of a row for its dtype `dtype_index`.
OpProblems problems_for(const OpCase& row, std::size_t dtype_index, std::int64_t lanes) {
  const OpProblems all = row.problems(lanes);
  if (is_tried_whole(row.dtypes[dtype_index])) return all;
  OpProblems some;
  for (std::size_t i = dtype_index % 3; i < all.size(); i += 3) some.push_back(all[i]);
  return some;
}

}  // namespace

namespace {

/// Below this many elements no op executes a million lane instructions.
constexpr std::int64_t kMinTooLarge = 1900;

std::int64_t num_elements(const OpTrial& trial, std::span<const Tensor> expected) {
  std::int64_t elements = 0;
  for (const Tensor& operand : trial.operands) elements += operand.num_elements();
  for (const Tensor& result : expected) elements += result.num_elements();
  return elements;
}

}  // namespace

std::vector<std::string> generator_names(const TargetSpec& target) {
  std::vector<std::string> names;
  for (const auto& generator : all_generators()) {
    if (generator->supports(target).ok()) names.emplace_back(generator->name());
  }
  return names;
}

std::vector<std::string> refusals(const DriverTally& tally) {
  struct OfOp {
    std::string counts;
    std::int64_t tried = 0, refused = 0;
  };
  std::map<std::pair<std::string, std::string>, std::map<Op, OfOp>> sections;
  for (const auto& [key, count] : tally.forced) {
    OfOp& of_op = sections[{key.target, key.forced}][key.op];
    of_op.tried += count.tried;
    of_op.refused += count.refused;
    if (count.refused != 0) {
      of_op.counts += fmt::format(" {} {} of {}", to_text(key.dtype), count.refused, count.tried);
    }
  }
  std::vector<std::string> lines;
  for (const auto& [section, ops] : sections) {
    const std::string start = fmt::format("{} {}", section.first, section.second);
    std::string nothing;
    bool takes_any = false;
    for (const auto& [op, of_op] : ops) {
      const bool is_refused = of_op.refused == of_op.tried;
      if (is_refused) nothing += fmt::format(" {}", to_text(op));
      takes_any |= !is_refused;
    }
    if (!nothing.empty()) lines.push_back(start + (takes_any ? " takes nothing of:" + nothing : " takes nothing"));
    for (const auto& [op, of_op] : ops) {
      if (of_op.refused != 0 && of_op.refused != of_op.tried) {
        lines.push_back(fmt::format("{} refuses of {}:{}", start, to_text(op), of_op.counts));
      }
    }
  }
  return lines;
}

void run_trial(const OpTrial& trial, std::span<const Tensor> expected, DriverTally& tally) {
  const RunOptions& run = trial.options.run;
  const std::string forced = trial.options.by_definition ? "definition" : run.force_generator + run.force_algorithm;
  auto outcome = run_op(trial.op, trial.attributes, trial.operands, trial.options);
  const bool is_limited = run.target.is_simulated() && run.max_lane_instructions != RunOptions{}.max_lane_instructions;
  if (is_limited || !forced.empty()) {
    const bool is_too_large = is_limited && outcome.status().code() == StatusCode::kResourceExhausted &&
                              num_elements(trial, expected) >= kMinTooLarge;
    const bool is_refused = !forced.empty() && outcome.status().code() == StatusCode::kUnimplemented;
    const DType dtype = (trial.operands.empty() ? expected : trial.operands).front().type.dtype;
    ForcedCount& count = tally.forced[{run.target.to_text(), is_limited ? "simulated" : forced, trial.op, dtype}];
    ++count.tried;
    if (is_too_large || is_refused) {
      ++count.refused;
      return;
    }
  }
  ++tally.ran;
  std::string what =
      outcome.ok() ? compare_results(trial, std::move(outcome->results), expected) : outcome.status().message();
  if (what.empty()) return;
  tally.failures.push_back(fmt::format("{} on {} force '{}' strides {} guard {}: {}", trial.label, run.target.to_text(),
                                       forced, static_cast<int>(trial.options.strides),
                                       static_cast<int>(trial.options.guard), what));
}

void run_row(const OpCase& row, DriverTally& tally) {
  const std::span<const IsaLevel> executed = host_isa_levels();
  std::size_t number = 0;
  for (std::size_t dtype_index = 0; dtype_index < row.dtypes.size(); ++dtype_index) {
    const DType dtype = row.dtypes[dtype_index];
    // A level that the host lacks has its numbers too: a problem is the same on every host.
    for (const IsaLevel isa : {IsaLevel::kBaseline, IsaLevel::kAvx2, IsaLevel::kAvx512}) {
      const TargetSpec target = {"cpu", isa};
      const std::int64_t lanes = target.vector_bytes() / static_cast<std::int64_t>(size_bytes(dtype));
      for (const OpProblem& problem : problems_for(row, dtype_index, lanes)) {
        if (std::ranges::find(executed, isa) != executed.end()) run_problem(row, problem, dtype, target, number, tally);
        ++number;
      }
    }
  }
}

void run_row_simulated(const OpCase& row, const TargetSpec& target, DriverTally& tally) {
  std::size_t number = 0;
  for (std::size_t dtype_index = 0; dtype_index < row.dtypes.size(); ++dtype_index) {
    const DType dtype = row.dtypes[dtype_index];
    const std::int64_t lanes = target.vector_bytes() / static_cast<std::int64_t>(size_bytes(dtype));
    for (const OpProblem& problem : problems_for(row, dtype_index, lanes)) {
      SampledProblem sampled = sample_problem(row, problem, dtype, target, number++, tally);
      sampled.trial.options.run.max_lane_instructions = 1'000'000;
      run_trial(sampled.trial, sampled.expected, tally);
    }
  }
}

void run_numbered(const OpCase& row, const OpProblem& problem, DType dtype, const RunOptions& run, std::size_t number,
                  DriverTally& tally) {
  SampledProblem sampled = sample_problem(row, problem, dtype, run.target, number, tally);
  sampled.trial.options.run = run;
  if (info(row.op).num_results == 2) {
    sampled.trial.options.used_results = 1 + static_cast<std::uint32_t>(number % 3);
  }
  run_trial(sampled.trial, sampled.expected, tally);
}

void run_row_by_definition(const OpCase& row, DriverTally& tally) {
  constexpr std::int64_t kLanes = 4;
  std::size_t number = 0;
  for (std::size_t dtype_index = 0; dtype_index < row.dtypes.size(); ++dtype_index) {
    const DType dtype = row.dtypes[dtype_index];
    for (const OpProblem& problem : problems_for(row, dtype_index, kLanes)) {
      SampledProblem sampled = sample_problem(row, problem, dtype, host_targets().front(), number++, tally);
      sampled.trial.options.by_definition = true;
      run_trial(sampled.trial, sampled.expected, tally);
    }
  }
}

}  // namespace millrace::test
