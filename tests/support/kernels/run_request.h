// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "millrace/hal/device.h"
#include "millrace/jit/algorithm.h"

namespace millrace::test {

struct RunOptions {
  TargetSpec target;
  std::string force_algorithm = {};
  std::string force_generator = {};
  std::uint32_t max_groups_per_call = 0xffff'ffff;   // on a cpu
  std::shared_ptr<Executor> executor = {};           // on a cpu: shares each dispatch of several groups
  std::uint64_t max_lane_instructions = UINT64_MAX;  // of a kernel, on a simulated GPU
  std::uint64_t seed = 0;                            // of a GPU whose machine code is executed
  SymbolValues symbols = {};                         // of sizes that are not constant
  std::shared_ptr<Device> device = {};               // of the target's; null: one is made
};

/// What ran.
struct RunReport {
  std::string algorithm;
  std::vector<std::string> generators;  // one per kernel
};

/// xbyak, llvm, interpreter: those of the build, in the order in which a target asks them; last the one that tests
/// force alone, make_split_generator.
const KernelCompilerList& all_generators();
/// Those that serve the target, in the order in which they are asked.
std::vector<std::string> algorithm_names(const TargetSpec&);
/// The target of every ISA level that the host has, lowest first.
std::vector<TargetSpec> host_targets();

/// Lowers without running.
Result<KernelSequence> plan_request(const KernelRequest&, const RunOptions&);

/// A request that is compiled and recorded, to be run many times with any memory of the sizes that it was made for.
class PreparedRequest {
 public:
  virtual ~PreparedRequest() = default;
  virtual const RunReport& report() const = 0;
  virtual Status run(std::span<const BufferBinding> operands, std::span<const BufferBinding> results) = 0;
};
Result<std::unique_ptr<PreparedRequest>> prepare_request(const KernelRequest&,
                                                         std::span<const std::size_t> operand_bytes,
                                                         std::span<const std::size_t> result_bytes, const RunOptions&);

/// Lowers, compiles (through a cache in memory), records and submits the request on the target's device; code for a GPU
/// is linked and, if no other device is given, executed by the device isa, which finds mistakes. Bindings are in the
/// request's order. Scratch ends at a page without access; a device that does not address host memory gets buffers of
/// its own instead. kInternal if it changes an operand; kUnimplemented if the forced generator or algorithm refuses.
Result<RunReport> run_request(const KernelRequest&, std::span<const BufferBinding> operands,
                              std::span<const BufferBinding> results, const RunOptions&);

}  // namespace millrace::test
