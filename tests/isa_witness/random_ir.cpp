// SPDX-License-Identifier: Apache-2.0
// Builds random functions of LLVM IR, step by step.
#include "random_ir.h"

#include <array>
#include <bit>
#include <cmath>
#include <random>

#include <fmt/format.h>

#include "ir_types.h"
#include "random_values.h"

namespace millrace::test {
namespace {

class Generator {
 public:
  Generator(std::uint64_t seed, std::string pointer) : random_(seed), pointer_(std::move(pointer)) {}

  RandomFunction run(std::uint32_t num_steps) {
    load_row("v", "%thread");
    load_row("s", fmt::format("{}", kNumThreads));
    keep(IrType::kF16, let("bitcast i16 %v1 to half"));
    keep(IrType::kF16, let("fptrunc float %v4 to half"));
    line("%is_below = icmp ult i32 %v2, %s2");
    for (std::uint32_t i = 0; i < num_steps; ++i) step();
    return store_results();
  }

 private:
  std::uint64_t below(std::uint64_t limit) { return random_() % limit; }
  template <class T, std::size_t N>
  T any_of(const T (&list)[N]) {
    return list[below(N)];
  }

  template <class... A>
  void line(fmt::format_string<A...> format, A&&... arguments) {
    body_ += "  " + fmt::format(format, std::forward<A>(arguments)...) + "\n";
  }
  /// A value that the line computes.
  template <class... A>
  std::string let(fmt::format_string<A...> format, A&&... arguments) {
    const std::string value = fmt::format("%t{}", num_values_++);
    body_ += "  " + value + " = " + fmt::format(format, std::forward<A>(arguments)...) + "\n";
    return value;
  }
  void keep(IrType type, std::string value) { pool_[index(type)].push_back(std::move(value)); }

  void load_row(const char* prefix, const std::string& row) {
    line("%{}offset = mul i64 {}, {}", prefix, row, 8 * kWordsPerRow);
    line("%{}row = getelementptr i8, {} %in, i64 %{}offset", prefix, pointer_, prefix);
    for (std::uint32_t word = 0; word < kWordsPerRow; ++word) {
      const IrType type = static_cast<IrType>(1 + word % 7);
      line("%{}p{} = getelementptr i8, {} %{}row, i64 {}", prefix, word, pointer_, prefix, 8 * word);
      line("%{}{} = load {}, {} %{}p{}", prefix, word, name(type), pointer_, prefix, word);
      keep(type, fmt::format("%{}{}", prefix, word));
    }
  }

  std::string constant(IrType type) {
    if (type == IrType::kF64 || type == IrType::kF32) {
      const double value = type == IrType::kF32 ? sample_number<float>(random_) : sample_number<double>(random_);
      return std::isnan(value) ? "1.0" : fmt::format("0x{:016X}", std::bit_cast<std::uint64_t>(value));
    }
    if (type == IrType::kI1) return below(2) != 0 ? "true" : "false";
    const std::uint32_t unused = 64 - kBits[index(type)];
    const auto number = static_cast<std::int64_t>(sample_integer(random_) << unused) >> unused;
    return type == IrType::kV2I16 ? fmt::format("<i16 {}, i16 {}>", number, number / 3) : fmt::format("{}", number);
  }

  /// A value of the type, recent ones first.
  std::string any(IrType type) {
    const auto& values = pool_[index(type)];
    if (values.empty()) return compare();
    if (type != IrType::kF16 && below(8) == 0) return constant(type);
    const std::size_t window = below(2) == 0 ? std::min<std::size_t>(values.size(), 4) : values.size();
    return values[values.size() - 1 - below(window)];
  }

  std::string compare() {
    static constexpr const char* kIntegers[] = {"eq", "ne", "ugt", "uge", "ult", "ule", "sgt", "sge", "slt", "sle"};
    static constexpr const char* kOfFloats[] = {"oeq", "ogt", "oge", "olt", "ole", "one", "ord",
                                                "ueq", "ugt", "uge", "ult", "ule", "une", "uno"};
    if (below(2) == 0) {
      const IrType type = any_of(kInts);
      return let("icmp {} {} {}, {}", any_of(kIntegers), name(type), any(type), any(type));
    }
    const IrType type = any_of(kFloats);
    if (below(6) == 0) {  // signalling and quiet NaN are one: who makes a NaN quiet is not said
      const std::uint64_t mask = below(1024) | (below(2) != 0 ? 3u : 0u);
      return let("call i1 @llvm.is.fpclass.{}({} {}, i32 {})", kSuffixes[index(type)], name(type), any(type),
                 (mask & 3) == 3 ? mask : mask & ~std::uint64_t{3});
    }
    return let("fcmp {} {} {}, {}", any_of(kOfFloats), name(type), any(type), any(type));
  }

