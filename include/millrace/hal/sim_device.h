// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "millrace/hal/device.h"

namespace millrace {

/// The work that the kernel of one dispatch did, summed over its threads. Bytes are those that threads request, before
/// caches and coalescing.
struct SimCounts {
  std::uint64_t num_groups = 0;
  std::uint64_t lane_instructions = 0;  // see MemoryObserver::end_group
  std::uint64_t buffer_bytes_read = 0;  // an atomic counts as a read and a write
  std::uint64_t buffer_bytes_written = 0;
  std::uint64_t workgroup_bytes_read = 0;
  std::uint64_t workgroup_bytes_written = 0;
  /// Extra cycles of instructions on workgroup memory, compared with accesses spread evenly over the banks. 32 banks of
  /// 4 bytes each serve one word per cycle to the threads of a subgroup. Threads that load or store the same word share
  /// it; atomics on one word run one after another.
  std::uint64_t bank_conflicts = 0;
  std::uint64_t barriers = 0;  // once each time a workgroup reaches one
  SimCounts& operator+=(const SimCounts&);
  friend bool operator==(const SimCounts&, const SimCounts&) = default;
};

/// One count per line: "lane instructions      4096".
std::string to_text(const SimCounts&);

struct SimDispatch {
  std::string kernel;
  SimCounts counts;
  std::string label = {};  // DispatchCommand::label
};

struct SimDeviceOptions {
  /// 0 runs workgroups and atomics in order; any other value shuffles the order, differently for each dispatch.
  std::uint64_t order_seed = 0;
  /// A dispatch that executes more than this fails.
  std::uint64_t max_lane_instructions = UINT64_MAX;
};

/// A simulated GPU in the host's memory. It interprets kernels and checks each access against shadow memory. These
/// mistakes of a kernel end the submission with kInternal, and the message names the kernel, the line of its text, the
/// threads and the place: leaving a buffer or slot, reading workgroup or private memory that was not written, a race, a
/// barrier or subgroup instruction that not all threads reach, and more threads or memory than the target has.
class SimDevice : public Device {
 public:
  /// What each dispatch of the last submission did, in order. A failed dispatch is left out. If submissions run
  /// concurrently, their dispatches are mixed.
  virtual std::vector<SimDispatch> dispatches() const = 0;

 protected:
  using Device::Device;
};

/// Fails for a target that is not simulated.
Result<std::shared_ptr<SimDevice>> create_sim_device(const TargetSpec&, const SimDeviceOptions& = {});
/// Opens a spec of sim_driver().
Result<std::shared_ptr<SimDevice>> open_sim_device(const DeviceSpec&);

}  // namespace millrace
