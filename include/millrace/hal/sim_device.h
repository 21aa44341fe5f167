// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "millrace/hal/device.h"

namespace millrace {

/// What the kernel of one dispatch did, over all of its threads. Bytes are those that threads ask for: what caches and
/// the joining of neighbours save is not known here.
struct SimCounts {
  std::uint64_t num_groups = 0;
  std::uint64_t lane_instructions = 0;  // as MemoryObserver::end_group tells them
  std::uint64_t buffer_bytes_read = 0;  // an atomic reads and writes
  std::uint64_t buffer_bytes_written = 0;
  std::uint64_t workgroup_bytes_read = 0;
  std::uint64_t workgroup_bytes_written = 0;
  /// Cycles that instructions on workgroup memory take beyond those of a perfect spread. 32 banks of 4 bytes serve a
  /// word a cycle each to the threads of a subgroup; threads that load or store one word share it, atomics take turns.
  std::uint64_t bank_conflicts = 0;
  std::uint64_t barriers = 0;  // one each time that a workgroup is at one
  SimCounts& operator+=(const SimCounts&);
  friend bool operator==(const SimCounts&, const SimCounts&) = default;
};

/// A count a line: "lane instructions      4096".
std::string to_text(const SimCounts&);

struct SimDispatch {
  std::string kernel;
  SimCounts counts;
};

struct SimDeviceOptions {
  /// 0: workgroups run, and atomics happen, in order. Else in one that this number shuffles, another one each dispatch.
  std::uint64_t order_seed = 0;
  /// A dispatch that executes more fails.
  std::uint64_t max_lane_instructions = UINT64_MAX;
};

/// A GPU in the host's memory: runs interpreted kernels before the eyes of shadow memory. What a kernel may not do
/// (leave a buffer or slot, read workgroup or private memory that was not written, race, meet a barrier or a subgroup's
/// instruction divergently, need more than the target has) ends the submission with kInternal, and names the kernel,
/// the line of its text, threads and the place.
class SimDevice : public Device {
 public:
  /// The dispatches of the last submission that did not fail, in order. Submissions at one time mix theirs.
  virtual std::vector<SimDispatch> dispatches() const = 0;

 protected:
  using Device::Device;
};

/// Fails for a target that is not simulated.
Result<std::shared_ptr<SimDevice>> create_sim_device(const TargetSpec&, const SimDeviceOptions& = {});
/// Of sim_driver()'s specs.
Result<std::shared_ptr<SimDevice>> open_sim_device(const DeviceSpec&);

}  // namespace millrace
