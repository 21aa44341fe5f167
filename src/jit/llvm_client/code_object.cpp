// SPDX-License-Identifier: Apache-2.0
// Checks a GPU code object against the plan of its kernel, names kernels in code objects, and links the images of a
// program.
#include "millrace/jit/code_object.h"

#include <algorithm>
#include <set>
#include <xxhash.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/guard_allocations.h"
#include "jit/llvm_client/open_module.h"

namespace millrace {
namespace {

/// Collects the failed checks of one object.
class Complaints {
 public:
  template <class T>
  void expect_equal(const char* what, T found, T expected) {
    if (found != expected) lines_.push_back(fmt::format("{} {}, expected {}", what, found, expected));
  }
  void expect_at_most(const char* what, std::uint64_t found, std::uint64_t maximum) {
    if (found > maximum) lines_.push_back(fmt::format("{} {}, expected at most {}", what, found, maximum));
  }
  void expect_none(const char* what, const std::vector<std::string>& names) {
    if (!names.empty()) lines_.push_back(fmt::format("{} {}, expected none", what, fmt::join(names, ", ")));
  }
  void add(std::string line) { lines_.push_back(std::move(line)); }
  std::string text() const { return fmt::format("{}", fmt::join(lines_, "; ")); }

 private:
  std::vector<std::string> lines_;
};

/// In addition to the planned arrays, LLVM may reserve space to save a register. It rounds the total up to a multiple
/// of 16 bytes.
std::uint64_t private_limit(const MemoryPlan& plan) {
  return plan.private_bytes == 0 ? 0 : (plan.private_bytes + 15) / 16 * 16 + 16;
}

void check_kernel(Complaints& complaints, const CodeObjectKernel& found, const PlannedKernel& planned) {
  const auto& kernel = std::get<MachineKernel>(planned.mapped);
  const std::uint64_t num_arguments = 1 + kernel.buffers.size() + kernel.sizes.size();
  complaints.expect_equal<std::uint64_t>("bytes of arguments", found.argument_bytes, 8 * num_arguments);
  complaints.expect_none("hidden arguments", found.hidden_arguments);
  // LLVM removes workgroup memory from a kernel whose results do not depend on it, such as argmax(x) > argmax(x).
  if (found.workgroup_bytes != 0) {
    complaints.expect_equal("bytes of workgroup memory", found.workgroup_bytes, planned.memory.workgroup_bytes);
  }
  complaints.expect_at_most("bytes of private memory", found.private_bytes, private_limit(planned.memory));
  complaints.expect_equal("threads of a workgroup", found.workgroup_size, kernel.workgroup_size);
  complaints.expect_equal("threads of a subgroup", found.subgroup_size, kernel.subgroup_size);
  // Spills of scalar registers are not checked: they go to lanes of vector registers. If one went to memory,
  // private_bytes would show it.
  complaints.expect_equal("spills of vector registers", found.num_vector_spills, 0u);
  complaints.expect_equal("dynamic stack", found.has_dynamic_stack, false);
  complaints.expect_none("exchanges with lanes that may be off", found.inactive_lane_reads);
}

}  // namespace

std::string kernel_symbol(const PlannedKernel& kernel) {
  return fmt::format("millrace_{:016x}", XXH3_64bits(kernel.key_text.data(), kernel.key_text.size()));
}

Status check_code_object(const CodeObjectInfo& info, const PlannedKernel& planned, const TargetSpec& spec) {
  return guard_allocations([&]() -> Status {
    Complaints complaints;
    complaints.expect_equal<std::string>("target", info.target, fmt::format("amdgcn-amd-amdhsa--{}", spec.gfx));
    complaints.expect_equal("version", info.version, 4u);
    complaints.expect_none("processor features", info.set_features);
    complaints.expect_none("undefined symbols", info.undefined_symbols);
    complaints.expect_none("functions other than kernels", info.other_functions);
    complaints.expect_none("relocations", info.relocations);
    const std::string symbol = kernel_symbol(planned);
    const auto found = std::ranges::find(info.kernels, symbol, &CodeObjectKernel::symbol);
    if (found == info.kernels.end()) {
      complaints.add(fmt::format("no kernel '{}'", symbol));
    } else {
      check_kernel(complaints, *found, planned);
    }
    if (complaints.text().empty()) return {};
    return internal_error(fmt::format("kernel '{}' for {}: its code object is not as planned: {}", planned.name,
                                      spec.to_text(), complaints.text()));
  });
}

Result<std::vector<std::byte>> link_images(std::span<const ExecutableImage> images) {
  return guard_allocations([&]() -> Result<std::vector<std::byte>> {
    if (images.empty()) return invalid_argument("link: no image, expected one or more");
    std::vector<std::span<const std::byte>> objects;
    std::set<std::string> symbols;
    for (const ExecutableImage& image : images) {
      if (image.format != ImageFormat::kGpuObject) {
        return invalid_argument(
            fmt::format("link: kernel '{}' is not a GPU object; give images for GPU targets only", image.info.name));
      }
      if (image.target != images.front().target) {
        return invalid_argument(
            fmt::format("link: kernel '{}' is for {}, kernel '{}' for {}; link each target by itself",
                        images.front().info.name, images.front().target, image.info.name, image.target));
      }
      if (symbols.insert(image.symbol).second) objects.emplace_back(image.bytes);
    }
    return link_with_llvm(objects);
  });
}

}  // namespace millrace
