// SPDX-License-Identifier: Apache-2.0
#include "tests/hip_standin/runtime/error_names.h"

namespace millrace::hip_standin {

const char* name_of(hip::Error error) {
  switch (error) {
    case hip::Error::kSuccess:
      return "hipSuccess";
    case hip::Error::kInvalidValue:
      return "hipErrorInvalidValue";
    case hip::Error::kOutOfMemory:
      return "hipErrorOutOfMemory";
    case hip::Error::kNotInitialized:
      return "hipErrorNotInitialized";
    case hip::Error::kDeinitialized:
      return "hipErrorDeinitialized";
    case hip::Error::kInvalidConfiguration:
      return "hipErrorInvalidConfiguration";
    case hip::Error::kInvalidDevicePointer:
      return "hipErrorInvalidDevicePointer";
    case hip::Error::kInsufficientDriver:
      return "hipErrorInsufficientDriver";
    case hip::Error::kPriorLaunchFailure:
      return "hipErrorPriorLaunchFailure";
    case hip::Error::kInvalidDeviceFunction:
      return "hipErrorInvalidDeviceFunction";
    case hip::Error::kNoDevice:
      return "hipErrorNoDevice";
    case hip::Error::kInvalidDevice:
      return "hipErrorInvalidDevice";
    case hip::Error::kInvalidImage:
      return "hipErrorInvalidImage";
    case hip::Error::kInvalidContext:
      return "hipErrorInvalidContext";
    case hip::Error::kNoBinaryForGpu:
      return "hipErrorNoBinaryForGpu";
    case hip::Error::kEccNotCorrectable:
      return "hipErrorECCNotCorrectable";
    case hip::Error::kInvalidKernelFile:
      return "hipErrorInvalidKernelFile";
    case hip::Error::kSharedObjectInitFailed:
      return "hipErrorSharedObjectInitFailed";
    case hip::Error::kOperatingSystem:
      return "hipErrorOperatingSystem";
    case hip::Error::kInvalidHandle:
      return "hipErrorInvalidHandle";
    case hip::Error::kIllegalState:
      return "hipErrorIllegalState";
    case hip::Error::kNotFound:
      return "hipErrorNotFound";
    case hip::Error::kNotReady:
      return "hipErrorNotReady";
    case hip::Error::kIllegalAddress:
      return "hipErrorIllegalAddress";
    case hip::Error::kLaunchOutOfResources:
      return "hipErrorLaunchOutOfResources";
    case hip::Error::kLaunchTimeOut:
      return "hipErrorLaunchTimeOut";
    case hip::Error::kContextIsDestroyed:
      return "hipErrorContextIsDestroyed";
    case hip::Error::kAssert:
      return "hipErrorAssert";
    case hip::Error::kHostMemoryAlreadyRegistered:
      return "hipErrorHostMemoryAlreadyRegistered";
    case hip::Error::kHostMemoryNotRegistered:
      return "hipErrorHostMemoryNotRegistered";
    case hip::Error::kLaunchFailure:
      return "hipErrorLaunchFailure";
    case hip::Error::kNotSupported:
      return "hipErrorNotSupported";
    case hip::Error::kUnknown:
      return "hipErrorUnknown";
    case hip::Error::kRuntimeMemory:
      return "hipErrorRuntimeMemory";
    case hip::Error::kRuntimeOther:
      return "hipErrorRuntimeOther";
  }
  return "hipErrorUnknown";
}

}  // namespace millrace::hip_standin
