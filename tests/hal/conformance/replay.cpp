// SPDX-License-Identifier: Apache-2.0
#include "tests/hal/conformance/replay.h"

#include "millrace/hal/transfer.h"
#include "tests/hal/conformance/kernels.h"
#include "tests/hal/test_kernels.h"

namespace millrace {

Replay::Replay(Device& on, const ListBuilder& builder, const std::vector<ExecutableImage>& images,
               const SymbolValues& symbols)
    : device(on),
      recording(on.record(builder.list, images.empty() ? nullptr : on.load(images).value()).value()),
      sizes(builder.evaluate(symbols)) {}

Words::Words(Device& on, const std::vector<std::uint32_t>& values)
    : device(on), buffer(on.allocate(4 * values.size()).value()) {
  const Status status = upload(on, *buffer, std::as_bytes(std::span(values)));
  MILLRACE_CHECK(status.ok());
}

std::vector<std::uint32_t> Words::read() const {
  std::vector<std::uint32_t> values(buffer->size_bytes() / 4);
  const Status status = download(device, *buffer, std::as_writable_bytes(std::span(values)));
  MILLRACE_CHECK(status.ok());
  return values;
}

Replay append_digit(Device& device, std::uint32_t digit) {
  const ExecutableImage image = append_on(device.targets().front());
  ListBuilder b;
  const BindingIndex y = b.output("y", 4);
  b.dispatch(b.kernel(image.info), 1, {b.range(y, 0, 4)}, {digit});
  return {device, b, {image}};
}

Replay set_word(Device& device, std::uint32_t value) {
  ListBuilder b;
  const BindingIndex y = b.output("y", 4);
  b.fill(b.range(y, 0, 4), value, 4);
  return {device, b};
}

Replay nothing(Device& device) { return {device, ListBuilder()}; }

Replay failing(Device& device) {
  const ExecutableImage image = fail_index_on(device.targets().front());
  ListBuilder b;
  b.dispatch(b.kernel(image.info), 1, {});
  return {device, b, {image}};
}

Status wait_for(const Replay& replay, const std::vector<BufferBinding>& bindings) {
  const auto done = timeline(replay.device);
  const Status status = replay.submit(bindings, {}, {{done, 1}});
  return status.ok() ? done->wait(1) : status;
}

std::shared_ptr<Semaphore> timeline(Device& device, std::uint64_t initial_value) {
  return device.create_semaphore(initial_value).value();
}

}  // namespace millrace
