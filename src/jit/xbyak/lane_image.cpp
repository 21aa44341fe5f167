// SPDX-License-Identifier: Apache-2.0
#include "jit/xbyak/lane_image.h"

#include <cassert>
#include <memory>

#include <fmt/format.h>

namespace millrace {
namespace {

constexpr std::size_t kMostCodeBytes = 128 << 10;

/// Page-aligned like a mapped image, because xbyak aligns addresses.
struct alignas(4096) CodeBuffer {
  std::array<std::byte, kMostCodeBytes> bytes;
};

}  // namespace

std::int64_t append_lanes(LaneAssembler& assembler, const LaneFunction& function) {
  // In sanitizers' builds alone: it takes a tenth of the time to compile a sort.
  assert(verify(function).ok());
  assembler.align(64);
  const auto offset = static_cast<std::int64_t>(assembler.getSize());
  emit_lanes(assembler, function);
  return offset;
}

Result<ExecutableImage> emit_lane_image(const std::function<RoutineCall(LaneAssembler&)>& emit) {
  ExecutableImage image;
  const std::unique_ptr<CodeBuffer> buffer(new CodeBuffer);  // uninitialised
  try {
    LaneAssembler assembler(buffer->bytes);
    image.routine = emit(assembler);
    assembler.finish();
    image.bytes = SharedBytes(std::as_bytes(std::span(buffer->bytes).first(assembler.getSize())));
  } catch (const Xbyak::Error& error) {
    return internal_error(fmt::format("xbyak: {}; please report the kernel", error.what()));
  }
  image.format = ImageFormat::kHostCode;
  image.generator = "xbyak";
  image.code_bytes = image.bytes.size();
  return image;
}

}  // namespace millrace
