// SPDX-License-Identifier: Apache-2.0
#include "jit/llvm_link.h"

#include <llvm/ExecutionEngine/JITLink/JITLink.h>
#include <llvm/ExecutionEngine/JITLink/x86_64.h>

namespace millrace {
namespace {

namespace jitlink = llvm::jitlink;
using llvm::orc::MemProt;

constexpr std::uint64_t kPage = 4096;

llvm::Error failure(const std::string& message) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), message.c_str());
}

bool has(MemProt protection, MemProt flag) {
  return (static_cast<unsigned>(protection) & static_cast<unsigned>(flag)) != 0;
}

/// The layout stays the memory manager's; there is nothing to protect or to free.
class ImageInFlight : public jitlink::JITLinkMemoryManager::InFlightAlloc {
 public:
  void abandon(OnAbandonedFunction on_abandoned) override { on_abandoned(llvm::Error::success()); }
  void finalize(OnFinalizedFunction on_finalized) override {
    on_finalized(jitlink::JITLinkMemoryManager::FinalizedAlloc(llvm::orc::ExecutorAddr(kLlvmImageBase)));
  }
};

/// The kinds whose value does not change when the whole image moves.
bool is_relative(jitlink::Edge::Kind kind) {
  namespace x86 = llvm::jitlink::x86_64;
  return kind == x86::Delta64 || kind == x86::Delta32 || kind == x86::Delta8 || kind == x86::NegDelta64 ||
         kind == x86::NegDelta32 || kind == x86::PCRel32 || kind == x86::BranchPCRel32 ||
         kind == jitlink::Edge::KeepAlive;
}

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

}  // namespace

void LlvmImageMemory::allocate(const jitlink::JITLinkDylib*, jitlink::LinkGraph& graph, OnAllocatedFunction done) {
  if (llvm::Error error = lay_out(graph)) return done(std::move(error));
  done(std::make_unique<ImageInFlight>());
}

llvm::Error LlvmImageMemory::lay_out(jitlink::LinkGraph& graph) {
  using Segment = jitlink::BasicLayout::Segment;
  jitlink::BasicLayout layout(graph);
  std::vector<Segment*> code, data;
  for (auto& [group, segment] : layout.segments()) {
    (has(group.getMemProt(), MemProt::Exec) ? code : data).push_back(&segment);
    if (segment.Alignment.value() > kPage) return failure("emitted code wants an alignment above a page");
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
    segment->Addr = llvm::orc::ExecutorAddr(kLlvmImageBase + offset);
    segment->WorkingMem = reinterpret_cast<char*>(image_.bytes.data() + offset);
  }
  return layout.apply();
}

void LlvmImageMemory::deallocate(std::vector<FinalizedAlloc> allocations, OnDeallocatedFunction done) {
  for (FinalizedAlloc& allocation : allocations) allocation.release();
  done(llvm::Error::success());
}

void LlvmImageCheck::modifyPassConfig(llvm::orc::MaterializationResponsibility&, jitlink::LinkGraph&,
                                      jitlink::PassConfiguration& config) {
  config.PostPrunePasses.push_back(check_image);
}

}  // namespace millrace
