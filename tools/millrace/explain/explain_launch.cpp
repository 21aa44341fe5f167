// SPDX-License-Identifier: Apache-2.0
// The part of `millrace explain` for programs that launch the kernels of a GPU themselves.
#include "tools/millrace/explain/explain_launch.h"

#include <limits>

#include "millrace/base/printable.h"
#include "millrace/graph/text.h"
#include "millrace/hal/buffer.h"
#include "millrace/jit/code_object.h"
#include "tools/millrace/dims.h"
#include "tools/millrace/explain/explain_text.h"

namespace millrace::tool {
namespace {

constexpr std::string_view kRules =
    "  rules      run the steps in this order, each after those before it. A grid has groups along x only; skip steps\n"
    "             of 0 groups; groups * threads stay below 2^32. An argument has 8 bytes, at a multiple of 8; T*\n"
    "             is the address of elements of T, a multiple of their size; sizes are i64. *status is 0 before the\n"
    "             first step, and after the last one unless an index was out of range. The initial content of the\n"
    "             slab does not matter. Bools are bytes, 0 or 1. Elements are row-major, without gaps.\n";

class LaunchText {
 public:
  LaunchText(const LoweredGraph& lowered, const SymbolValues& symbols)
      : schedule_(lowered.schedule), symbols_(symbols) {}

  /// Where a kernel's buffer is, in the names that memory() lists: "input x", "slab + 64", "constants + 128".
  std::string place(const ResourceUse& use) const {
    const Resource& resource = schedule_.resources[use.resource];
    SizeExpr offset = schedule_.kernel_buffer_bytes(use).offset_bytes;
    std::string base = fmt::format("{} {}", kind(resource), printable(resource.name));
    if (resource.lifetime == Lifetime::kConstant) {
      base = "constants";
      offset = offset + resource.offset_bytes;
    } else if (resource.lifetime == Lifetime::kTransient && !schedule_.is_placed_by_runs()) {
      base = "slab";
      offset = offset + resource.offset_bytes;
    }
    return offset.is(0) ? base : base + " + " + number(offset);
  }

  std::string arguments(const Step& step) const {
    const auto& kernel = std::get<MachineKernel>(schedule_.kernels[*step.kernel].mapped);
    std::string text =
        fmt::format("{} bytes: u32* status", (1 + step.uses.size() + step.sizes.size()) * sizeof(std::int64_t));
    for (std::size_t i = 0; i < step.uses.size(); ++i) {
      text += fmt::format(", {}* {}", millrace::to_text(kernel.buffers[i].dtype), place(step.uses[i]));
    }
    for (const SizeExpr& size : step.sizes) text += ", i64 " + number(size);
    return text;
  }

  std::string steps() const {
    std::string text;
    for (std::uint32_t i = 0; i < schedule_.steps.size(); ++i) {
      const Step& step = schedule_.steps[StepId{i}];
      const std::string what = fmt::format("step {}", i);
      if (step.control != nullptr) {
        text +=
            line(2, what,
                 fmt::format("{} {}, as the host decides", step.control->is_loop ? "repeats" : "chooses", step.name));
        continue;
      }
      if (!step.kernel) {
        text += line(2, what,
                     fmt::format("copy {} bytes from {} to {}", number(step.bytes_read), place(step.uses[0]),
                                 place(step.uses[1])));
        continue;
      }
      const PlannedKernel& kernel = schedule_.kernels[*step.kernel];
      text += line(2, what,
                   fmt::format("{}: {} groups of {} threads", kernel_symbol(kernel), number(step.num_groups),
                               kernel.info.workgroup_size));
      text += line(2, "", arguments(step));
    }
    return text;
  }

  std::string memory() const {
    std::string text;
    for (const Resource& resource : schedule_.resources) {
      const std::string bytes = number(resource.size_bytes) + " bytes";
      if (resource.lifetime == Lifetime::kConstant) {
        text += line(
            2, "constant",
            fmt::format("{} at constants + {}: {}", printable(resource.name), number(resource.offset_bytes), bytes));
      } else if (resource.lifetime != Lifetime::kTransient || schedule_.is_placed_by_runs()) {
        text += line(2, kind(resource), fmt::format("{}: {}", printable(resource.name), bytes));
      }
    }
    if (schedule_.constant_bytes > 0) {
      text +=
          line(2, "constants",
               fmt::format("{} bytes; 'dump --stage graph -o FILE' writes what they hold", schedule_.constant_bytes));
    }
    if (!schedule_.is_placed_by_runs() && !schedule_.slab_bytes.is(0)) {
      text += line(2, "slab", fmt::format("{} bytes, aligned to {}", number(schedule_.slab_bytes), Buffer::kAlignment));
    }
    return text;
  }

 private:
  /// An input, an output and a variable may have the same name, so messages add the kind.
  static std::string_view kind(const Resource& resource) {
    if (resource.lifetime == Lifetime::kVariable) return "variable";
    if (resource.lifetime != Lifetime::kExternal) return "scratch";
    return resource.input ? "input" : "output";
  }
  std::string number(const SizeExpr& size) const { return size_text(size, symbols_); }

  const Schedule& schedule_;
  const SymbolValues& symbols_;
};

}  // namespace

std::string launch_text(const LoweredGraph& lowered, const SymbolValues& symbols) {
  const LaunchText text(lowered, symbols);
  return "launch: how to run what 'dump --stage object' writes\n" + text.memory() + text.steps() + std::string(kRules);
}

}  // namespace millrace::tool