  void step() {
    switch (below(15)) {
      case 0:
      case 1:
      case 2:
        return keep_integer(any_of(kInts));
      case 3:
        return keep_bits(any_of(kInts));
      case 4:
        return keep_division(any_of(kInts));
      case 5:
      case 6:
        return keep_float(any_of(kFloats));
      case 7:
        return keep_rounded(any_of(kFloats));
      case 8:
        return keep_conversion();
      case 9:
        return keep_float_conversion();
      case 10:
        return keep_pair();
      case 11:
        return keep(IrType::kI1, compare());
      case 12:
        return keep_select();
      case 13:
        return keep_half();
      default:
        return keep_branch();
    }
  }

  /// Both operands of an operation on integers.
  std::string binary(const char* operation, IrType type) {
    return let("{} {} {}, {}", operation, name(type), any(type), any(type));
  }
  template <class... S>
  std::string call(const char* intrinsic, IrType type, S... arguments) {
    std::string list;
    for (const std::string& argument : {std::string(arguments)...}) {
      list += (list.empty() ? "" : ", ") + argument;
    }
    return let("call {} @llvm.{}.{}({})", name(type), intrinsic, kSuffixes[index(type)], list);
  }
  std::string typed(IrType type) { return name(type) + " " + any(type); }

  /// An amount that a shift of this type may have.
  std::string amount(IrType type) {
    if (type == IrType::kV2I16) return let("and <2 x i16> {}, <i16 15, i16 15>", any(type));
    return let("and {} {}, {}", name(type), any(type), kBits[index(type)] - 1);
  }

  void keep_integer(IrType type) {
    static constexpr const char* kPlain[] = {"add", "sub", "mul", "and", "or", "xor"};
    static constexpr const char* kShifts[] = {"shl", "lshr", "ashr"};
    static constexpr const char* kPairs[] = {"smin",     "smax",     "umin",     "umax",
                                             "sadd.sat", "uadd.sat", "ssub.sat", "usub.sat"};
    switch (below(4)) {
      case 0: {
        const std::string value = any(type), by = amount(type);
        return keep(type, let("{} {} {}, {}", any_of(kShifts), name(type), value, by));
      }
      case 1:
        return keep(type, call(any_of(kPairs), type, typed(type), typed(type)));
      default:
        return keep(type, binary(any_of(kPlain), type));
    }
  }

  void keep_bits(IrType type) {
    switch (below(8)) {
      case 0:
        return keep(type, call("ctlz", type, typed(type), "i1 false"));
      case 1:
        return keep(type, call("cttz", type, typed(type), "i1 false"));
      case 2:
        return keep(type, call("ctpop", type, typed(type)));
      case 3:
        return keep(type, call("bitreverse", type, typed(type)));
      case 4:
        return keep(type, call("abs", type, typed(type), "i1 false"));
      case 5:
        return keep(type, call("fshl", type, typed(type), typed(type), typed(type)));
      case 6:
        return keep(type, call("fshr", type, typed(type), typed(type), typed(type)));
      default: {
        const std::string both = let("call {{{}, i1}} @llvm.{}.with.overflow.{}({}, {})", name(type),
                                     below(2) != 0 ? "uadd" : "smul", kSuffixes[index(type)], typed(type), typed(type));
        keep(type, let("extractvalue {{{}, i1}} {}, 0", name(type), both));
        return keep(IrType::kI1, let("extractvalue {{{}, i1}} {}, 1", name(type), both));
      }
    }
  }

  /// By no zero, and by no -1, which overflows.
  /// LLVM 19 counts sign bits to tell whether a number has only 24 or 32 bits, even where the division is unsigned, and
  /// one too few where it is signed (AMDGPUCodeGenPrepare's getDivNumBits): some quotients are wrong. What is added
  /// here hides how many there are.
  void keep_division(IrType type) {
    const bool is_signed = below(2) != 0, is_quotient = below(2) != 0;
    const auto operand = [&] {
      const std::string value = any(type);
      return let("add {} {}, %v{}", name(type), value, index(type) - 1);
    };
    const std::string dividend = operand(), divisor = operand(), next = let("add {} {}, 1", name(type), divisor);
    const std::string is_bad = let("icmp ule {} {}, 1", name(type), next);
    const std::string safe = let("select i1 {}, {} 3, {} {}", is_bad, name(type), name(type), divisor);
    keep(type, let("{}{} {} {}, {}", is_signed ? 's' : 'u', is_quotient ? "div" : "rem", name(type), dividend, safe));
  }

