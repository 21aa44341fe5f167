// SPDX-License-Identifier: Apache-2.0
#include "assemble.h"

#include <llvm-c/Target.h>

#include <llvm/MC/MCCodeEmitter.h>
#include <llvm/MC/MCFixup.h>
#include <llvm/MC/MCObjectFileInfo.h>
#include <llvm/MC/MCParser/MCAsmParser.h>
#include <llvm/MC/MCParser/MCTargetAsmParser.h>
#include <llvm/MC/MCStreamer.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/SourceMgr.h>

#include "jit/llvm/amdgpu/machine_layer.h"
#include "millrace/base/check.h"

namespace millrace::test {
namespace {

/// Encodes each instruction as soon as it is parsed: nothing is laid out, as no operand is a symbol.
class LineStreamer final : public llvm::MCStreamer {
 public:
  LineStreamer(llvm::MCContext& context, const llvm::MCCodeEmitter& emitter, const llvm::SourceMgr& sources,
               std::vector<AssembledLine>& lines)
      : MCStreamer(context), emitter_(emitter), sources_(sources), lines_(lines) {}

  void emitInstruction(const llvm::MCInst& instruction, const llvm::MCSubtargetInfo& subtarget) override {
    llvm::SmallVector<char, 32> code;
    llvm::SmallVector<llvm::MCFixup, 4> fixups;
    emitter_.encodeInstruction(instruction, code, fixups, subtarget);
    AssembledLine& line = lines_[sources_.getLineAndColumn(instruction.getLoc()).first - 1];
    if (!fixups.empty()) line.error = "needs a linker";
    const auto bytes = std::as_bytes(std::span(code.data(), code.size()));
    line.bytes.insert(line.bytes.end(), bytes.begin(), bytes.end());
  }
  bool emitSymbolAttribute(llvm::MCSymbol*, llvm::MCSymbolAttr) override { return true; }
  void emitCommonSymbol(llvm::MCSymbol*, std::uint64_t, llvm::Align) override {}
  void emitZerofill(llvm::MCSection*, llvm::MCSymbol*, std::uint64_t, llvm::Align, llvm::SMLoc) override {}

 private:
  const llvm::MCCodeEmitter& emitter_;
  const llvm::SourceMgr& sources_;
  std::vector<AssembledLine>& lines_;
};

void keep_error(const llvm::SMDiagnostic& diagnostic, void* lines) {
  if (diagnostic.getKind() != llvm::SourceMgr::DK_Error) return;
  AssembledLine& line = static_cast<std::vector<AssembledLine>*>(lines)->at(diagnostic.getLineNo() - 1);
  line.error = diagnostic.getMessage().str();
}

void initialize_assembler() {
  LLVMInitializeAMDGPUTargetInfo();
  LLVMInitializeAMDGPUTarget();
  LLVMInitializeAMDGPUTargetMC();
  LLVMInitializeAMDGPUAsmParser();
  LLVMInitializeAMDGPUDisassembler();
}

}  // namespace

std::vector<AssembledLine> assemble(std::span<const std::string> lines, const GfxTarget& gfx,
                                    std::uint32_t subgroup_size) {
  initialize_assembler();
  std::vector<AssembledLine> assembled(lines.size());
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  llvm::SourceMgr sources;
  sources.setDiagHandler(keep_error, &assembled);
  sources.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBuffer(text), {});

  std::string error;
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(kAmdGpuTriple, error);
  MILLRACE_CHECK(target != nullptr);
  const MachineLayer machine(gfx, subgroup_size);
  const llvm::MCTargetOptions options;
  llvm::MCContext context(llvm::Triple(kAmdGpuTriple), machine.assembler.get(), machine.registers.get(),
                          machine.subtarget.get(), &sources);
  const std::unique_ptr<llvm::MCObjectFileInfo> file_info(target->createMCObjectFileInfo(context, /*PIC=*/true));
  context.setObjectFileInfo(file_info.get());
  const std::unique_ptr<llvm::MCCodeEmitter> emitter(target->createMCCodeEmitter(*machine.instructions, context));
  LineStreamer streamer(context, *emitter, sources, assembled);
  target->createNullTargetStreamer(streamer);
  const std::unique_ptr<llvm::MCAsmParser> parser(
      llvm::createMCAsmParser(sources, context, streamer, *machine.assembler));
  const std::unique_ptr<llvm::MCTargetAsmParser> target_parser(
      target->createMCAsmParser(*machine.subtarget, *parser, *machine.instructions, options));
  parser->setTargetParser(*target_parser);
  parser->Run(/*NoInitialTextSection=*/false);
  return assembled;
}

}  // namespace millrace::test
