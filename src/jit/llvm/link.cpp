// SPDX-License-Identifier: Apache-2.0
// Links host code with JITLink into an image that works at any address, and rejects code that does not.
#include "jit/llvm/link.h"

#include <llvm/ExecutionEngine/JITLink/JITLink.h>
#include <llvm/ExecutionEngine/JITLink/x86_64.h>
#include <llvm/ExecutionEngine/Orc/CompileUtils.h>
#include <llvm/ExecutionEngine/Orc/ObjectLinkingLayer.h>

namespace millrace {
namespace {

namespace jitlink = llvm::jitlink;
namespace orc = llvm::orc;
using orc::MemProt;

constexpr std::uint64_t kPage = 4096;

/// The image's address during linking. Nothing is mapped there and nothing depends on it: check_image rejects every
/// edge that is not relative.
constexpr std::uint64_t kImageBase = 0x100000000;

llvm::Error failure(const std::string& message) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), message.c_str());
}

bool has(MemProt protection, MemProt flag) {
  return (static_cast<unsigned>(protection) & static_cast<unsigned>(flag)) != 0;
}

/// An allocation that protects and frees nothing, because ImageMemory owns the memory.
class ImageInFlight : public jitlink::JITLinkMemoryManager::InFlightAlloc {
 public:
  void abandon(OnAbandonedFunction on_abandoned) override { on_abandoned(llvm::Error::success()); }
  void finalize(OnFinalizedFunction on_finalized) override {
    on_finalized(jitlink::JITLinkMemoryManager::FinalizedAlloc(orc::ExecutorAddr(kImageBase)));
  }
};

/// Whether the value of the edge stays the same if the whole image moves.
bool is_relative(jitlink::Edge::Kind kind) {
  namespace x86 = llvm::jitlink::x86_64;
  return kind == x86::Delta64 || kind == x86::Delta32 || kind == x86::Delta8 || kind == x86::NegDelta64 ||
         kind == x86::NegDelta32 || kind == x86::PCRel32 || kind == x86::BranchPCRel32 ||
         kind == jitlink::Edge::KeepAlive;
}

/// Checks the conditions that LlvmLinker::link() lists.
llvm::Error check_image(jitlink::LinkGraph& graph) {
  std::string undefined;
  for (const jitlink::Symbol* symbol : graph.external_symbols()) {
    undefined += (undefined.empty() ? "" : ", ") + symbol->getName().str();
  }
  if (!undefined.empty()) return failure("emitted code has undefined symbols: " + undefined);
  for (jitlink::Section& section : graph.sections()) {
    if (section.blocks().empty()) continue;
    if (has(section.getMemProt(), MemProt::Write)) {
      return failure("emitted code has writable data: section " + section.getName().str());
    }
    for (const jitlink::Block* block : section.blocks()) {
      for (const jitlink::Edge& edge : block->edges()) {
        if (is_relative(edge.getKind()) && edge.getTarget().isDefined()) continue;
        return failure(std::string("emitted code depends on its address: section ") + section.getName().str() +
                       ", relocation " + graph.getEdgeKindName(edge.getKind()));
      }
    }
  }
  return llvm::Error::success();
}

/// Installs check_image for each linked graph.
class ImageCheck : public orc::ObjectLinkingLayer::Plugin {
 public:
  void modifyPassConfig(orc::MaterializationResponsibility&, jitlink::LinkGraph&,
                        jitlink::PassConfiguration& config) override {
    config.PostPrunePasses.push_back(check_image);
  }
  llvm::Error notifyFailed(orc::MaterializationResponsibility&) override { return llvm::Error::success(); }
  llvm::Error notifyRemovingResources(orc::JITDylib&, orc::ResourceKey) override { return llvm::Error::success(); }
  void notifyTransferringResources(orc::JITDylib&, orc::ResourceKey, orc::ResourceKey) override {}
};

}  // namespace

/// A memory manager for JITLink that lays each graph out in one block of ordinary memory, and keeps the last block.
class LlvmLinker::ImageMemory : public jitlink::JITLinkMemoryManager {
 public:
  void allocate(const jitlink::JITLinkDylib*, jitlink::LinkGraph& graph, OnAllocatedFunction done) override {
    if (llvm::Error error = lay_out(graph)) return done(std::move(error));
    done(std::make_unique<ImageInFlight>());
  }

