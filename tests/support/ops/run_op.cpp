// SPDX-License-Identifier: Apache-2.0
#include "tests/support/ops/run_op.h"

#include <algorithm>

namespace millrace::test {
namespace {

/// The tensors of a request, in the order of its buffers.
struct RequestTensors {
  std::vector<KernelTensor*> operands;
  std::vector<KernelTensor*> results;
};

RequestTensors tensors_of(KernelRequest& request) {
  RequestTensors tensors;
  if (auto* loop = std::get_if<LoopKernel>(&request)) {
    for (KernelTensor& operand : loop->operands) tensors.operands.push_back(&operand);
    for (KernelTensor& result : loop->results) tensors.results.push_back(&result);
  } else if (auto* sort = std::get_if<SortDescriptor>(&request)) {
    tensors.operands.push_back(&sort->input);
    if (sort->values) tensors.results.push_back(&*sort->values);
    if (sort->indices) tensors.results.push_back(&*sort->indices);
  } else if (auto* scan = std::get_if<ScanDescriptor>(&request)) {
    tensors = {{&scan->input}, {&scan->result}};
  } else {
    auto& scatter = std::get<ScatterDescriptor>(request);
    tensors = {{&scatter.input, &scatter.indices, &scatter.updates}, {&scatter.result}};
  }
  return tensors;
}

std::vector<BufferBinding> bindings_of(const std::vector<GuardedTensor>& tensors) {
  std::vector<BufferBinding> bindings;
  for (const GuardedTensor& tensor : tensors) bindings.push_back(tensor.binding());
  return bindings;
}

/// Which of the node's operands a request reads: its own, or one per request when there are several (concat).
std::span<const reference::Tensor> operands_of_request(std::span<const reference::Tensor> operands, std::size_t request,
                                                       std::size_t num_requests) {
  return num_requests > 1 ? operands.subspan(request, 1) : operands;
}

Status evaluate_request(const KernelRequest& request, std::span<const BufferBinding> operands,
                        std::span<const BufferBinding> results) {
  const auto* loop = std::get_if<LoopKernel>(&request);
  if (!loop) return unimplemented("only nests have a definition point by point");
  std::vector<void*> data;
  for (const BufferBinding& operand : operands) data.push_back(operand.data);
  for (const BufferBinding& result : results) data.push_back(result.data);
  return evaluate_loop_kernel(*loop, data, {});
}

}  // namespace

std::vector<TensorType> types_of(std::span<const reference::Tensor> tensors) {
  std::vector<TensorType> types;
  for (const reference::Tensor& tensor : tensors) types.push_back(tensor.type);
  return types;
}

Result<std::vector<KernelRequest>> build_requests(Op op, const Attributes& attributes,
                                                  std::span<const TensorType> operands, Strides strides,
                                                  std::uint32_t used_results) {
  MILLRACE_TRY_ASSIGN(const Inference inferred, infer_types(op, operands, attributes));
  MILLRACE_TRY_ASSIGN(std::vector<KernelRequest> requests,
                      definition(op).build({operands, inferred.results, attributes, used_results}));
  for (KernelRequest& request : requests) {
    const RequestTensors tensors = tensors_of(request);
    for (KernelTensor* tensor : tensors.operands) tensor->layout = make_layout(tensor->type.shape, strides);
    for (KernelTensor* tensor : tensors.results) tensor->layout = make_layout(tensor->type.shape, strides);
    if (const auto* loop = std::get_if<LoopKernel>(&request)) MILLRACE_TRY(verify(*loop));
  }
  return requests;
}

Result<OpRun> run_op(Op op, const Attributes& attributes, std::span<const reference::Tensor> operands,
                     const OpRunOptions& options) {
  MILLRACE_TRY_ASSIGN(std::vector<KernelRequest> requests,
                      build_requests(op, attributes, types_of(operands), options.strides, options.used_results));
  OpRun run;
  std::vector<GuardedTensor> results;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const RequestTensors tensors = tensors_of(requests[i]);
    const auto values = operands_of_request(operands, i, requests.size());
    std::vector<GuardedTensor> inputs;
    for (std::size_t n = 0; n < tensors.operands.size(); ++n) {
      inputs.emplace_back(*tensors.operands[n], options.guard);
      inputs.back().fill(values[n]);
    }
    if (results.empty()) {
      for (const KernelTensor* result : tensors.results) results.emplace_back(*result, options.guard);
    }
    std::vector<std::vector<std::byte>> before;
    for (const GuardedTensor& input : inputs) before.emplace_back(input.bytes().begin(), input.bytes().end());
    if (options.by_definition) {
      MILLRACE_TRY(evaluate_request(requests[i], bindings_of(inputs), bindings_of(results)));
    } else {
      MILLRACE_TRY_ASSIGN(RunReport report,
                          run_request(requests[i], bindings_of(inputs), bindings_of(results), options.run));
      run.reports.push_back(std::move(report));
    }
    for (std::size_t n = 0; n < inputs.size(); ++n) {
      if (!std::ranges::equal(before[n], inputs[n].bytes())) return internal_error("an input's bytes have changed");
    }
  }
  for (const GuardedTensor& result : results) {
    if (!result.is_rest_intact()) return internal_error("bytes that are no element of a result were written");
    run.results.push_back(result.read());
  }
  return run;
}

}  // namespace millrace::test
