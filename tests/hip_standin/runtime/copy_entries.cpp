// SPDX-License-Identifier: Apache-2.0
#include "tests/hip_standin/runtime/call.h"
#include "tests/hip_standin/runtime/places.h"
#include "tests/hip_standin/runtime/schedule.h"

namespace millrace::hip {
namespace {

using namespace hip_standin;  // whose place this is in

std::uint64_t number_of(const void* pointer) { return reinterpret_cast<std::uint64_t>(pointer); }

Error fill(Entry entry, Stream handle, const QueuedFill& fill) {
  return call(entry, [&](State& state, Call& call) {
    call.bytes = fill.num_bytes();
    StreamState* const stream = find_stream(state, call, handle);
    if (stream == nullptr) return Error::kInvalidHandle;
    MILLRACE_HIP_TRY(about_device(state, call, stream->device));
    if (fill.count == 0) return Error::kSuccess;
    if (fill.destination % fill.value_bytes != 0) return Error::kInvalidValue;
    const Place place = find_device(state, stream->device, fill.destination, fill.num_bytes(), When::kQueued);
    if (!place.is_ok()) return misuse(state, call, Error::kInvalidValue, place.mistake);
    enqueue(state, *stream, fill);
    return Error::kSuccess;
  });
}

}  // namespace

Error hipMemcpyAsync(void* destination, const void* source, std::size_t bytes, CopyKind kind, Stream handle) {
  return call(Entry::hipMemcpyAsync, [&](State& state, Call& call) {
    call.bytes = bytes;
    StreamState* const stream = find_stream(state, call, handle);
    if (stream == nullptr) return Error::kInvalidHandle;
    MILLRACE_HIP_TRY(about_device(state, call, stream->device));
    if (bytes == 0) return Error::kSuccess;
    const auto check = [&](bool is_host, const void* pointer) {
      return is_host ? find_host(state, number_of(pointer), bytes)
                     : hip_standin::find_device(state, stream->device, number_of(pointer), bytes, When::kQueued);
    };
    const Place to = check(kind == CopyKind::kDeviceToHost, destination);
    if (!to.is_ok()) return misuse(state, call, Error::kInvalidValue, "to " + to.mistake);
    const Place from = check(kind == CopyKind::kHostToDevice, source);
    if (!from.is_ok()) return misuse(state, call, Error::kInvalidValue, "from " + from.mistake);
    enqueue(state, *stream, QueuedCopy{number_of(destination), number_of(source), bytes, kind});
    return Error::kSuccess;
  });
}

Error hipMemsetD8Async(DevicePointer destination, unsigned char value, std::size_t count, Stream stream) {
  return fill(Entry::hipMemsetD8Async, stream, {number_of(destination), count, value, 1});
}

Error hipMemsetD16Async(DevicePointer destination, unsigned short value, std::size_t count, Stream stream) {
  return fill(Entry::hipMemsetD16Async, stream, {number_of(destination), count, value, 2});
}

Error hipMemsetD32Async(DevicePointer destination, int value, std::size_t count, Stream stream) {
  return fill(Entry::hipMemsetD32Async, stream, {number_of(destination), count, static_cast<std::uint32_t>(value), 4});
}

}  // namespace millrace::hip
