// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "millrace/graph/signature.h"
#include "millrace/hal/device.h"

namespace millrace {

/// Copies of caller memory on a device that does not address it: inputs are uploaded before a run, and outputs
/// downloaded after it. Arguments that are buffers of the device stay where they are.
class Staging {
 public:
  static Result<std::unique_ptr<Staging>> create(Device&, std::span<const Argument> inputs,
                                                 std::span<const Argument> outputs);

  /// Replaces caller memory among `bindings` (inputs, then outputs) by buffers of the device, and keeps what it was for
  /// the next upload and download. Buffers that grow leave their old ones in `retired`: earlier runs may still use
  /// them.
  Status replace(std::span<BufferBinding> bindings, std::vector<std::shared_ptr<Buffer>>& retired);

  bool has_uploads() const { return inputs_.has_work; }
  bool has_downloads() const { return outputs_.has_work; }
  /// `when` says what to wait for, to signal and to stop for.
  Status submit_uploads(const Submission& when) { return inputs_.submit(device_, when); }
  Status submit_downloads(const Submission& when) { return outputs_.submit(device_, when); }

 private:
  /// The inputs or the outputs, and the command list that moves them. Each argument has a binding of the host, one of
  /// the device, and a size, which is 0 if the argument is not moved.
  struct Side {
    Status record(Device&, std::span<const Argument>, bool is_upload);
    Status replace(Device&, std::span<BufferBinding>, std::vector<std::shared_ptr<Buffer>>& retired);
    Status submit(Device&, Submission when) const;

    std::shared_ptr<Recording> recording;
    std::vector<std::shared_ptr<Buffer>> buffers;  // per argument: as large as the largest so far
    std::vector<BufferBinding> bindings;           // host, device, host, device, ...
    std::vector<std::int64_t> sizes;               // per argument, then the 0 that offsets are
    bool has_work = false;
  };

  explicit Staging(Device& device) : device_(device) {}

  Device& device_;
  Side inputs_, outputs_;
};

}  // namespace millrace
