// SPDX-License-Identifier: Apache-2.0
// Makes an image of a routine call and the microkernels that it names.
#include "jit/xbyak/lane_image.h"

#include <cassert>
#include <memory>

#include <fmt/format.h>

#include "jit/xbyak/lane_assembler.h"

namespace millrace {
namespace {

/// Page-aligned like a mapped image: xbyak aligns addresses in this buffer, so the same offsets are aligned in the
/// image.
struct alignas(4096) CodeBuffer {
  std::array<std::byte, kMaxImageBytes> bytes;
};

}  // namespace

Result<ExecutableImage> emit_image(const std::function<RoutineCall(std::span<std::byte>, std::size_t& num_bytes)>& emit,
                                   const Status& if_too_long) {
  ExecutableImage image;
  const std::unique_ptr<CodeBuffer> buffer(new CodeBuffer);  // uninitialised
  try {
    image.routine = emit(buffer->bytes, image.code_bytes);
  } catch (const Xbyak::Error& error) {
    if (static_cast<int>(error) == Xbyak::ERR_CODE_IS_TOO_BIG) return if_too_long;
    return internal_error(fmt::format("xbyak: {}; please report the kernel", error.what()));
  }
  image.bytes = SharedBytes(std::as_bytes(std::span(buffer->bytes).first(image.code_bytes)));
  image.format = ImageFormat::kHostCode;
  image.generator = "xbyak";
  return image;
}

Result<ExecutableImage> emit_lane_image(IsaLevel isa,
                                        const std::function<RoutineCall(const MicrokernelSink&)>& append) {
  const auto emit = [&](std::span<std::byte> buffer, std::size_t& num_bytes) {
    LaneAssembler assembler(buffer);
    RoutineCall call = append({isa, [&](const LaneFunction& function) {
                                 // Verified only in builds with assertions, because verification is a tenth of the
                                 // compile time of a sort.
                                 assert(verify(function).ok());
                                 assembler.align(64);
                                 const auto offset = static_cast<std::int64_t>(assembler.getSize());
                                 emit_lanes(assembler, function);
                                 return offset;
                               }});
    assembler.finish();
    num_bytes = assembler.getSize();
    return call;
  };
  return emit_image(emit, internal_error(fmt::format("microkernels of more than {} bytes", kMaxImageBytes)));
}

}  // namespace millrace
