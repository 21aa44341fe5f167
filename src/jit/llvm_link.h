// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <llvm/ExecutionEngine/JITLink/JITLinkMemoryManager.h>
#include <llvm/ExecutionEngine/Orc/ObjectLinkingLayer.h>

namespace millrace {

/// One linked kernel: code from offset 0, then, on a page of its own, constants.
struct LlvmImage {
  std::vector<std::byte> bytes;
  std::uint64_t code_bytes = 0;  // a multiple of 4096, or bytes.size()
};

/// Where an image stands while it is linked. Nothing is ever mapped there, and nothing depends on it: check_image
/// refuses every edge that is not relative.
inline constexpr std::uint64_t kLlvmImageBase = 0x100000000;

/// A memory manager for JITLink that lays each graph out as one block of ordinary memory and keeps the last one.
/// Links one graph at a time.
class LlvmImageMemory : public llvm::jitlink::JITLinkMemoryManager {
 public:
  void allocate(const llvm::jitlink::JITLinkDylib*, llvm::jitlink::LinkGraph&, OnAllocatedFunction) override;
  void deallocate(std::vector<FinalizedAlloc>, OnDeallocatedFunction) override;
  LlvmImage take() { return std::move(image_); }

 private:
  llvm::Error lay_out(llvm::jitlink::LinkGraph&);
  LlvmImage image_;
};

/// Checks each graph as it is linked: no undefined symbol (the error names them), no edge that is not relative to its
/// own place within the image, no writable memory. What passes works wherever it is mapped.
class LlvmImageCheck : public llvm::orc::ObjectLinkingLayer::Plugin {
 public:
  void modifyPassConfig(llvm::orc::MaterializationResponsibility&, llvm::jitlink::LinkGraph&,
                        llvm::jitlink::PassConfiguration&) override;
  llvm::Error notifyFailed(llvm::orc::MaterializationResponsibility&) override { return llvm::Error::success(); }
  llvm::Error notifyRemovingResources(llvm::orc::JITDylib&, llvm::orc::ResourceKey) override {
    return llvm::Error::success();
  }
  void notifyTransferringResources(llvm::orc::JITDylib&, llvm::orc::ResourceKey, llvm::orc::ResourceKey) override {}
};

}  // namespace millrace
