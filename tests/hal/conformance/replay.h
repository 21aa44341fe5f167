// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "millrace/hal/device.h"
#include "tests/hal/list_builder.h"

// Submissions without a wait for their end, for the suite's cases about work in flight.

namespace millrace {

/// A list that a device has recorded, with the sizes of its replays.
struct Replay {
  Replay(Device&, const ListBuilder&, const std::vector<ExecutableImage>& images = {}, const SymbolValues& = {});

  Status submit(const std::vector<BufferBinding>& bindings, const std::vector<Timepoint>& wait = {},
                const std::vector<Timepoint>& signal = {}) const {
    return device.submit(*recording, {.bindings = bindings, .sizes = sizes, .wait = wait, .signal = signal});
  }

  Device& device;
  std::shared_ptr<Recording> recording;
  std::vector<std::int64_t> sizes;
};

/// Words in a buffer of the device.
struct Words {
  Words(Device&, const std::vector<std::uint32_t>& values);
  BufferBinding binding() const { return buffer->binding(); }
  /// The words now, while no submission uses them.
  std::vector<std::uint32_t> read() const;

  Device& device;
  std::shared_ptr<Buffer> buffer;
};

/// y[0] = y[0] * 10 + digit, on words: the result shows the order of submissions.
Replay append_digit(Device&, std::uint32_t digit);
/// y[0] = value, on words.
Replay set_word(Device&, std::uint32_t value);
/// Commands on nothing, for timelines alone.
Replay nothing(Device&);
/// Reports an index out of range.
Replay failing(Device&);

/// Submits, waits for the end and gives the submission's status.
Status wait_for(const Replay&, const std::vector<BufferBinding>& bindings);

/// A timeline that the device made.
std::shared_ptr<Semaphore> timeline(Device&, std::uint64_t initial_value = 0);

}  // namespace millrace
