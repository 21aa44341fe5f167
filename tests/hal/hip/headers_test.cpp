// SPDX-License-Identifier: Apache-2.0
// api.h and functions.inc agree with HIP's own headers. Compiled if libamdhip64-dev (HIP 5.2) is installed.
#define __HIP_PLATFORM_AMD__
#include <cstddef>
#include <hip/hip_runtime_api.h>

#include <doctest/doctest.h>

#include "hal/hip/api.h"

// The rows once more, in HIP's own types. The compiler takes a second declaration of a C function only if it is equal.
using Error = hipError_t;
using Attribute = hipDeviceAttribute_t;
using CopyKind = hipMemcpyKind;
using PoolAttribute = hipMemPoolAttr;
using PointerAttributes = hipPointerAttribute_t;
using MemoryPoolProperties = hipMemPoolProps;
using Properties = hipDeviceProp_t;
using DevicePointer = hipDeviceptr_t;
using Stream = hipStream_t;
using Event = hipEvent_t;
using Module = hipModule_t;
using Function = hipFunction_t;
using MemoryPool = hipMemPool_t;
extern "C" {
#define MILLRACE_HIP(need, result, name, parameters) result name parameters;
#include "hal/hip/functions.inc"
#undef MILLRACE_HIP
}

namespace millrace {
namespace {

template <class Ours, class Theirs>
constexpr bool are_equal(Ours ours, Theirs theirs) {
  return static_cast<long long>(ours) == static_cast<long long>(theirs);
}

using hip::Error, hip::Attribute, hip::CopyKind, hip::PoolAttribute;

static_assert(are_equal(Error::kSuccess, hipSuccess));
static_assert(are_equal(Error::kInvalidValue, hipErrorInvalidValue));
static_assert(are_equal(Error::kOutOfMemory, hipErrorOutOfMemory));
static_assert(are_equal(Error::kNotInitialized, hipErrorNotInitialized));
static_assert(are_equal(Error::kDeinitialized, hipErrorDeinitialized));
static_assert(are_equal(Error::kInvalidConfiguration, hipErrorInvalidConfiguration));
static_assert(are_equal(Error::kInvalidDevicePointer, hipErrorInvalidDevicePointer));
static_assert(are_equal(Error::kInsufficientDriver, hipErrorInsufficientDriver));
static_assert(are_equal(Error::kPriorLaunchFailure, hipErrorPriorLaunchFailure));
static_assert(are_equal(Error::kInvalidDeviceFunction, hipErrorInvalidDeviceFunction));
static_assert(are_equal(Error::kNoDevice, hipErrorNoDevice));
static_assert(are_equal(Error::kInvalidDevice, hipErrorInvalidDevice));
static_assert(are_equal(Error::kInvalidImage, hipErrorInvalidImage));
static_assert(are_equal(Error::kInvalidContext, hipErrorInvalidContext));
static_assert(are_equal(Error::kNoBinaryForGpu, hipErrorNoBinaryForGpu));
static_assert(are_equal(Error::kEccNotCorrectable, hipErrorECCNotCorrectable));
static_assert(are_equal(Error::kInvalidKernelFile, hipErrorInvalidKernelFile));
static_assert(are_equal(Error::kSharedObjectInitFailed, hipErrorSharedObjectInitFailed));
static_assert(are_equal(Error::kOperatingSystem, hipErrorOperatingSystem));
static_assert(are_equal(Error::kInvalidHandle, hipErrorInvalidHandle));
static_assert(are_equal(Error::kIllegalState, hipErrorIllegalState));
static_assert(are_equal(Error::kNotFound, hipErrorNotFound));
static_assert(are_equal(Error::kNotReady, hipErrorNotReady));
static_assert(are_equal(Error::kIllegalAddress, hipErrorIllegalAddress));
static_assert(are_equal(Error::kLaunchOutOfResources, hipErrorLaunchOutOfResources));
static_assert(are_equal(Error::kLaunchTimeOut, hipErrorLaunchTimeOut));
static_assert(are_equal(Error::kContextIsDestroyed, hipErrorContextIsDestroyed));
static_assert(are_equal(Error::kAssert, hipErrorAssert));
static_assert(are_equal(Error::kHostMemoryAlreadyRegistered, hipErrorHostMemoryAlreadyRegistered));
static_assert(are_equal(Error::kHostMemoryNotRegistered, hipErrorHostMemoryNotRegistered));
static_assert(are_equal(Error::kLaunchFailure, hipErrorLaunchFailure));
static_assert(are_equal(Error::kNotSupported, hipErrorNotSupported));
static_assert(are_equal(Error::kUnknown, hipErrorUnknown));
static_assert(are_equal(Error::kRuntimeMemory, hipErrorRuntimeMemory));
static_assert(are_equal(Error::kRuntimeOther, hipErrorRuntimeOther));

static_assert(are_equal(Attribute::kMaxGridDimX, hipDeviceAttributeMaxGridDimX));
static_assert(are_equal(Attribute::kMemoryPoolsSupported, hipDeviceAttributeMemoryPoolsSupported));
static_assert(are_equal(CopyKind::kHostToDevice, hipMemcpyHostToDevice));
static_assert(are_equal(CopyKind::kDeviceToHost, hipMemcpyDeviceToHost));
static_assert(are_equal(CopyKind::kDeviceToDevice, hipMemcpyDeviceToDevice));
static_assert(are_equal(PoolAttribute::kReleaseThreshold, hipMemPoolAttrReleaseThreshold));
static_assert(are_equal(hip::kStreamNonBlocking, hipStreamNonBlocking));
static_assert(are_equal(hip::kEventDefault, hipEventDefault));
static_assert(are_equal(hip::kEventDisableTiming, hipEventDisableTiming));
static_assert(are_equal(hip::kHostMallocDefault, hipHostMallocDefault));
static_assert(are_equal(hip::kHostRegisterDefault, hipHostRegisterDefault));
static_assert(are_equal(hip::kMemoryAllocationPinned, hipMemAllocationTypePinned));
static_assert(are_equal(hip::kMemoryLocationDevice, hipMemLocationTypeDevice));

using OurAttributes = hip::PointerAttributes;
static_assert(sizeof(OurAttributes) == sizeof(hipPointerAttribute_t));
static_assert(offsetof(OurAttributes, type) == offsetof(hipPointerAttribute_t, memoryType));
static_assert(offsetof(OurAttributes, device) == offsetof(hipPointerAttribute_t, device));
static_assert(offsetof(OurAttributes, device_pointer) == offsetof(hipPointerAttribute_t, devicePointer));
static_assert(offsetof(OurAttributes, host_pointer) == offsetof(hipPointerAttribute_t, hostPointer));
static_assert(offsetof(OurAttributes, is_managed) == offsetof(hipPointerAttribute_t, isManaged));
static_assert(offsetof(OurAttributes, allocation_flags) == offsetof(hipPointerAttribute_t, allocationFlags));

using OurPool = hip::MemoryPoolProperties;
static_assert(sizeof(OurPool) == sizeof(hipMemPoolProps));
static_assert(offsetof(OurPool, allocation_type) == offsetof(hipMemPoolProps, allocType));
static_assert(offsetof(OurPool, handle_types) == offsetof(hipMemPoolProps, handleTypes));
static_assert(offsetof(OurPool, location_type) == offsetof(hipMemPoolProps, location.type));
static_assert(offsetof(OurPool, location_id) == offsetof(hipMemPoolProps, location.id));
static_assert(offsetof(OurPool, security_attributes) == offsetof(hipMemPoolProps, win32SecurityAttributes));
static_assert(offsetof(OurPool, reserved) == offsetof(hipMemPoolProps, reserved));

static_assert(hip::kProperties5.size_bytes == sizeof(hipDeviceProp_t));
static_assert(hip::kProperties5.architecture_offset == offsetof(hipDeviceProp_t, gcnArchName));
static_assert(hip::kPropertiesNameOffset == offsetof(hipDeviceProp_t, name));
static_assert(hip::kPropertiesTextBytes == sizeof(hipDeviceProp_t::gcnArchName));
static_assert(hip::kPropertiesTextBytes == sizeof(hipDeviceProp_t::name));

}  // namespace

TEST_CASE("hip: our declarations equal those of the installed headers") {
  // The compiler has checked the rest.
  CHECK(HIP_VERSION_MAJOR >= 5);
}

}  // namespace millrace
