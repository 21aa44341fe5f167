// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "millrace/hal/executable.h"
#include "millrace/jit/loop_kernel.h"
#include "millrace/jit/machine_kernel.h"
#include "millrace/jit/memory_plan.h"
#include "millrace/jit/options.h"
#include "millrace/jit/target.h"

namespace millrace {

/// What a kernel does with each row. Algorithms define it, and the generator that accepts the kernel reads it
/// (src/jit/algorithms/row_operation.h).
struct RowOperation;

/// A sort, TopK, scan, argmin or argmax with one row, or one part of a row, per workgroup; or one step of sorting long
/// rows. Its buffers are, in this order: the operands (if there is a load, the load's operands in place of the input),
/// the requested results (of an argmin or argmax: indices, then values), and scratch if the generator needs it.
struct RowKernel {
  std::string name;
  std::shared_ptr<const RowOperation> operation;
};

/// A function to compile: a loop nest, which a generator maps to its target, a machine kernel, or a row kernel.
using Kernel = std::variant<LoopKernel, MachineKernel, RowKernel>;

const std::string& name_of(const Kernel&);

/// The plan of a kernel that its generator does not map to a MachineKernel. Only emit() can read it.
struct OpaquePlan {
  /// The target is the one given to plan(), or differs from it only in features that the kernel does not need.
  std::function<Result<ExecutableImage>(const TargetSpec&)> emit;
};

/// A kernel as one generator will emit it. Everything that a launch needs is decided before code exists, so that a
/// program can be scheduled, and a cached image found, without loading the generator's library.
struct PlannedKernel {
  std::string name;
  std::string generator;
  std::variant<MachineKernel, OpaquePlan> mapped;  // the input of emit()
  SizeExpr num_groups = 1;
  std::vector<SizeExpr> sizes;  // size arguments
  MemoryPlan memory;
  KernelInfo info;
  /// Operations of one launch, see count_flops. Scans and scatters count one operation per element or update that they
  /// combine. Empty for a sort, which only compares, and whose number of comparisons depends on the data.
  std::optional<SizeExpr> flops = {};
  std::string key_text;       // canonical text of everything that determines the code; enters the cache key
  std::string mapping = {};   // how a loop nest is spread over the target, for people; empty for other kernels
  CpuFeatures features = {};  // the features of the target that its code needs
  bool uses_tune = false;     // whether its code depends on the target's tune

  /// The target with the fewest features that executes the kernel's code; `spec` is the target of plan(). Enters the
  /// cache key, so that targets that differ only in other features share the code.
  TargetSpec target_of(const TargetSpec& spec) const {
    TargetSpec target = spec.plain();
    target.features = features;
    if (uses_tune) target.tune = spec.tune;
    return target;
  }
};

/// The forms in which code can be printed.
enum class ListingKind : std::uint8_t {
  kLlvmIr,    // after optimisation
  kAssembly,  // as the target's assembler reads it, or disassembled
  kObject,    // the bytes of an object file
};
std::string_view to_text(ListingKind);

/// Generates the code of kernels.
class KernelCompiler {
 public:
  virtual ~KernelCompiler() = default;
  /// "xbyak", "llvm", "interpreter".
  virtual std::string_view name() const = 0;
  /// Part of cache keys; changes whenever the generated code may change.
  virtual std::string version() const = 0;
  /// Ok, or why this generator cannot serve the target: its module is missing, or the target is of another family.
  virtual Status supports(const TargetSpec&) const = 0;
  /// Whether this is the slow reference. If another generator also serves the target, the reference is used only on
  /// request.
  virtual bool is_reference() const { return false; }
  /// Maps the kernel to the target, or refuses with a reason. Emits nothing and opens no library. If emit() will start
  /// from a MachineKernel, verifies it. Precondition for a loop nest: verify() accepts it.
  virtual Result<PlannedKernel> plan(const Kernel&, const TargetSpec&) const = 0;
  /// Emits code. The image has no undefined symbol.
  virtual Result<ExecutableImage> emit(const PlannedKernel&, const TargetSpec&) const = 0;
  /// Whether emit() generates code, which takes time, so that kernels should share it (share_kernels).
  virtual bool emits_code() const { return true; }
  /// The code as text, for people. Refuses, naming the kernel, if the generator has no such form.
  virtual Result<std::string> listing(const PlannedKernel&, const TargetSpec&, ListingKind) const;
  /// Gives back memory that only generating code needs; the next emit() allocates it again, in milliseconds.
  virtual void release_memory() const {}
};

/// The reference: interpret_kernel. Accepts every kernel that can be mapped to a MachineKernel.
std::shared_ptr<const KernelCompiler> make_interpreter_generator();
/// Accepts f32 contractions, argmin and argmax along contiguous rows, sorts, and scans, on AVX2 and AVX-512.
std::shared_ptr<const KernelCompiler> make_xbyak_generator();
/// Accepts every kernel. Uses the module libmillrace_llvm, which the first emit() opens.
std::shared_ptr<const KernelCompiler> make_llvm_generator(const LlvmOptions& = {});

/// Why a generator or an algorithm did not accept a kernel.
struct Refusal {
  std::string who;
  std::string reason;
  friend bool operator==(const Refusal&, const Refusal&) = default;
};

struct PlanOutcome {
  PlannedKernel kernel;
  std::vector<Refusal> refusals;
};

/// Verifies a loop nest and tries the target's generators in order; the first one that accepts is used. The error names
/// the kernel and each reason.
Result<PlanOutcome> plan_kernel(const Kernel&, const Target&, const CompileKernelOptions&);

}  // namespace millrace
