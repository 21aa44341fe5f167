// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include <doctest/doctest.h>

#include "hal/cpu/code_loader.h"
#include "hal/host/routines/microkernel.h"
#include "jit/lanes/lane_function.h"
#include "jit/xbyak/emit_lanes.h"

namespace millrace {

/// A lane function as code in memory.
class LaneCode {
 public:
  using Entry = MappedMicrokernel<std::int64_t(std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t,
                                               std::int64_t)>;

  /// Fails the test where the function does not verify, or its text does not read back.
  explicit LaneCode(const LaneFunction& function, const CoreTuning& tuning = host_tuning()) {
    const std::string text = to_text(function);
    const Status verified = verify(function);
    INFO(text, verified.message());
    REQUIRE(verified.ok());
    REQUIRE(parse_lane_function(text, "function").value() == function);
    struct alignas(4096) Buffer {
      std::array<std::byte, 64 << 10> bytes;
    };
    const auto buffer = std::make_unique<Buffer>();
    LaneAssembler assembler(buffer->bytes, tuning);
    emit_lanes(assembler, function);
    assembler.finish();
    size_bytes_ = assembler.getSize();
    code_ = MappedCode::map(std::span<const std::byte>(buffer->bytes).first(size_bytes_), size_bytes_).value();
  }

  std::size_t size_bytes() const { return size_bytes_; }
  const std::byte* data() const { return code_.data(); }
  template <class Function>
  Function as() const {
    return Microkernel<Function>{0}.at(data());
  }
  std::int64_t run(const std::array<std::int64_t, kMaxLaneArguments>& a) const {
    return as<Entry>()(a[0], a[1], a[2], a[3], a[4], a[5]);
  }

 private:
  MappedCode code_;
  std::size_t size_bytes_ = 0;
};

/// The levels with lanes that this host executes.
inline std::vector<IsaLevel> host_lane_levels() {
  std::vector<IsaLevel> levels;
  for (const IsaLevel level : host_isa_levels()) {
    if (level != IsaLevel::kBaseline) levels.push_back(level);
  }
  return levels;
}

}  // namespace millrace
