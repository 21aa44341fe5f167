// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "millrace/graph/signature.h"
#include "millrace/hal/device.h"

namespace millrace {

/// Copies caller memory for a device that cannot address it: inputs are uploaded before a run, outputs downloaded after
/// it. Arguments that are buffers of the device stay where they are.
class Staging {
 public:
  static Result<std::unique_ptr<Staging>> create(Device&, std::span<const Argument> inputs,
                                                 std::span<const Argument> outputs);

  /// Replaces caller memory among `bindings` (inputs, then outputs) by buffers of the device, and remembers it for the
  /// next upload and download. A buffer that is too small is replaced; the old one goes to `retired`, because earlier
  /// runs may still use it.
  Status replace(std::span<BufferBinding> bindings, std::vector<std::shared_ptr<Buffer>>& retired);

  bool has_uploads() const { return inputs_.has_work; }
  bool has_downloads() const { return outputs_.has_work; }
  /// `when` holds the timepoints to wait for and to signal, and the stop token.
  Status submit_uploads(const Submission& when) { return inputs_.submit(device_, when); }
  Status submit_downloads(const Submission& when) { return outputs_.submit(device_, when); }

 private:
  /// The inputs or the outputs, and the command list that copies them. Each argument has a binding of the host, one of
  /// the device, and a size, which is 0 if it is not copied.
  struct Side {
    Status record(Device&, std::span<const Argument>, bool is_upload);
    Status replace(Device&, std::span<BufferBinding>, std::vector<std::shared_ptr<Buffer>>& retired);
    Status submit(Device&, Submission when) const;

    std::shared_ptr<Recording> recording;
    std::vector<std::shared_ptr<Buffer>> buffers;  // one per argument, as large as its largest binding so far
    std::vector<BufferBinding> bindings;           // host, device, host, device, ...
    std::vector<std::int64_t> sizes;               // one per argument, then the 0 that all offsets use
    bool has_work = false;
  };

  explicit Staging(Device& device) : device_(device) {}

  Device& device_;
  Side inputs_, outputs_;
};

}  // namespace millrace
