// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

// The part of HIP's C interface that this driver uses, declared here, so that building needs no ROCm. Values and
// layouts follow HIP 5 to 7; a test compares them with the headers of an installed HIP.

namespace millrace::hip {

/// hipError_t. There are more values than these; hipGetErrorName gives their names.
enum class Error : int {
  kSuccess = 0,
  kInvalidValue = 1,
  kOutOfMemory = 2,
  kNotInitialized = 3,
  kDeinitialized = 4,
  kInvalidConfiguration = 9,
  kInvalidDevicePointer = 17,
  kInsufficientDriver = 35,
  kPriorLaunchFailure = 53,
  kInvalidDeviceFunction = 98,
  kNoDevice = 100,
  kInvalidDevice = 101,
  kInvalidImage = 200,
  kInvalidContext = 201,
  kNoBinaryForGpu = 209,
  kEccNotCorrectable = 214,
  kInvalidKernelFile = 218,
  kSharedObjectInitFailed = 303,
  kOperatingSystem = 304,
  kInvalidHandle = 400,
  kIllegalState = 401,
  kNotFound = 500,
  kNotReady = 600,
  kIllegalAddress = 700,
  kLaunchOutOfResources = 701,
  kLaunchTimeOut = 702,
  kContextIsDestroyed = 709,
  kAssert = 710,
  kHostMemoryAlreadyRegistered = 712,
  kHostMemoryNotRegistered = 713,
  kLaunchFailure = 719,
  kNotSupported = 801,
  kUnknown = 999,
  kRuntimeMemory = 1052,
  kRuntimeOther = 1053,
};

/// hipDeviceAttribute_t.
enum class Attribute : int {
  kMaxGridDimX = 29,  // blocks
  kMemoryPoolsSupported = 88,
};

/// hipMemcpyKind.
enum class CopyKind : int { kHostToDevice = 1, kDeviceToHost = 2, kDeviceToDevice = 3 };

/// hipMemPoolAttr.
enum class PoolAttribute : int { kReleaseThreshold = 4 };  // its value is a std::uint64_t

inline constexpr unsigned kStreamNonBlocking = 1;    // hipStreamNonBlocking
inline constexpr unsigned kEventDefault = 0;         // hipEventDefault
inline constexpr unsigned kEventDisableTiming = 2;   // hipEventDisableTiming
inline constexpr unsigned kHostMallocDefault = 0;    // hipHostMallocDefault
inline constexpr unsigned kHostRegisterDefault = 0;  // hipHostRegisterDefault
inline constexpr int kMemoryAllocationPinned = 1;    // hipMemAllocationTypePinned
inline constexpr int kMemoryLocationDevice = 1;      // hipMemLocationTypeDevice

using DevicePointer = void*;
using Stream = struct OpaqueStream*;
using Event = struct OpaqueEvent*;
using Module = struct OpaqueModule*;
using Function = struct OpaqueFunction*;
using MemoryPool = struct OpaqueMemoryPool*;

/// hipPointerAttribute_t. The values of `type` differ between HIP 5 and 6, so it is not read.
struct PointerAttributes {
  int type;
  int device;
  void* device_pointer;
  void* host_pointer;  // null for memory that the host cannot address, and for memory that HIP does not know
  int is_managed;
  unsigned allocation_flags;
};

/// hipMemPoolProps. From HIP 6 on, the first bytes of `reserved` are a size limit; 0 means none.
struct MemoryPoolProperties {
  int allocation_type;
  int handle_types;  // 0: none
  int location_type;
  int location_id;  // the device's ordinal
  void* security_attributes;
  unsigned char reserved[64];
};

/// hipDeviceProp_t has two layouts, so its fields are read by their offsets.
using Properties = void;
struct PropertiesLayout {
  std::size_t size_bytes;
  std::size_t architecture_offset;  // gcnArchName, 256 characters: "gfx90a:sramecc+:xnack-"
};
/// The layout that hipGetDeviceProperties fills, up to HIP 5.
inline constexpr PropertiesLayout kProperties5{792, 396};
/// The layout that hipGetDevicePropertiesR0600 fills, from HIP 6 on.
inline constexpr PropertiesLayout kProperties6{1472, 1160};
/// The device's name, at the start of both layouts: 256 characters.
inline constexpr std::size_t kPropertiesNameOffset = 0;
inline constexpr std::size_t kPropertiesTextBytes = 256;
/// Room for either layout, and for future ones.
inline constexpr std::size_t kPropertiesRoomBytes = 16 * 1024;

}  // namespace millrace::hip
