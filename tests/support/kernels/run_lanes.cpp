// SPDX-License-Identifier: Apache-2.0
#include "tests/support/kernels/run_lanes.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "base/text/number.h"
#include "hal/cpu/code_loader.h"
#include "hal/host/routines/microkernel.h"
#include "jit/xbyak/lane_assembler.h"
#include "millrace/jit/scalar.h"
#include "tests/support/kernels/evaluate_lanes.h"

namespace millrace::test {
namespace {

constexpr std::size_t kSpareBytes = 64;
using Arguments = std::array<std::int64_t, kMaxLaneArguments>;

/// A list of a run's text.
struct LaneList {
  DType dtype = DType::kI32;
  std::vector<std::byte> bytes;
};

struct LaneRun {
  Arguments integers{};
  std::map<std::size_t, LaneList> given, expected;  // by argument
  std::optional<std::int64_t> returned;             // beyond the pointer, if there is one
  std::optional<std::size_t> returned_pointer;
};

Result<std::size_t> read_argument(TextReader& text) {
  const std::size_t begin = text.position();
  const std::string_view name = text.take_name();
  if (name.size() == 4 && name.starts_with("arg") && name[3] >= '0' &&
      static_cast<std::size_t>(name[3] - '0') < kMaxLaneArguments) {
    return static_cast<std::size_t>(name[3] - '0');
  }
  return text.error(begin, fmt::format("expected arg0 to arg{}", kMaxLaneArguments - 1));
}

/// "i32[1, 2, 3]"
Result<LaneList> read_list(TextReader& text) {
  const std::size_t begin = text.position();
  const std::optional<DType> dtype = parse_dtype(text.take_name());
  if (!dtype || !text.take("[")) return text.error(begin, "expected an integer, or elements as 'i32[1, 2]'");
  LaneList memory = {*dtype, {}};
  while (!text.take("]")) {
    MILLRACE_TRY_ASSIGN(const std::uint64_t bits, visit_dtype(*dtype, [&]<class T>() -> Result<std::uint64_t> {
                          MILLRACE_TRY_ASSIGN(const T value, read_number<T>(text));
                          return Scalar::of(value).bits;
                        }));
    const auto* const bytes = reinterpret_cast<const std::byte*>(&bits);
    memory.bytes.insert(memory.bytes.end(), bytes, bytes + size_bytes(*dtype));
    text.take(",");
  }
  return memory;
}

Result<LaneRun> read_run(TextReader& text) {
  LaneRun run;
  bool is_expected = false;
  while (!text.at_end()) {
    if (text.take("->")) is_expected = true;
    if (is_expected && text.take_word("returns")) {
      const std::size_t begin = text.position();
      if (text.take_name().starts_with("arg")) {
        text.move_to(begin);
        MILLRACE_TRY_ASSIGN(run.returned_pointer, read_argument(text));
        if (!text.take("+")) return text.unexpected("expected '+' and bytes");
      } else {
        text.move_to(begin);
      }
      MILLRACE_TRY_ASSIGN(run.returned, read_number<std::int64_t>(text));
    } else {
      MILLRACE_TRY_ASSIGN(const std::size_t argument, read_argument(text));
      if (!text.take("=")) return text.unexpected("expected '='");
      const std::size_t begin = text.position();
      const bool is_memory = parse_dtype(text.take_name()).has_value();
      text.move_to(begin);
      if (is_memory) {
        MILLRACE_TRY_ASSIGN((is_expected ? run.expected : run.given)[argument], read_list(text));
      } else if (!is_expected) {
        MILLRACE_TRY_ASSIGN(run.integers[argument], read_number<std::int64_t>(text));
      } else {
        return text.error(begin, "expected elements as 'i32[1, 2]'");
      }
    }
    text.take(",");
  }
  if (!is_expected) return text.unexpected("expected '->' and what the run leaves");
  return run;
}

/// "i32[1, 2, 3]"
std::string text_of(DType dtype, const std::byte* bytes, std::size_t size) {
  std::string text;
  for (std::size_t at = 0; at < size; at += size_bytes(dtype)) {
    visit_dtype(dtype, [&]<class T>() {
      T value;
      std::memcpy(&value, bytes + at, sizeof(value));
      text += fmt::format("{}{}", text.empty() ? "" : ", ", number_text(value));
    });
  }
  return fmt::format("{}[{}]", to_text(dtype), text);
}

/// The memory of one run.
class LaneRunMemory {
 public:
  explicit LaneRunMemory(const LaneRun& run) : run_(run), arguments_(run.integers) {
    for (const auto* lists : {&run.given, &run.expected}) {
      for (const auto& [argument, list] : *lists) {
        std::unique_ptr<Block[]>& blocks = blocks_[argument];
        if (blocks == nullptr) {
          const std::size_t longest = std::max(size_of(run.given, argument), size_of(run.expected, argument));
          blocks = std::make_unique<Block[]>(longest / sizeof(Block) + 1 + kSpareBytes / sizeof(Block));
        }
        if (lists == &run.given) std::ranges::copy(list.bytes, blocks[0].bytes);
        arguments_[argument] = reinterpret_cast<std::int64_t>(blocks.get());
      }
    }
  }
  const Arguments& arguments() const { return arguments_; }

