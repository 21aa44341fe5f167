// SPDX-License-Identifier: Apache-2.0
// Evaluates a lane function on the host, lane by lane; the tests compare generated code with it.
#include "tests/support/kernels/evaluate_lanes.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "millrace/base/check.h"
#include "millrace/base/float16.h"

namespace millrace {
namespace {

using Lanes = std::array<std::int64_t, 64>;  // sign-extended; masks are 0 and 1

class Evaluation {
 public:
  Evaluation(const LaneFunction& function, std::array<std::int64_t, kMaxLaneArguments>& arguments)
      : f_(function), arguments_(arguments), values_(function.instructions.size()) {}

  std::int64_t run() {
    std::size_t loop = 0;
    for (std::size_t at = 0;; ++at) {
      const LaneInstruction& instruction = f_.instructions[at];
      switch (instruction.op) {
        case LaneOp::kForEachWhole:
          loop = at;
          if (!subtract_block(instruction)) at = end_of(at);
          break;
        case LaneOp::kIfAny:
          loop = at;
          if (argument(instruction) <= 0) at = end_of(at);
          break;
        case LaneOp::kEnd:
          if (f_.instructions[loop].op == LaneOp::kForEachWhole && subtract_block(f_.instructions[loop])) at = loop;
          break;
        case LaneOp::kPrefetch:
        case LaneOp::kPrefetchToWrite:
          break;
        case LaneOp::kReturn:
          return argument(instruction);
        case LaneOp::kReturnAny:
          return sum(instruction.argument >= 0 ? argument(instruction) : 0,
                     std::ranges::any_of(values_[at_of(instruction.a)], [](std::int64_t lane) { return lane != 0; }),
                     1);
        case LaneOp::kReturnFirst:
          return values_[at_of(instruction.a)][0];
        default:
          step(at);
      }
    }
  }

 private:
  static std::size_t at_of(LaneValue value) { return static_cast<std::size_t>(value); }
  std::int64_t& argument(const LaneInstruction& instruction) {
    return arguments_[static_cast<std::size_t>(instruction.argument)];
  }
  /// x + y * times, which wraps.
  static std::int64_t sum(std::int64_t x, std::int64_t y, std::int64_t times) {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(x) +
                                     static_cast<std::uint64_t>(y) * static_cast<std::uint64_t>(times));
  }
  /// Whether there is a block of elements, which the count then loses.
  bool subtract_block(const LaneInstruction& loop) {
    const std::int64_t elements = loop.imm * f_.num_lanes;
    if (static_cast<std::uint64_t>(argument(loop)) < static_cast<std::uint64_t>(elements)) return false;
    argument(loop) -= elements;
    return true;
  }
  std::size_t end_of(std::size_t at) const {
    while (f_.instructions[at].op != LaneOp::kEnd) ++at;
    return at;
  }
  std::size_t num_lanes() const { return static_cast<std::size_t>(f_.num_lanes); }
  /// Cut to a lane, with the sign extended.
  std::int64_t wrapped(std::uint64_t value) const {
    const int unused = 64 - f_.lane_bits;
    return static_cast<std::int64_t>(value << unused) >> unused;
  }
  std::uint64_t unsigned_lane(std::int64_t value) const {
    return static_cast<std::uint64_t>(value) & ~std::uint64_t{0} >> (64 - f_.lane_bits);
  }

