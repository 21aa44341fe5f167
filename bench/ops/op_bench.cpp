// SPDX-License-Identifier: Apache-2.0
// Every row of tests/op_cases.h on its large problem, on the host's best ISA level, one thread: op/dtype.
#include <benchmark/benchmark.h>

#include "tests/support/ops/op_samples.h"
#include "tests/support/ops/run_op.h"

namespace {

using namespace millrace;
using namespace millrace::test;

std::vector<BufferBinding> bind(std::vector<reference::Tensor>& tensors) {
  std::vector<BufferBinding> bindings;
  for (reference::Tensor& tensor : tensors) bindings.push_back({tensor.bytes.data(), tensor.bytes.size()});
  return bindings;
}

std::vector<std::size_t> sizes(const std::vector<BufferBinding>& bindings) {
  std::vector<std::size_t> sizes;
  for (const BufferBinding& binding : bindings) sizes.push_back(binding.size_bytes);
  return sizes;
}

/// The compiled requests of an op, with the operands that each reads.
struct PreparedOp {
  std::vector<std::unique_ptr<PreparedRequest>> requests;
  std::vector<std::vector<BufferBinding>> operands;
};

Result<PreparedOp> prepare(const OpCase& row, const Attributes& attributes, std::vector<reference::Tensor>& operands,
                           std::vector<BufferBinding>& results) {
  MILLRACE_TRY_ASSIGN(const auto requests, build_requests(row.op, attributes, types_of(operands), Strides::kDense));
  const std::vector<BufferBinding> inputs = bind(operands);
  PreparedOp op;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    // concat has one request per operand.
    op.operands.push_back(requests.size() > 1 ? std::vector{inputs[i]} : inputs);
    MILLRACE_TRY_ASSIGN(auto prepared, prepare_request(requests[i], sizes(op.operands.back()), sizes(results),
                                                       {host_targets().back()}));
    op.requests.push_back(std::move(prepared));
  }
  return op;
}

void run_op_case(benchmark::State& state, const OpCase& row, DType dtype) {
  std::mt19937_64 random(1);
  const OpProblem problem = row.large();
  const Attributes attributes = attributes_for(problem, dtype);
  std::vector<reference::Tensor> operands = sample_operands(row, problem, dtype, random), results;
  const auto inferred = infer_types(row.op, types_of(operands), attributes);
  if (!inferred.ok()) return state.SkipWithError(inferred.status().message().c_str());
  std::size_t bytes = 0;
  for (const TensorType& type : inferred->results) results.emplace_back(type);
  std::vector<BufferBinding> outputs = bind(results);
  auto op = prepare(row, attributes, operands, outputs);
  if (!op.ok()) return state.SkipWithError(op.status().message().c_str());
  for (auto _ : state) {
    for (std::size_t i = 0; i < op->requests.size(); ++i) {
      const Status status = op->requests[i]->run(op->operands[i], outputs);
      if (!status.ok()) return state.SkipWithError(status.message().c_str());
    }
  }
  for (const reference::Tensor& tensor : operands) bytes += tensor.bytes.size();
  for (const reference::Tensor& tensor : results) bytes += tensor.bytes.size();
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(bytes));
  state.SetLabel(op->requests.front()->report().algorithm + " " + op->requests.front()->report().generators.front());
}

[[maybe_unused]] const bool kRegistered = [] {
  for (const OpCase& row : op_cases()) {
    for (const DType dtype : row.dtypes) {
      const std::string name = std::string(to_text(row.op)) + "/" + std::string(to_text(dtype));
      benchmark::RegisterBenchmark(name.c_str(),
                                   [&row, dtype](benchmark::State& state) { run_op_case(state, row, dtype); });
    }
  }
  return true;
}();

}  // namespace
