// SPDX-License-Identifier: Apache-2.0
// Checks the rules of lane functions that emitters and evaluation rely on.
#include <bit>
#include <iterator>

#include <fmt/format.h>

#include "base/verification.h"
#include "jit/lanes/linear_scan.h"

namespace millrace {
namespace {

std::string_view to_text(LaneResult result) {
  if (result == LaneResult::kNone) return "no value";
  return result == LaneResult::kMask ? "a mask" : "a vector";
}

constexpr std::int64_t kMaxStep = (std::int64_t{1} << 31) - 1;

bool is_return(LaneOp op) { return op == LaneOp::kReturn || op == LaneOp::kReturnAny || op == LaneOp::kReturnFirst; }
bool begins_block(LaneOp op) { return op == LaneOp::kForEachWhole || op == LaneOp::kIfAny; }

class LaneVerifier {
 public:
  explicit LaneVerifier(const LaneFunction& f) : f_(f) {}

  Status run() {
    check_vectors();
    if (!problems_.empty()) return invalid_argument(problems_);
    for (at_ = 0; at_ < f_.instructions.size(); ++at_) check_instruction();
    if (is_in_block_) fail("the block has no end");
    if (f_.instructions.empty() || !is_return(f_.instructions.back().op)) fail("the last instruction does not return");
    if (problems_.empty()) check_masks();
    if (problems_.empty()) return {};
    problems_.pop_back();
    return invalid_argument(problems_);
  }

 private:
  bool has_256_bits() const { return f_.num_lanes * f_.lane_bits == 256; }
  const LaneInstruction& instruction() const { return f_.instructions[at_]; }

  void check_vectors() {
    const std::int64_t bits = std::int64_t{f_.num_lanes} * f_.lane_bits;
    const bool is_whole = (f_.lane_bits == 32 || f_.lane_bits == 64) && (bits == 256 || bits == 512);
    if (is_whole || (f_.lane_bits == 8 && bits == 512)) return;
    problems_ =
        fmt::format("{} lanes of {} bits, expected 512 bits, or 256 in lanes of 32 or 64", f_.num_lanes, f_.lane_bits);
  }

  void check_instruction() {
    const LaneInstruction& i = instruction();
    check_vector_traits(i.op);
    check_value("a", i.a, uses(i.op, lane_table::kMaskA), uses(i.op, lane_table::kA | lane_table::kMaskA),
                uses(i.op, lane_table::kAIfMasked) && i.mask >= 0);
    check_value("b", i.b, uses(i.op, lane_table::kMaskB), uses(i.op, lane_table::kB | lane_table::kMaskB), false);
    check_value("the mask", i.mask, true, uses(i.op, lane_table::kMaskedBy),
                uses(i.op, lane_table::kMaskOrNot) && i.mask >= 0);
    check_argument("argument", i.argument, uses(i.op, lane_table::kPointer | lane_table::kInteger),
                   uses(i.op, lane_table::kIntegerOrNot));
    check_argument("by", i.by, uses(i.op, lane_table::kBy | lane_table::kAtPointer), false);
    if (!uses(i.op, lane_table::kPointer | lane_table::kAtPointer) && i.offset_bytes != 0)
      fail("has an offset, expected none");
    check_element(i);
    check_immediate(i);
    if (i.op == LaneOp::kAssign && is_value(i.a) && op_of(i.a) != LaneOp::kVariable) fail("a is not a variable");
    check_flow(i.op);
  }

  void check_vector_traits(LaneOp op) {
    if (f_.lane_bits == 8 && !has_trait(op, lane_table::kBytes)) fail("has no form for lanes of 8 bits");
    if (f_.lane_bits == 64 && has_trait(op, lane_table::kOnly32)) fail("has no form for lanes of 64 bits");
    if (has_256_bits() && has_trait(op, lane_table::kOnlyAvx512)) fail("has no form for vectors of 256 bits");
  }

  bool is_value(LaneValue value) const { return value >= 0 && static_cast<std::size_t>(value) < at_; }
  LaneOp op_of(LaneValue value) const { return f_.instructions[static_cast<std::size_t>(value)].op; }

  void check_value(std::string_view name, LaneValue value, bool is_mask, bool is_needed, bool is_taken) {
    if (value == kNoLaneValue) {
      if (is_needed || is_taken) fail(fmt::format("{} is absent", name));
      return;
    }
    if (!is_needed && !is_taken) return fail(fmt::format("has {}, expected none", name));
    if (!is_value(value)) return fail(fmt::format("{} is %{}, which is not defined before", name, value));
    const LaneResult wanted = is_mask ? LaneResult::kMask : LaneResult::kVector, found = info_of(op_of(value)).result;
    if (found != wanted) fail(fmt::format("{} is {}, expected {}", name, to_text(found), to_text(wanted)));
    const auto number = static_cast<std::size_t>(value);
    for (const auto& [begin, end] : ended_blocks_) {
      if (number > begin && number < end) fail(fmt::format("{} is %{}, from a block that has ended", name, value));
    }
  }