  void keep_float(IrType type) {
    static constexpr const char* kPlain[] = {"fadd", "fmul", "fdiv"};
    switch (below(8)) {
      case 0:
        return keep(type, call("fma", type, typed(type), typed(type), typed(type)));
      case 1: {
        const std::string a = made_quiet(type), b = made_quiet(type);
        return keep(type,
                    call(below(2) != 0 ? "minimum" : "maximum", type, name(type) + " " + a, name(type) + " " + b));
      }
      case 2:
        return keep_number(type);
      case 3:
        return keep(type, let("fneg {} {}", name(type), any(type)));
      default:
        return keep(type, binary(any_of(kPlain), type));
    }
  }

  /// Targets differ on signalling NaN, x86 with itself.
  std::string made_quiet(IrType type) {
    const std::string value = any(type), is_nan = let("fcmp uno {} {}, {}", name(type), value, value);
    return let("select i1 {}, {} 0x7FF8000000000000, {} {}", is_nan, name(type), name(type), value);
  }

  /// minnum is free to choose among zeros.
  void keep_number(IrType type) {
    const std::string a = made_quiet(type), b = made_quiet(type);
    const std::string number =
        call(below(2) != 0 ? "minnum" : "maxnum", type, name(type) + " " + a, name(type) + " " + b);
    const std::string is_zero = let("fcmp oeq {} {}, 0.0", name(type), number);
    keep(type, let("select i1 {}, {} 0.0, {} {}", is_zero, name(type), name(type), number));
  }

  void keep_rounded(IrType type) {
    static constexpr const char* kRounds[] = {"floor", "ceil", "trunc", "rint", "roundeven", "sqrt", "fabs", "sqrt"};
    if (below(5) == 0) {
      const std::string exponent = let("srem i32 {}, 2200", any(IrType::kI32));
      return keep(type, let("call {} @llvm.ldexp.{}.i32({}, i32 {})", name(type), kSuffixes[index(type)], typed(type),
                            exponent));
    }
    keep(type, call(any_of(kRounds), type, typed(type)));
  }

  void keep_conversion() {
    const IrType from = any_of(kInts), to = any_of(kInts);
    if (from == to) return keep_bits(from);
    if (kBits[index(from)] > kBits[index(to)]) {
      return keep(to, let("trunc {} to {}", typed(from), name(to)));
    }
    keep(to, let("{} {} to {}", below(2) != 0 ? "zext" : "sext", typed(from), name(to)));
  }

  void keep_float_conversion() {
    const IrType type = any_of(kFloats), integer = any_of(kInts);
    switch (below(5)) {
      case 0:
        return keep(type, let("{} {} to {}", below(2) != 0 ? "sitofp" : "uitofp", typed(integer), name(type)));
      case 1:
        return keep(integer, let("call {} @llvm.{}.sat.{}.{}({})", name(integer), below(2) != 0 ? "fptosi" : "fptoui",
                                 kSuffixes[index(integer)], kSuffixes[index(type)], typed(type)));
      case 2:
        return keep(IrType::kF32, let("fptrunc {} to float", typed(IrType::kF64)));
      case 3:
        return keep(IrType::kF64, let("fpext {} to double", typed(IrType::kF32)));
      default: {
        const IrType bits = type == IrType::kF32 ? IrType::kI32 : IrType::kI64;
        if (below(2) == 0) return keep(type, let("bitcast {} to {}", typed(bits), name(type)));
        // The bits of NaN differ.
        const std::string value = any(type), is_nan = let("fcmp uno {} {}, {}", name(type), value, value);
        const std::string known = let("select i1 {}, {} 1.0, {} {}", is_nan, name(type), name(type), value);
        return keep(bits, let("bitcast {} {} to {}", name(type), known, name(bits)));
      }
    }
  }

  /// The value, or another. LLVM else joins conversions with fused multiply-adds to instructions that have no row
  /// (v_fma_mix_f32, v_fma_mixlo_f16), because no kernel of the test matrix has them.
  std::string chosen(const std::string& value) { return let("select i1 %is_below, float {}, float %v11", value); }

