// SPDX-License-Identifier: Apache-2.0
#include "tests/support/kernels/run_request.h"

#include <algorithm>

#include "jit/algorithms/algorithm.h"
#include "millrace/hal/sim_device.h"
#include "millrace/hal/transfer.h"
#include "millrace/isa/device.h"
#include "millrace/jit/code_object.h"
#include "millrace/jit/kernel_cache.h"
#include "tests/support/gpu/split_generator.h"
#include "tests/support/guarded_buffer.h"

namespace millrace::test {
namespace {

using Kind = SequenceOperand::Kind;

KernelCache& cache() {
  static KernelCache cache(KernelCache::Options{});
  return cache;
}

Result<std::shared_ptr<const ExecutableImage>> compile(const PlannedKernel& kernel, const Target& target) {
  const KernelCompiler* generator = target.find_generator(kernel.generator);
  if (generator == nullptr) return internal_error("no generator " + kernel.generator);
  return cache().get(kernel, target.spec(), *generator);
}

/// A command list that runs a sequence once: operands, results and scratch are bound in this order.
class SequenceRecorder {
 public:
  SequenceRecorder(const KernelSequence& sequence, std::span<const std::size_t> operand_bytes,
                   std::span<const std::size_t> result_bytes)
      : num_operands_(operand_bytes.size()), num_results_(result_bytes.size()) {
    for (const std::size_t bytes : operand_bytes) bind("operand", BindingKind::kInput, as_size(bytes));
    for (const std::size_t bytes : result_bytes) bind("result", BindingKind::kOutput, as_size(bytes));
    for (const SequenceScratch& scratch : sequence.scratch) {
      bind(scratch.name, BindingKind::kTransient, scratch.size_bytes);
    }
    for (const SequenceKernel& kernel : sequence.kernels) dispatch(kernel);
  }

  const CommandList& list() const { return list_; }

 private:
  static SizeExpr as_size(std::size_t bytes) { return static_cast<std::int64_t>(bytes); }
  void bind(std::string name, BindingKind kind, const SizeExpr& size_bytes) {
    list_.bindings.push_back({std::move(name), kind, list_.add_size(size_bytes)});
  }

  void dispatch(const SequenceKernel& kernel) {
    if (!list_.commands.empty()) list_.commands.emplace_back(BarrierCommand{});
    DispatchCommand command;
    command.kernel = list_.kernels.push_back(kernel.kernel.info);
    command.num_groups = list_.add_size(kernel.kernel.num_groups);
    for (const SequenceOperand& buffer : kernel.buffers) {
      std::size_t binding = buffer.index;
      if (buffer.kind != Kind::kOperand) binding += num_operands_;
      if (buffer.kind == Kind::kScratch) binding += num_results_;
      const auto index = static_cast<BindingIndex>(binding);
      command.buffers.push_back({index, list_.add_size(0), list_.bindings[index].size_bytes});
    }
    for (const SizeExpr& size : kernel.kernel.sizes) command.sizes.push_back(list_.add_size(size));
    list_.commands.emplace_back(std::move(command));
  }

  std::size_t num_operands_, num_results_;
  CommandList list_;
};

class PreparedSequence final : public PreparedRequest {
 public:
  PreparedSequence(const KernelSequence& sequence, const CommandList& list, std::shared_ptr<Device> device,
                   std::shared_ptr<Recording> recording, const SymbolValues& symbols)
      : device_(std::move(device)), recording_(std::move(recording)) {
    report_.algorithm = sequence.algorithm;
    for (const SequenceKernel& kernel : sequence.kernels) report_.generators.push_back(kernel.kernel.generator);
    for (const SizeExpr& size : list.sizes) sizes_.push_back(size.evaluate(symbols).value());
    for (const SequenceScratch& scratch : sequence.scratch) {
      const std::int64_t bytes = scratch.size_bytes.evaluate(symbols).value();
      scratch_.emplace_back(static_cast<std::size_t>(bytes), GuardedBuffer::Guard::kAfter);
    }
  }

  const RunReport& report() const override { return report_; }