  std::string problem(std::int64_t returned) const {
    for (const auto& [argument, list] : run_.expected) {
      const std::byte* const found = blocks_.at(argument)[0].bytes;
      if (std::ranges::equal(list.bytes, std::span(found, list.bytes.size()))) continue;
      return fmt::format("arg{} = {}, expected {}", argument, text_of(list.dtype, found, list.bytes.size()),
                         text_of(list.dtype, list.bytes.data(), list.bytes.size()));
    }
    if (!run_.returned) return "";
    const std::int64_t found = returned - (run_.returned_pointer ? arguments_[*run_.returned_pointer] : 0);
    const std::string from = run_.returned_pointer ? fmt::format("arg{}+", *run_.returned_pointer) : "";
    return found == *run_.returned ? "" : fmt::format("returns {0}{1}, expected {0}{2}", from, found, *run_.returned);
  }

 private:
  struct alignas(64) Block {
    std::byte bytes[64];
  };
  static std::size_t size_of(const std::map<std::size_t, LaneList>& lists, std::size_t argument) {
    const auto found = lists.find(argument);
    return found == lists.end() ? 0 : found->second.bytes.size();
  }

  const LaneRun& run_;
  Arguments arguments_;
  std::map<std::size_t, std::unique_ptr<Block[]>> blocks_;
};

/// Whether this host has the function's vectors, and the features of its ops.
bool can_execute(const LaneFunction& function) {
  const IsaLevel level = function.num_lanes * function.lane_bits == 512 ? IsaLevel::kAvx512 : IsaLevel::kAvx2;
  const CpuFeatures features = host_cpu_features();
  const bool counts = std::ranges::any_of(
      function.instructions, [](const LaneInstruction& i) { return has_trait(i.op, lane_table::kNeedsVpopcnt); });
  return std::ranges::count(host_isa_levels(), level) > 0 && (function.lane_bits > 8 || features.vbmi2) &&
         (!counts || features.vpopcntdq);
}

std::int64_t run_code(const LaneFunction& function, const Arguments& a) {
  using Entry = MappedMicrokernel<std::int64_t(std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t,
                                               std::int64_t, std::int64_t)>;
  struct alignas(4096) Buffer {
    std::array<std::byte, 64 << 10> bytes;
  };
  const auto buffer = std::make_unique<Buffer>();
  LaneAssembler assembler(buffer->bytes);
  emit_lanes(assembler, function);
  assembler.finish();
  const std::size_t size = assembler.getSize();
  const MappedCode code = MappedCode::map(std::span<const std::byte>(buffer->bytes).first(size), size).value();
  return Microkernel<Entry>{0}.at(code.data())(a[0], a[1], a[2], a[3], a[4], a[5], a[6]);
}

}  // namespace

std::string lane_run_problem(const LaneFunction& function, TextReader& text) {
  const Result<LaneRun> run = read_run(text);
  if (!run.ok()) return run.status().message();
  const LaneRunMemory evaluated(*run);
  std::string problem = evaluated.problem(evaluate_lanes(function, evaluated.arguments()));
  if (!problem.empty()) return "evaluated: " + problem;
  if (!can_execute(function)) return "";
  const LaneRunMemory executed(*run);
  problem = executed.problem(run_code(function, executed.arguments()));
  return problem.empty() ? "" : "executed: " + problem;
}

}  // namespace millrace::test
