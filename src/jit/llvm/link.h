// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/Target/TargetMachine.h>

namespace millrace {

/// One linked kernel: code from offset 0, then, on a page of its own, constants. It works wherever it is mapped.
struct LlvmImage {
  std::vector<std::byte> bytes;
  std::uint64_t code_bytes = 0;  // a multiple of 4096, or bytes.size()
  std::uint64_t entry_offset = 0;
};

/// Compiles modules for one target machine and links them, one at a time, into memory that is only ever copied.
class LlvmLinker {
 public:
  /// The machine outlives the linker.
  static llvm::Expected<std::unique_ptr<LlvmLinker>> create(llvm::TargetMachine&);
  ~LlvmLinker();

  /// Refuses an undefined symbol (the error names them), a relocation that is not relative to its own place within the
  /// image, and writable memory. After a failure the linker is used no more: half-linked symbols may be left in it.
  llvm::Expected<LlvmImage> link(llvm::orc::ThreadSafeModule, llvm::StringRef entry);

 private:
  class ImageMemory;
  LlvmLinker();
  llvm::Error open(llvm::TargetMachine&);

  std::unique_ptr<ImageMemory> memory_;
  std::string session_errors_;
  std::unique_ptr<llvm::orc::LLJIT> jit_;  // last: its end uses the others
};

}  // namespace millrace
