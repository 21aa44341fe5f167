// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/Target/TargetMachine.h>

namespace millrace {

/// A linked kernel: code from offset 0, then constants on separate pages. It works at any address.
struct LlvmImage {
  std::vector<std::byte> bytes;
  std::uint64_t code_bytes = 0;  // a multiple of 4096, or bytes.size()
  std::uint64_t entry_offset = 0;
};

/// Compiles modules for one target machine and links them, one at a time, into memory that is only copied, never
/// executed.
class LlvmLinker {
 public:
  /// The machine must outlive the linker.
  static llvm::Expected<std::unique_ptr<LlvmLinker>> create(llvm::TargetMachine&);
  ~LlvmLinker();

  /// Fails if the code has undefined symbols (the error names them), a relocation that is not relative within the
  /// image, or writable memory. After a failure, discard the linker: it may hold half-linked symbols.
  llvm::Expected<LlvmImage> link(llvm::orc::ThreadSafeModule, llvm::StringRef entry);

 private:
  class ImageMemory;
  LlvmLinker();
  llvm::Error open(llvm::TargetMachine&);

  std::unique_ptr<ImageMemory> memory_;
  std::string session_errors_;
  std::unique_ptr<llvm::orc::LLJIT> jit_;  // declared last: its destructor uses the members above
};

}  // namespace millrace