  void check_argument(std::string_view name, int number, bool is_needed, bool is_taken) {
    if (number == -1) {
      if (is_needed) fail(fmt::format("{} is absent", name));
      return;
    }
    if (!is_needed && !is_taken) return fail(fmt::format("has {}, expected none", name));
    if (number < 0 || number >= static_cast<int>(kMaxLaneArguments)) {
      fail(fmt::format("{} is arg{}, expected at most arg{}", name, number, kMaxLaneArguments - 1));
    }
  }

  void check_element(const LaneInstruction& i) {
    if (!uses(i.op, lane_table::kElement)) {
      if (i.element != LaneElement{}) fail("has an element, expected none");
      return;
    }
    const bool is_power = std::has_single_bit(unsigned{i.element.bytes});
    if (!is_power || 8 * i.element.bytes > f_.lane_bits || (f_.lane_bits == 8 && !i.element.is_signed)) {
      fail(fmt::format("elements of {} bytes, lanes have {} bits", i.element.bytes, f_.lane_bits));
    }
  }

  void check_immediate(const LaneInstruction& i) {
    const std::int64_t n = f_.num_lanes;
    if (!uses(i.op, lane_table::kAnyKindOfImm) && i.imm != 0) fail("has an immediate, expected none");
    if (uses(i.op, lane_table::kBitImm)) check_range(i.imm, 0, f_.lane_bits - 1);
    if (uses(i.op, lane_table::kLaneImm)) check_range(i.imm, 0, n - 1);
    if (uses(i.op, lane_table::kDistanceImm)) check_range(i.imm, 1, n - 1);
    if (uses(i.op, lane_table::kLaneSetImm) && n < 64) check_range(i.imm, 0, (std::int64_t{1} << n) - 1);
    if (uses(i.op, lane_table::kStepImm)) check_range(i.imm, -kMaxStep, kMaxStep);
    if (uses(i.op, lane_table::kCountImm)) check_range(i.imm, 1, std::int64_t{1} << 20);
    if (!uses(i.op, lane_table::kOrderImm)) return;
    if (!is_order(i.imm)) {
      return fail(fmt::format("the order is {:#x}, expected each of the hex digits 0 to {} once", i.imm,
                              std::countr_zero(static_cast<unsigned>(f_.num_lanes))));
    }
    if (has_256_bits() && !has_code_in_256_bits(BitOrder(i.imm), f_.lane_bits)) {
      fail(fmt::format("vectors of 256 bits have no code for the order {:#x}", i.imm));
    }
  }
  /// Checks that masks fit registers, because masks do not spill. AVX2 keeps masks in vector registers, which do spill.
  void check_masks() {
    if (has_256_bits() || LaneLocations(f_, LaneValueClass::kMask, kNumMaskRegisters).num_slots() == 0) return;
    fail(fmt::format("more live masks than AVX-512's {} mask registers", kNumMaskRegisters));
  }
  void check_range(std::int64_t imm, std::int64_t first, std::int64_t last) {
    if (imm < first || imm > last) fail(fmt::format("the immediate is {}, expected {} to {}", imm, first, last));
  }
  bool is_order(std::int64_t digits) const {
    const int num_bits = std::countr_zero(static_cast<unsigned>(f_.num_lanes)) + 1;
    unsigned found = 0;
    for (int place = 0; place < num_bits; ++place) found |= 1u << BitOrder(digits).bit_at(place);
    return found == (1u << num_bits) - 1 && static_cast<std::uint64_t>(digits) >> (4 * num_bits) == 0;
  }

  void check_flow(LaneOp op) {
    if (is_return(op) && (at_ + 1 != f_.instructions.size() || is_in_block_)) fail("returns before the end");
    if (begins_block(op)) {
      if (is_in_block_) return fail("begins a block inside a block");
      is_in_block_ = true;
      block_ = at_;
    }
    if (op != LaneOp::kEnd) return;
    if (!is_in_block_) return fail("there is no block to end");
    is_in_block_ = false;
    ended_blocks_.push_back({block_, at_});
  }

  /// Appends "%7 = less: problem", or "#7 store: problem" for an instruction without a result.
  void fail(std::string_view problem) {
    if (at_ == f_.instructions.size()) {
      fmt::format_to(std::back_inserter(problems_), "{}\n", problem);
      return;
    }
    const LaneOpInfo& info = info_of(instruction().op);
    const bool has_result = info.result != LaneResult::kNone;
    fmt::format_to(std::back_inserter(problems_), "{}{} {}{}: {}\n", has_result ? '%' : '#', at_,
                   has_result ? "= " : "", info.text, problem);
  }

  const LaneFunction& f_;
  std::size_t at_ = 0;
  bool is_in_block_ = false;
  std::size_t block_ = 0;
  std::vector<std::pair<std::size_t, std::size_t>> ended_blocks_;
  std::string problems_;
};

}  // namespace

Status verify(const LaneFunction& function) {
  VerificationCount::note(IrLevel::kLaneFunction);
  return LaneVerifier(function).run();
}

}  // namespace millrace
