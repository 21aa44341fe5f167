// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tests/op_cases.h"
#include "tests/support/ops/run_op.h"

namespace millrace::test {

/// What was asked for, and of how many trials it refused how many.
struct ForcedKey {
  std::string target;
  std::string forced;  // generator or algorithm; "simulated": too large for the simulator
  Op op{};
  DType dtype{};
  auto operator<=>(const ForcedKey&) const = default;
};
struct ForcedCount {
  std::int64_t tried = 0, refused = 0;
};

/// What a run of rows did.
struct DriverTally {
  std::int64_t ran = 0;
  std::map<ForcedKey, ForcedCount> forced;
  std::vector<std::string> failures;  // "add f32 {..} cpu:avx2 force llvm: element 3: ..."
};

/// One op on one choice of operands, against the oracle.
struct OpTrial {
  Op op{};
  Attributes attributes;
  std::span<const reference::Tensor> operands;
  double max_ulp = 0;
  OpRunOptions options;
  std::string label;
};

/// Rows of an unsorted topk may come in any order: each row's results are put in the order of the last one, the indices
/// where they are wanted, else the values' bits.
void order_rows(std::vector<reference::Tensor>& results, std::int64_t axis);

/// Every refusal as text, by target and by forced generator or algorithm: the ops that it refused completely, then each
/// op that it refused in part, with the count for each dtype.
std::vector<std::string> refusals(const DriverTally&);

/// What is wrong with the results that the trial's options use, or nothing. Differences are judged as the op allows.
std::string compare_results(const OpTrial& trial, std::vector<reference::Tensor> found,
                            std::span<const reference::Tensor> expected);

/// Runs it unless the forced generator or algorithm refuses; a difference, or an error, is a failure of the tally.
void run_trial(const OpTrial& trial, std::span<const reference::Tensor> expected, DriverTally& tally);

/// Runs a row over its dtypes, problems, and every ISA level of the host, forcing each generator and then each
/// algorithm. Strides, guard side and group sharing vary with the problem.
void run_row(const OpCase& row, DriverTally& tally);

/// Runs a row by definition: its requests before any mapping.
void run_row_by_definition(const OpCase& row, DriverTally& tally);

/// Runs a row on a simulated GPU over its dtypes and problems, lowered by default. Problems with a kernel that executes
/// more than a million lane instructions count as refused; that is a failure where operands and results together have
/// few elements.
void run_row_simulated(const OpCase& row, const TargetSpec& target, DriverTally& tally);

/// Runs one problem of a row as `run` says. Strides, guard side, wanted results and the operands go by its number.
void run_numbered(const OpCase& row, const OpProblem& problem, DType dtype, const RunOptions& run, std::size_t number,
                  DriverTally& tally);

/// Names of the generators and algorithms that can be forced on a target.
std::vector<std::string> generator_names(const TargetSpec& target);

}  // namespace millrace::test