  Status run(std::span<const BufferBinding> operands, std::span<const BufferBinding> results) override {
    bindings_.assign(operands.begin(), operands.end());
    bindings_.insert(bindings_.end(), results.begin(), results.end());
    for (const GuardedBuffer& scratch : scratch_) bindings_.push_back(scratch.binding());
    if (device_->info().addresses_host_memory) return device_->submit(*recording_, {bindings_, sizes_});
    return run_far(operands.size(), results.size());
  }

  bool is_scratch_intact() const {
    return std::ranges::all_of(scratch_, [](const GuardedBuffer& buffer) { return buffer.is_slack_intact(); });
  }

 private:
  /// With a buffer of the device's in the place of each binding. The bytes between a result's elements come back, too.
  Status run_far(std::size_t num_operands, std::size_t num_results) {
    const auto host_bytes = [&](std::size_t i) {
      return std::span(static_cast<std::byte*>(bindings_[i].data), bindings_[i].size_bytes);
    };
    std::vector<std::shared_ptr<Buffer>> buffers;
    std::vector<BufferBinding> far_bindings;
    for (std::size_t i = 0; i < bindings_.size(); ++i) {
      MILLRACE_TRY_ASSIGN(std::shared_ptr<Buffer> buffer, device_->allocate(bindings_[i].size_bytes));
      if (i < num_operands + num_results) MILLRACE_TRY(upload(*device_, *buffer, host_bytes(i)));
      far_bindings.push_back(buffer->binding());
      buffers.push_back(std::move(buffer));
    }
    MILLRACE_TRY_ASSIGN(const std::shared_ptr<Semaphore> done, device_->create_semaphore());
    const Timepoint end[] = {{done, 1}};
    MILLRACE_TRY(device_->submit(*recording_, {.bindings = far_bindings, .sizes = sizes_, .signal = end}));
    MILLRACE_TRY(done->wait(1));
    for (std::size_t i = 0; i < num_operands; ++i) {
      std::vector<std::byte> after(bindings_[i].size_bytes);
      MILLRACE_TRY(download(*device_, *buffers[i], after));
      if (!std::ranges::equal(after, host_bytes(i))) return internal_error("an operand's bytes have changed");
    }
    for (std::size_t i = num_operands; i < num_operands + num_results; ++i) {
      MILLRACE_TRY(download(*device_, *buffers[i], host_bytes(i)));
    }
    return {};
  }