  std::int64_t loaded(const LaneInstruction& instruction, std::size_t lane) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, memory(instruction) + lane * instruction.element.bytes, instruction.element.bytes);
    const unsigned unused = 64 - 8u * instruction.element.bytes;
    if (!instruction.element.is_signed) return wrapped(bits);
    return static_cast<std::int64_t>(bits << unused) >> unused;
  }
  void store(const LaneInstruction& instruction, std::size_t lane, std::int64_t value) {
    std::memcpy(memory(instruction) + lane * instruction.element.bytes, &value, instruction.element.bytes);
  }
  std::byte* memory(const LaneInstruction& instruction) {
    return reinterpret_cast<std::byte*>(argument(instruction)) + instruction.offset_bytes;
  }

  void stream(LaneInstruction instruction, const Lanes& value) {
    instruction.element.bytes = static_cast<std::uint8_t>(f_.lane_bits / 8);
    const std::size_t vector_bytes = num_lanes() * instruction.element.bytes;
    MILLRACE_CHECK(reinterpret_cast<std::uintptr_t>(memory(instruction)) % vector_bytes == 0);
    for (std::size_t i = 0; i < num_lanes(); ++i) store(instruction, i, value[i]);
  }

  void store_mask(const LaneInstruction& instruction, const Lanes& mask) {
    std::uint64_t bits = 0;
    for (std::size_t i = 0; i < num_lanes(); ++i) bits |= static_cast<std::uint64_t>(mask[i]) << i;
    std::memcpy(memory(instruction), &bits, static_cast<std::size_t>(mask_bytes_of(f_.num_lanes)));
  }

  void move_pointer(const LaneInstruction& instruction) {
    auto* const place = reinterpret_cast<std::byte*>(arguments_[static_cast<std::size_t>(instruction.by)]);
    auto* const pointer = reinterpret_cast<std::byte*>(&argument(instruction));
    const bool is_load = instruction.op == LaneOp::kLoadPointer;
    std::byte* const at = place + instruction.offset_bytes;
    std::memcpy(is_load ? pointer : at, is_load ? at : pointer, sizeof(std::int64_t));
  }

  void append(const LaneInstruction& instruction, const Lanes& mask) {
    const auto count = static_cast<std::size_t>(std::ranges::count(mask, 1));
    const auto lane_bytes = static_cast<std::size_t>(f_.lane_bits / 8);
    const std::size_t written = instruction.op == LaneOp::kAppendExact ? count : num_lanes();
    for (std::size_t lane = 0; lane < written; ++lane) {
      std::memcpy(memory(instruction) + lane * lane_bytes, &values_[at_of(instruction.a)][lane], lane_bytes);
    }
    argument(instruction) += static_cast<std::int64_t>(count * lane_bytes);
  }

  void step(std::size_t at) {
    const LaneInstruction& instruction = f_.instructions[at];
    const Lanes none{};
    const auto value = [&](LaneValue id) -> const Lanes& { return id == kNoLaneValue ? none : values_[at_of(id)]; };
    const Lanes a = value(instruction.a), b = value(instruction.b), mask = value(instruction.mask);
    switch (instruction.op) {
      case LaneOp::kAppend:
      case LaneOp::kAppendExact:
        return append(instruction, mask);
      case LaneOp::kAdvance:
        argument(instruction) = sum(argument(instruction), instruction.imm, 1);
        return;
      case LaneOp::kAdvanceBy:
        argument(instruction) = sum(argument(instruction), a[0], instruction.imm);
        return;
      case LaneOp::kAdvanceByArgument:
        argument(instruction) =
            sum(argument(instruction), arguments_[static_cast<std::size_t>(instruction.by)], instruction.imm);
        return;
      case LaneOp::kLoadPointer:
      case LaneOp::kStorePointer:
        return move_pointer(instruction);
      case LaneOp::kStream:
        return stream(instruction, a);
      case LaneOp::kStoreMask:
        return store_mask(instruction, mask);
      case LaneOp::kAssign:
        values_[at_of(instruction.a)] = b;
        return;
      case LaneOp::kStore:
        for (std::size_t i = 0; i < num_lanes(); ++i) {
          if (instruction.mask == kNoLaneValue || mask[i] != 0) store(instruction, i, a[i]);
        }
        return;
      case LaneOp::kCompress:
        values_[at] = compressed(a, mask);
        return;
      default:
        break;
    }
    Lanes result{};
    for (std::size_t i = 0; i < num_lanes(); ++i) {
      result[i] = wrapped(static_cast<std::uint64_t>(lane(instruction, static_cast<std::int64_t>(i), a, b, mask)));
    }
    values_[at] = result;
  }

  Lanes compressed(const Lanes& a, const Lanes& mask) const {
    constexpr std::int64_t kUnspecified = -123456789;
    Lanes result{};
    std::size_t count = 0;
    for (std::size_t i = 0; i < num_lanes(); ++i) {
      if (mask[i] != 0) result[count++] = a[i];
    }
    std::fill_n(result.begin() + static_cast<std::ptrdiff_t>(count), num_lanes() - count, wrapped(kUnspecified));
    return result;
  }

  /// Lane i of what is computed lane by lane: the table's expressions, in the table's names.
  std::int64_t lane(const LaneInstruction& instruction, std::int64_t i, const Lanes& as, const Lanes& bs,
                    const Lanes& mask) {
    const std::int64_t imm = instruction.imm, n = f_.num_lanes;
    const auto all_a = [&](std::int64_t lane) { return as[static_cast<std::size_t>(lane)]; };
    const auto all_b = [&](std::int64_t lane) { return bs[static_cast<std::size_t>(lane)]; };
    const std::int64_t a = all_a(i), b = all_b(i);
    const std::uint64_t x = unsigned_lane(a), y = unsigned_lane(b);
    const bool is_on = instruction.mask == kNoLaneValue || mask[static_cast<std::size_t>(i)] != 0;
    const std::int64_t argument = instruction.argument < 0 ? 0 : this->argument(instruction);
    const auto load = [&](std::int64_t lane) { return loaded(instruction, static_cast<std::size_t>(lane)); };
    const auto floats = [&](const auto& compute) { return with_floats(a, b, compute); };
    const auto single = [&] { return std::bit_cast<float>(static_cast<std::int32_t>(a)); };
    const auto float_of_half = [&] {
      return std::bit_cast<std::int32_t>(static_cast<float>(Half::from_bits(static_cast<std::uint16_t>(a))));
    };
    const auto half_of_float = [&] { return Half(single()).bits; };
    const auto float_of_int = [&] {
      return std::bit_cast<std::int32_t>(static_cast<float>(static_cast<std::int32_t>(a)));
    };
    const auto int_of_float = [&] { return cut_to_int(single()); };
    /// The lane that comes to this place among those of both vectors.
    const auto regrouped = [&](std::int64_t place) {
      const int from = BitOrder(imm).source(static_cast<int>(place));
      return from < n ? all_a(from) : all_b(from - n);
    };
    switch (instruction.op) {
#define MILLRACE_LANE_VALUE(name, text, result, fields, traits, value, meaning) \
  case LaneOp::name:                                                            \
    return static_cast<std::int64_t>(value);
#include "jit/lanes/lane_ops.inc"
      default:
        MILLRACE_CHECK(false);
    }
    return 0;
  }

  static std::int32_t cut_to_int(float x) {
    constexpr float kEnd = 2147483648.0f;
    return x >= -kEnd && x < kEnd ? static_cast<std::int32_t>(x) : std::numeric_limits<std::int32_t>::min();
  }

  /// Computes with the floats of two lanes. Returns the bits of a float, or 0 or 1 for a bool.
  template <class Compute>
  std::int64_t with_floats(std::int64_t a, std::int64_t b, const Compute& compute) const {
    const auto bits_of = [](auto result) {
      if constexpr (std::is_same_v<decltype(result), bool>) return std::int64_t{result};
      if constexpr (std::is_same_v<decltype(result), float>) return std::int64_t{std::bit_cast<std::int32_t>(result)};
      if constexpr (std::is_same_v<decltype(result), double>) return std::bit_cast<std::int64_t>(result);
    };
    if (f_.lane_bits == 64) return bits_of(compute(std::bit_cast<double>(a), std::bit_cast<double>(b)));
    const auto float_of = [](std::int64_t lane) { return std::bit_cast<float>(static_cast<std::int32_t>(lane)); };
    return bits_of(compute(float_of(a), float_of(b)));
  }

  const LaneFunction& f_;
  std::array<std::int64_t, kMaxLaneArguments>& arguments_;
  std::vector<Lanes> values_;
};

}  // namespace

std::int64_t evaluate_lanes(const LaneFunction& function, std::array<std::int64_t, kMaxLaneArguments> arguments) {
  return Evaluation(function, arguments).run();
}

}  // namespace millrace
