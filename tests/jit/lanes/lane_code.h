// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include <doctest/doctest.h>

#include "hal/cpu/code_loader.h"
#include "jit/lanes/microkernel_sink.h"
#include "jit/xbyak/lane_assembler.h"

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

/// Keeps the lanes of microkernels.
class KeptLanes {
 public:
  MicrokernelSink sink(IsaLevel isa) {
    return {isa, [this](const LaneFunction& function) {
              functions_.push_back(function);
              return std::ssize(functions_);  // 0 stays for what is absent
            }};
  }
  template <class Function>
  const LaneFunction& operator[](Microkernel<Function> microkernel) const {
    REQUIRE(microkernel.offset > 0);
    return functions_[static_cast<std::size_t>(microkernel.offset) - 1];
  }

 private:
  std::vector<LaneFunction> functions_;
};

/// Maps the code of microkernels. Offsets are addresses: they count from a null entry.
class MappedLanes {
 public:
  MicrokernelSink sink(IsaLevel isa, const CoreTuning& tuning = host_tuning()) {
    return {isa, [this, tuning](const LaneFunction& function) {
              return reinterpret_cast<std::int64_t>(codes_.emplace_back(function, tuning).data());
            }};
  }

 private:
  std::vector<LaneCode> codes_;
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
