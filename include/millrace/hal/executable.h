// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "millrace/base/ids.h"
#include "millrace/base/shared_bytes.h"
#include "millrace/base/status.h"
#include "millrace/hal/device_id.h"
#include "millrace/hal/host_kernel.h"

namespace millrace {

enum class KernelIndex : std::uint32_t {};  // index in one Executable

/// The interface of a compiled kernel. Dispatches are checked against it.
struct KernelInfo {
  std::string name = {};
  std::uint32_t num_buffers = 0;
  std::uint32_t num_sizes = 0;
  std::vector<bool> buffer_is_written = {};  // one per buffer
  std::uint64_t workgroup_bytes = 0;         // from the memory plan
  std::uint64_t private_bytes = 0;
  std::uint32_t workgroup_size = 1;  // threads
  friend bool operator==(const KernelInfo&, const KernelInfo&) = default;
};

enum class ImageFormat : std::uint8_t {
  kHostCode,     // position-independent machine code without undefined symbols
  kInterpreted,  // no machine code: `kernel` interprets it
  kGpuObject,    // a relocatable ELF object with one GPU kernel, `symbol`; link_images makes it loadable
  kGpuCode,      // a loadable code object, shared by a program's kernels; `symbol` names this one
};

/// A compiled C++ routine of the library that loops around an image's microkernel, such as "gemm_f32".
struct RoutineCall {
  std::string name = {};          // empty: the image's entry is a HostKernelEntry
  std::uint32_t abi_version = 0;  // version of the parameters and of the microkernel's arguments
  std::vector<std::int64_t> parameters = {};
  friend bool operator==(const RoutineCall&, const RoutineCall&) = default;
};

/// Code for one target, as generators make it and the cache stores it. Host code is one block: [0, code_bytes) is
/// mapped readable and executable; the rest, constants, is mapped readable.
struct ExecutableImage {
  ImageFormat format = ImageFormat::kHostCode;
  std::string target = {};     // TargetSpec::to_text()
  std::string generator = {};  // KernelCompiler::name()
  KernelInfo info = {};
  SharedBytes bytes = {};
  std::string symbol = {};         // the kernel's name in `bytes`, if it has one
  std::uint64_t code_bytes = 0;    // a multiple of 4096, or bytes.size()
  std::uint64_t entry_offset = 0;  // offset of the HostKernelEntry, or of the microkernel that `routine` calls
  RoutineCall routine = {};
  std::shared_ptr<const HostKernel> kernel = nullptr;  // kInterpreted only
};

/// A table of loaded kernels that one device can run.
class Executable {
 public:
  Executable(const Executable&) = delete;
  Executable& operator=(const Executable&) = delete;
  virtual ~Executable() = default;
  DeviceId device() const { return device_; }
  virtual std::size_t num_kernels() const = 0;
  virtual const KernelInfo& info(KernelIndex) const = 0;

 protected:
  explicit Executable(DeviceId device) : device_(device) {}

 private:
  DeviceId device_;
};

}  // namespace millrace
