// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "millrace/jit/code_object.h"
#include "millrace/jit/machine_kernel.h"

namespace millrace {

/// A kernel emitted for one GPU target, linked by itself, and read back. Fails the test when any of these does.
class EmittedGpuKernel {
 public:
  EmittedGpuKernel(const MachineKernel&, const GfxTarget&);

  const PlannedKernel& planned() const { return planned_; }
  const ExecutableImage& image() const { return image_; }
  const CodeObjectInfo& info() const { return info_; }
  const CodeObjectKernel& code() const { return info_.kernels[0]; }
  /// Its machine code, one instruction per line.
  const std::string& text() const { return text_; }
  bool has(std::string_view part) const { return text_.find(part) != std::string::npos; }

 private:
  PlannedKernel planned_;
  ExecutableImage image_;
  CodeObjectInfo info_;
  std::string text_;
};

TargetSpec spec_of(const GfxTarget&);

/// What every object promises whose kernel plans no private memory. Read from the object itself, not by
/// check_code_object, which emission relies on.
void check_promises(const EmittedGpuKernel&, const GfxTarget&);

/// RDNA has subgroups of 32, CDNA of 64, and other instructions.
inline bool is_rdna(const GfxTarget& gfx) { return gfx.generation == GfxGeneration::kRdna; }

}  // namespace millrace