  RunReport report_;
  std::vector<std::int64_t> sizes_;
  std::vector<GuardedBuffer> scratch_;
  std::vector<BufferBinding> bindings_;
  std::shared_ptr<Device> device_;
  std::shared_ptr<Recording> recording_;
};

/// So many take seconds. What the tests run needs far fewer.
constexpr std::uint64_t kMaxWaveInstructions = 20'000'000;

Result<std::shared_ptr<Device>> create_device(const RunOptions& options) {
  if (options.device != nullptr) return options.device;
  if (options.target.is_cpu()) {
    return create_cpu_device(options.target, {.executor = options.executor,
                                              .max_groups_per_call = options.max_groups_per_call,
                                              .shares_small_work = options.executor != nullptr,
                                              .stream_from_bytes = 1});
  }
  if (!options.target.is_simulated()) {
    MILLRACE_TRY_ASSIGN(std::shared_ptr<Device> device,
                        create_isa_device(options.target, decode_code_object,
                                          {.seed = options.seed, .max_wave_instructions = kMaxWaveInstructions}));
    return device;
  }
  MILLRACE_TRY_ASSIGN(std::shared_ptr<Device> device,
                      create_sim_device(options.target, {.max_lane_instructions = options.max_lane_instructions}));
  return device;
}

Result<Target> make_target(const TargetSpec& spec) { return Target::create(spec, all_generators()); }

std::vector<std::size_t> sizes_of(std::span<const BufferBinding> bindings) {
  std::vector<std::size_t> sizes;
  for (const BufferBinding& binding : bindings) sizes.push_back(binding.size_bytes);
  return sizes;
}

/// A GPU's images become ones of a code object that they share.
Status link_if_objects(std::vector<ExecutableImage>& images) {
  if (images.empty() || images.front().format != ImageFormat::kGpuObject) return {};
  MILLRACE_TRY_ASSIGN(std::vector<std::byte> linked, link_images(images));
  const SharedBytes code(std::move(linked));
  for (ExecutableImage& image : images) {
    image.format = ImageFormat::kGpuCode;
    image.bytes = code;
  }
  return {};
}

Result<std::unique_ptr<PreparedSequence>> prepare(const KernelRequest& request,
                                                  std::span<const std::size_t> operand_bytes,
                                                  std::span<const std::size_t> result_bytes,
                                                  const RunOptions& options) {
  MILLRACE_TRY_ASSIGN(const KernelSequence sequence, plan_request(request, options));
  MILLRACE_TRY_ASSIGN(const Target target, make_target(options.target));
  std::vector<ExecutableImage> images;
  for (const SequenceKernel& kernel : sequence.kernels) {
    MILLRACE_TRY_ASSIGN(const auto image, compile(kernel.kernel, target));
    images.push_back(*image);
  }
  MILLRACE_TRY(link_if_objects(images));
  MILLRACE_TRY_ASSIGN(auto device, create_device(options));
  MILLRACE_TRY_ASSIGN(auto executable, device->load(images));
  const SequenceRecorder recorder(sequence, operand_bytes, result_bytes);
  MILLRACE_TRY_ASSIGN(auto recording, device->record(recorder.list(), std::move(executable)));
  return std::make_unique<PreparedSequence>(sequence, recorder.list(), std::move(device), std::move(recording),
                                            options.symbols);
}

}  // namespace

const KernelCompilerList& all_generators() {
  static const KernelCompilerList generators = {make_xbyak_generator(), make_llvm_generator(),
                                                make_interpreter_generator(), make_split_generator()};
  return generators;
}

std::vector<std::string> algorithm_names(const TargetSpec& target) {
  std::vector<std::string> names;
  for (const Algorithm& algorithm : algorithms()) {
    const bool is_for_gpus = algorithm.targets == AlgorithmTargets::kGpu;
    if (algorithm.targets == AlgorithmTargets::kAll || is_for_gpus == target.is_gpu())
      names.emplace_back(algorithm.name);
  }
  return names;
}

std::vector<TargetSpec> host_targets() {
  std::vector<TargetSpec> targets;
  for (const IsaLevel level : host_isa_levels()) targets.push_back({"cpu", level});
  return targets;
}

Result<KernelSequence> plan_request(const KernelRequest& request, const RunOptions& options) {
  MILLRACE_TRY_ASSIGN(const Target target, make_target(options.target));
  LowerOptions lower;
  lower.force_algorithm = options.force_algorithm;
  lower.compile.force_generator = options.force_generator;
  // Without LLVM the interpreter is all that some kernels have.
  lower.compile.allow_reference =
      std::ranges::none_of(target.generators(), [](const auto& generator) { return generator->name() == "llvm"; });
  MILLRACE_TRY_ASSIGN(KernelSequence sequence, lower_request(request, target, lower));
  MILLRACE_TRY(verify(sequence));
  return sequence;
}

Result<std::unique_ptr<PreparedRequest>> prepare_request(const KernelRequest& request,
                                                         std::span<const std::size_t> operand_bytes,
                                                         std::span<const std::size_t> result_bytes,
                                                         const RunOptions& options) {
  MILLRACE_TRY_ASSIGN(std::unique_ptr<PreparedRequest> prepared,
                      prepare(request, operand_bytes, result_bytes, options));
  return prepared;
}

Result<RunReport> run_request(const KernelRequest& request, std::span<const BufferBinding> operands,
                              std::span<const BufferBinding> results, const RunOptions& options) {
  MILLRACE_TRY_ASSIGN(const auto prepared, prepare(request, sizes_of(operands), sizes_of(results), options));
  MILLRACE_TRY(prepared->run(operands, results));
  if (!prepared->is_scratch_intact()) return internal_error("a kernel wrote before its scratch");
  return prepared->report();
}

}  // namespace millrace::test