  void keep_half() {
    static constexpr const char* kConditions[] = {"oeq", "ogt", "oge", "olt", "ole", "one", "ord",
                                                  "ueq", "ugt", "uge", "ult", "ule", "une", "uno"};
    const IrType half = IrType::kF16;
    switch (below(9)) {
      case 0:
      case 1:
        return keep(half, let("fptrunc float {} to half", chosen(any(IrType::kF32))));
      case 2:
        return keep(IrType::kF32, chosen(let("fpext {} to float", typed(half))));
      case 3:
        return keep(IrType::kF64, let("fpext {} to double", typed(half)));
      case 4:
        return keep(IrType::kI1, let("fcmp {} {}, {}", any_of(kConditions), typed(half), any(half)));
      case 5: {  // signalling and quiet NaN are one, as in compare()
        const std::uint64_t mask = below(1024) & ~std::uint64_t{3};
        return keep(IrType::kI1,
                    let("call i1 @llvm.is.fpclass.f16({}, i32 {})", typed(half), below(2) != 0 ? mask | 3 : mask));
      }
      case 6:
        return keep(half, let("{} {} to half", below(2) != 0 ? "sitofp" : "uitofp", typed(IrType::kI16)));
      case 7:
        return keep(half, let("select i1 {}, {}, {}", any(IrType::kI1), typed(half), typed(half)));
      default: {  // the bits of NaN differ
        const std::string value = any(half), is_nan = let("fcmp uno half {}, {}", value, value);
        const std::string known = let("select i1 {}, half 1.0, half {}", is_nan, value);
        return keep(IrType::kI16, let("bitcast half {} to i16", known));
      }
    }
  }

  void keep_pair() {
    if (below(3) != 0) return keep_integer(IrType::kV2I16);
    if (below(2) == 0) {
      return keep(IrType::kI16, let("extractelement {}, i32 {}", typed(IrType::kV2I16), below(2)));
    }
    keep(IrType::kV2I16, let("insertelement {}, {}, i32 {}", typed(IrType::kV2I16), typed(IrType::kI16), below(2)));
  }

  void keep_select() {
    const IrType type = static_cast<IrType>(1 + below(7));
    if (below(3) == 0) {
      static constexpr const char* kOperations[] = {"and", "or", "xor"};
      return keep(IrType::kI1, binary(any_of(kOperations), IrType::kI1));
    }
    keep(type, let("select i1 {}, {}, {}", any(IrType::kI1), typed(type), typed(type)));
  }

  /// A branch that only some threads take.
  void keep_branch() {
    const std::string condition = any(IrType::kI1);
    const std::uint32_t number = num_branches_++;
    const std::string before = block_;
    line("br i1 {}, label %then{}, label %join{}", condition, number, number);
    body_ += fmt::format("then{}:\n", number);
    block_ = fmt::format("then{}", number);
    const IrType type = below(2) == 0 ? any_of(kInts) : any_of(kFloats);
    const auto pools = pool_;  // values of the branch are not available after it
    const std::string other = any(type);
    if (is_float(type))
      keep_float(type);
    else if (below(2) == 0)
      keep_division(type);
    else
      keep_integer(type);
    const std::string value = pool_[index(type)].back(), from = block_;
    pool_ = pools;
    line("br label %join{}", number);
    body_ += fmt::format("join{}:\n", number);
    block_ = fmt::format("join{}", number);
    keep(type, let("phi {} [ {}, %{} ], [ {}, %{} ]", name(type), value, from, other, before));
  }

  RandomFunction store_results() {
    RandomFunction function;
    line("%result_offset = mul i64 %thread, {}", 8 * kNumResults);
    line("%result_row = getelementptr i8, {} %out, i64 %result_offset", pointer_);
    static constexpr IrType kStored[] = {IrType::kI8,  IrType::kI16, IrType::kI32, IrType::kI64,   IrType::kF32,
                                         IrType::kF64, IrType::kI32, IrType::kI64, IrType::kV2I16, IrType::kF64};
    static_assert(std::size(kStored) == kNumResults);
    std::array<std::size_t, kNumIrTypes> num_stored = {};
    for (std::uint32_t i = 0; i < kNumResults; ++i) {
      const IrType type = kStored[i];
      const auto& values = pool_[index(type)];
      line("%result{} = getelementptr i8, {} %result_row, i64 {}", i, pointer_, 8 * i);
      line("store {} {}, {} %result{}", name(type), values[values.size() - 1 - num_stored[index(type)]++], pointer_, i);
      function.results.push_back(type);
    }
    line("ret void");
    function.body = std::move(body_);
    return function;
  }

  std::mt19937_64 random_;
  std::string pointer_;
  std::string body_ = {};
  std::string block_ = "entry";
  std::array<std::vector<std::string>, kNumIrTypes> pool_ = {};
  std::uint32_t num_values_ = 0, num_branches_ = 0;
};

}  // namespace

RandomFunction make_random_function(std::uint64_t seed, std::uint32_t num_steps, const std::string& pointer) {
  return Generator(seed, pointer).run(num_steps);
}

}  // namespace millrace::test
