// SPDX-License-Identifier: Apache-2.0
#pragma once

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

/// One compiled function to be: a nest that a generator maps to its machine, or machine code structure itself.
using Kernel = std::variant<LoopKernel, MachineKernel>;

const std::string& name_of(const Kernel&);

/// A kernel as one generator will emit it: everything that launching needs, decided before code exists, so that a
/// program can be scheduled, and a cached image found, without the generator's library.
struct PlannedKernel {
  std::string name;
  std::string generator;
  std::variant<LoopKernel, MachineKernel> mapped;  // what the generator emits from
  SizeExpr num_groups = 1;
  std::vector<SizeExpr> sizes;  // size arguments
  MemoryPlan memory;
  KernelInfo info;
  /// One launch's, see count_flops; scans and scatters have one for each element or update that they combine. Absent
  /// where no number says it: a sort only compares, as often as its data asks for.
  std::optional<SizeExpr> flops = {};
  std::string key_text;  // canonical text of `mapped` and whatever else decides the code; enters the cache key
};

/// How code is shown to people.
enum class ListingKind : std::uint8_t {
  kLlvmIr,    // after optimisation
  kAssembly,  // as the target's assembler reads it, or disassembled
  kObject,    // the bytes of an object file
};
std::string_view to_text(ListingKind);

/// Makes the code of kernels.
class KernelCompiler {
 public:
  virtual ~KernelCompiler() = default;
  /// "xbyak", "llvm", "interpreter".
  virtual std::string_view name() const = 0;
  /// Enters cache keys; changes whenever the generated code may.
  virtual std::string version() const = 0;
  /// Ok, or why this generator makes nothing for the target (a missing module, another family).
  virtual Status supports(const TargetSpec&) const = 0;
  /// Whether it is the slow reference, which serves a target that another generator serves only when asked to.
  virtual bool is_reference() const { return false; }
  /// Maps the kernel for the target, or refuses with a reason. Emits nothing and opens no library.
  virtual Result<PlannedKernel> plan(const Kernel&, const TargetSpec&) const = 0;
  /// Emits code. The image has no undefined symbol.
  virtual Result<ExecutableImage> emit(const PlannedKernel&, const TargetSpec&) const = 0;
  /// Whether emit() takes time, so that kernels had better share their code (share_kernels).
  virtual bool emits_code() const { return true; }
  /// The code to look at. Refuses, naming the kernel, where the generator has no such form of it.
  virtual Result<std::string> listing(const PlannedKernel&, const TargetSpec&, ListingKind) const;
};

/// The reference: interpret_kernel. Takes every kernel that maps.
std::shared_ptr<const KernelCompiler> make_interpreter_generator();
/// f32 contractions on AVX2 and AVX-512.
std::shared_ptr<const KernelCompiler> make_xbyak_generator();
/// Everything, through the module libmillrace_llvm, which is opened by the first emit().
std::shared_ptr<const KernelCompiler> make_llvm_generator(const LlvmOptions& = {});

/// A reason not taken.
struct Refusal {
  std::string who;
  std::string reason;
  friend bool operator==(const Refusal&, const Refusal&) = default;
};

struct PlanOutcome {
  PlannedKernel kernel;
  std::vector<Refusal> refusals;
};

/// Asks the target's generators in order. Fails naming the kernel and every reason.
Result<PlanOutcome> plan_kernel(const Kernel&, const Target&, const CompileKernelOptions&);

}  // namespace millrace