  void deallocate(std::vector<FinalizedAlloc> allocations, OnDeallocatedFunction done) override {
    for (FinalizedAlloc& allocation : allocations) allocation.release();
    done(llvm::Error::success());
  }

  LlvmImage take() { return std::move(image_); }

 private:
  llvm::Error lay_out(jitlink::LinkGraph& graph) {
    using Segment = jitlink::BasicLayout::Segment;
    jitlink::BasicLayout layout(graph);
    std::vector<Segment*> code, data;
    for (auto& [group, segment] : layout.segments()) {
      (has(group.getMemProt(), MemProt::Exec) ? code : data).push_back(&segment);
      if (segment.Alignment.value() > kPage) return failure("emitted code needs an alignment above a page");
    }
    std::uint64_t size = 0;
    std::vector<std::pair<Segment*, std::uint64_t>> places;
    auto place = [&](const std::vector<Segment*>& segments) {
      for (Segment* segment : segments) {
        size = llvm::alignTo(size, segment->Alignment);
        places.emplace_back(segment, size);
        size += segment->ContentSize + segment->ZeroFillSize;
      }
    };
    place(code);
    if (!data.empty()) size = llvm::alignTo(size, kPage);
    image_.code_bytes = size;
    place(data);
    image_.bytes.assign(size, std::byte{0});
    for (const auto& [segment, offset] : places) {
      segment->Addr = orc::ExecutorAddr(kImageBase + offset);
      segment->WorkingMem = reinterpret_cast<char*>(image_.bytes.data() + offset);
    }
    return layout.apply();
  }

  LlvmImage image_;
};

LlvmLinker::LlvmLinker() : memory_(std::make_unique<ImageMemory>()) {}
LlvmLinker::~LlvmLinker() = default;

llvm::Expected<std::unique_ptr<LlvmLinker>> LlvmLinker::create(llvm::TargetMachine& machine) {
  auto self = std::unique_ptr<LlvmLinker>(new LlvmLinker);
  if (llvm::Error error = self->open(machine)) return error;
  return self;
}

llvm::Error LlvmLinker::open(llvm::TargetMachine& machine) {
  const llvm::Triple& triple = machine.getTargetTriple();
  auto session = std::make_unique<orc::ExecutionSession>(
      std::make_unique<orc::UnsupportedExecutorProcessControl>(nullptr, nullptr, triple.str(), kPage));
  session->setErrorReporter([this](llvm::Error error) {
    session_errors_ += (session_errors_.empty() ? "" : "; ") + llvm::toString(std::move(error));
  });
  auto jit = orc::LLJITBuilder()
                 .setExecutionSession(std::move(session))
                 .setJITTargetMachineBuilder(orc::JITTargetMachineBuilder(triple))
                 .setDataLayout(machine.createDataLayout())
                 .setLinkProcessSymbolsByDefault(false)
                 .setPlatformSetUp(orc::setUpInactivePlatform)
                 .setCompileFunctionCreator([&machine](orc::JITTargetMachineBuilder) {
                   return std::make_unique<orc::SimpleCompiler>(machine);
                 })
                 .setObjectLinkingLayerCreator([this](orc::ExecutionSession& s, const llvm::Triple&) {
                   auto layer = std::make_unique<orc::ObjectLinkingLayer>(s, *memory_);
                   layer->addPlugin(std::make_shared<ImageCheck>());
                   return layer;
                 })
                 .create();
  if (!jit) return jit.takeError();
  jit_ = std::move(*jit);
  return llvm::Error::success();
}

llvm::Expected<LlvmImage> LlvmLinker::link(orc::ThreadSafeModule module, llvm::StringRef entry) {
  orc::ResourceTrackerSP tracker = jit_->getMainJITDylib().createResourceTracker();
  if (llvm::Error error = jit_->addIRModule(tracker, std::move(module))) return error;
  llvm::Expected<orc::ExecutorAddr> address = jit_->lookup(entry);
  llvm::Error removed = tracker->remove();
  if (!address) {
    llvm::Error error = llvm::joinErrors(address.takeError(), std::move(removed));
    // The session reports the cause; the error of the lookup only names the entry.
    if (session_errors_.empty()) return error;
    llvm::consumeError(std::move(error));
    return failure(session_errors_);
  }
  if (removed) return removed;
  LlvmImage image = memory_->take();
  image.entry_offset = address->getValue() - kImageBase;
  return image;
}

}  // namespace millrace
