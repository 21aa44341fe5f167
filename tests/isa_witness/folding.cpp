// SPDX-License-Identifier: Apache-2.0
// Compares LLVM's constant folding of the amdgcn target's intrinsics with the rows of their instructions. Exchanges
// between lanes are not among them. LLVM 19 folds readlane, readfirstlane and permlane64 of a constant into that
// constant, which does not test lanes; writelane, permlane16, permlanex16, ds_bpermute, ds_permute, ds_swizzle,
// update_dpp, ballot and mbcnt are not folded.
#include "folding.h"

#include <bit>
#include <cmath>
#include <random>

#include <fmt/format.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/Target/TargetMachine.h>

#include "tests/isa/bare_wave.h"

namespace millrace::test {
namespace {

enum class Kind : std::uint8_t { kNone, kInt, kFloat, kDouble, kMask, kHalves, kBits5 };

struct Folding {
  const char* intrinsic;
  const char* instruction;
  Kind result;
  Kind sources[3] = {};
};

constexpr Kind I = Kind::kInt, F = Kind::kFloat, D = Kind::kDouble;
constexpr Folding kFoldings[] = {
    {"llvm.amdgcn.rcp.f32", "v_rcp_f32", F, {F}},
    {"llvm.amdgcn.rcp.f64", "v_rcp_f64", D, {D}},
    {"llvm.amdgcn.sqrt.f32", "v_sqrt_f32", F, {F}},
    {"llvm.amdgcn.rsq.f32", "v_rsq_f32", F, {F}},
    {"llvm.amdgcn.sin.f32", "v_sin_f32", F, {F}},
    {"llvm.amdgcn.cos.f32", "v_cos_f32", F, {F}},
    {"llvm.amdgcn.log.f32", "v_log_f32", F, {F}},
    {"llvm.amdgcn.exp2.f32", "v_exp_f32", F, {F}},
    {"llvm.amdgcn.fract.f32", "v_fract_f32", F, {F}},
    {"llvm.amdgcn.fract.f64", "v_fract_f64", D, {D}},
    {"llvm.amdgcn.frexp.mant.f32", "v_frexp_mant_f32", F, {F}},
    {"llvm.amdgcn.frexp.mant.f64", "v_frexp_mant_f64", D, {D}},
    {"llvm.amdgcn.frexp.exp.i32.f32", "v_frexp_exp_i32_f32", I, {F}},
    {"llvm.amdgcn.frexp.exp.i32.f64", "v_frexp_exp_i32_f64", I, {D}},
    {"llvm.ldexp.f32.i32", "v_ldexp_f32", F, {F, I}},
    {"llvm.ldexp.f64.i32", "v_ldexp_f64", D, {D, I}},
    {"llvm.amdgcn.class.f32", "v_cmp_class_f32", Kind::kMask, {F, I}},
    {"llvm.amdgcn.class.f64", "v_cmp_class_f64", Kind::kMask, {D, I}},
    {"llvm.amdgcn.cvt.pkrtz", "v_cvt_pkrtz_f16_f32", Kind::kHalves, {F, F}},
    {"llvm.amdgcn.ubfe.i32", "v_bfe_u32", I, {I, Kind::kBits5, Kind::kBits5}},
    {"llvm.amdgcn.sbfe.i32", "v_bfe_i32", I, {I, Kind::kBits5, Kind::kBits5}},
    {"llvm.amdgcn.fmed3.f32", "v_med3_f32", F, {F, F, F}},
    {"llvm.amdgcn.fmul.legacy", "v_mul_legacy_f32", F, {F, F}},
    {"llvm.amdgcn.perm", "v_perm_b32", I, {I, I, I}},
};

const char* type_name(Kind kind) {
  switch (kind) {
    case Kind::kFloat:
      return "float";
    case Kind::kDouble:
      return "double";
    case Kind::kMask:
      return "i1";
    case Kind::kHalves:
      return "<2 x half>";
    default:
      return "i32";
  }
}

std::uint64_t sample(Kind kind, std::mt19937_64& random) {
  const std::uint64_t choice = random();
  if (kind == Kind::kBits5) return choice % 32;
  if (kind == Kind::kInt) return static_cast<std::uint32_t>(choice % 3 == 0 ? choice >> 32 : random() % 600 - 300);
  const double edges[] = {0, 1, 0.5, 0.25, 2, INFINITY, NAN, 1e-40, 65504, 65519.99, 65536, 3, 256, 1e30, 0x1p-24};
  double value = std::ldexp(1 + static_cast<double>(random() >> 12) * 0x1p-52, static_cast<int>(random() % 60) - 30);
  if (choice % 3 == 0) value = edges[choice / 3 % std::size(edges)];
  if (choice >> 63 != 0) value = -value;
  return kind == Kind::kDouble ? std::bit_cast<std::uint64_t>(value)
                               : std::bit_cast<std::uint32_t>(static_cast<float>(value));
}

std::string constant_text(Kind kind, std::uint64_t bits) {
  if (kind == Kind::kDouble) return fmt::format("0x{:016X}", bits);
  if (kind != Kind::kFloat) return fmt::format("{}", static_cast<std::int32_t>(bits));
  const double value = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
  return fmt::format("0x{:016X}", std::bit_cast<std::uint64_t>(value));
}

std::optional<std::uint64_t> bits_of(const llvm::Constant* value) {
  if (const auto* integer = llvm::dyn_cast<llvm::ConstantInt>(value)) return integer->getZExtValue();
  if (const auto* number = llvm::dyn_cast<llvm::ConstantFP>(value)) {
    return number->getValueAPF().bitcastToAPInt().getZExtValue();
  }
  if (!value->getType()->isVectorTy()) return std::nullopt;
  const auto low = bits_of(value->getAggregateElement(0u)), high = bits_of(value->getAggregateElement(1u));
  if (!low || !high) return std::nullopt;
  return *low | *high << 16;
}

/// The constants into which LLVM folds the functions of a module, each of which returns a call on constants.
Result<std::vector<std::optional<std::uint64_t>>> fold(const std::string& ir) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic diagnostic;
  const auto module = llvm::parseAssemblyString(ir, diagnostic, context);
  if (module == nullptr) return internal_error(diagnostic.getMessage().str());
  std::string error;
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget("amdgcn-amd-amdhsa", error);
  if (target == nullptr) return internal_error(error);
  const std::unique_ptr<llvm::TargetMachine> machine(
      target->createTargetMachine("amdgcn-amd-amdhsa", "gfx1030", "", {}, llvm::Reloc::PIC_));
  module->setTargetTriple("amdgcn-amd-amdhsa");
  module->setDataLayout(machine->createDataLayout());
  llvm::PassBuilder builder(machine.get());
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  llvm::ModulePassManager passes;
  if (auto bad = builder.parsePassPipeline(passes, "function(instcombine)")) {
    return internal_error(llvm::toString(std::move(bad)));
  }
  passes.run(*module, modules);
  std::vector<std::optional<std::uint64_t>> results;
  for (const llvm::Function& function : *module) {
    if (function.isDeclaration()) continue;
    const auto* back = llvm::cast<llvm::ReturnInst>(function.front().getTerminator());
    const auto* value = llvm::dyn_cast<llvm::Constant>(back->getReturnValue());
    results.push_back(value == nullptr ? std::nullopt : bits_of(value));
  }
  return results;
}

/// What the instruction gives. Its sources are in v0, v2 and v4.
Result<std::uint64_t> execute(const Folding& row, const std::uint64_t* sources) {
  isa::test::BareWave bare("gfx1030", 32);
  isa::Wave& wave = bare.wave();
  wave.mode.is_ieee = true;
  std::string text = fmt::format("{} {}", row.instruction,
                                 row.result == Kind::kMask     ? "s2"
                                 : row.result == Kind::kDouble ? "v[6:7]"
                                                               : "v6");
  for (std::uint32_t i = 0; i < 3 && row.sources[i] != Kind::kNone; ++i) {
    const bool is_wide = row.sources[i] == Kind::kDouble;
    text += is_wide ? fmt::format(", v[{}:{}]", 2 * i, 2 * i + 1) : fmt::format(", v{}", 2 * i);
    wave.vectors[2 * i].lanes.fill(static_cast<std::uint32_t>(sources[i]));
    wave.vectors[2 * i + 1].lanes.fill(static_cast<std::uint32_t>(sources[i] >> 32));
    for (std::uint32_t word = 0; word < 2; ++word) wave.set_defined(2 * i + word, wave.machine.all_lanes());
  }
  const std::string mistake = bare.run(text);
  if (!mistake.empty()) return internal_error(fmt::format("{}: {}", text, mistake));
  if (row.result == Kind::kMask) return bare.scalar(2, 1) & 1;
  const std::uint64_t high = row.result == Kind::kDouble ? wave.vectors[7].lanes[0] : 0;
  return high << 32 | wave.vectors[6].lanes[0];
}

bool is_nan(Kind kind, std::uint64_t bits) {
  if (kind == Kind::kFloat) return (bits & 0x7fff'ffff) > 0x7f80'0000;
  return kind == Kind::kDouble && (bits & ~(std::uint64_t{1} << 63)) > std::uint64_t{0x7ff} << 52;
}

Result<FoldingReport> check(const Folding& row, std::uint64_t seed) {
  constexpr int kNumTrials = 200;
  std::mt19937_64 random(seed);
  std::vector<std::array<std::uint64_t, 3>> trials(kNumTrials);
  std::string parameters, ir;
  for (int i = 0; i < 3 && row.sources[i] != Kind::kNone; ++i) {
    parameters += fmt::format("{}{}", i == 0 ? "" : ", ", type_name(row.sources[i]));
  }
  ir = fmt::format("declare {} @{}({})\n", type_name(row.result), row.intrinsic, parameters);
  for (int trial = 0; trial < kNumTrials; ++trial) {
    std::string list;
    for (int i = 0; i < 3 && row.sources[i] != Kind::kNone; ++i) {
      const std::uint64_t bits = trials[trial][i] = sample(row.sources[i], random);
      list +=
          fmt::format("{}{} {}", i == 0 ? "" : ", ", type_name(row.sources[i]), constant_text(row.sources[i], bits));
    }
    ir += fmt::format("define {0} @f{1}() {{\n  %r = call {0} @{2}({3})\n  ret {0} %r\n}}\n", type_name(row.result),
                      trial, row.intrinsic, list);
  }
  MILLRACE_TRY_ASSIGN(const auto folded, fold(ir));
  FoldingReport report{.instruction = row.instruction};
  for (int trial = 0; trial < kNumTrials; ++trial) {
    // Sines of subnormals: LLVM does not take them for zeros.
    const bool is_tiny = row.intrinsic == std::string("llvm.amdgcn.sin.f32") && (trials[trial][0] & 0x7f80'0000) == 0;
    // The manuals have a minimum where any of the three is NaN; LLVM a maximum where it is the last one.
    const bool is_disputed =
        row.intrinsic == std::string("llvm.amdgcn.fmed3.f32") && is_nan(Kind::kFloat, trials[trial][2]);
    if (!folded[trial] || is_disputed || is_tiny) continue;
    ++report.num_folded;
    MILLRACE_TRY_ASSIGN(const std::uint64_t found, execute(row, trials[trial].data()));
    if (found == *folded[trial] || (is_nan(row.result, found) && is_nan(row.result, *folded[trial]))) continue;
    report.mistakes.push_back(fmt::format("{} of {:#x}, {:#x}, {:#x} is {:#x}, LLVM says {:#x}", row.instruction,
                                          trials[trial][0], trials[trial][1], trials[trial][2], found, *folded[trial]));
  }
  return report;
}

}  // namespace

Result<std::vector<FoldingReport>> check_foldings(std::uint64_t seed) {
  std::vector<FoldingReport> reports;
  for (const Folding& row : kFoldings) {
    MILLRACE_TRY_ASSIGN(FoldingReport report, check(row, seed));
    reports.push_back(std::move(report));
  }
  return reports;
}

}  // namespace millrace::test
