// SPDX-License-Identifier: Apache-2.0
// Converts HIP's errors to statuses, with advice; no other file does.
#include <fmt/format.h>

#include "hal/hip/runtime.h"

namespace millrace::hip {
namespace {

struct Meaning {
  Error error;
  StatusCode code;
  bool is_lost;
  std::string_view advice;
};

constexpr std::string_view kLostAdvice =
    "this process can no longer use the device: restart the process, and look for a fault in "
    "the system's log (dmesg)";

constexpr Meaning kMeanings[] = {
    {Error::kOutOfMemory, StatusCode::kResourceExhausted, false, "free memory, or ask for less"},
    {Error::kLaunchOutOfResources, StatusCode::kResourceExhausted, false, "free memory, or launch less work at once"},
    {Error::kRuntimeMemory, StatusCode::kResourceExhausted, false, "free memory, or ask for less"},
    {Error::kNoBinaryForGpu, StatusCode::kFailedPrecondition, false,
     "the code is for another architecture, or the runtime is too old for this one: install a newer HIP runtime"},
    {Error::kInvalidImage, StatusCode::kInvalidArgument, false,
     "the code object is damaged, or the runtime is too old for it: compile again, or install a newer HIP runtime"},
    {Error::kInvalidKernelFile, StatusCode::kInvalidArgument, false,
     "the code object is damaged, or the runtime is too old for it: compile again, or install a newer HIP runtime"},
    {Error::kSharedObjectInitFailed, StatusCode::kInvalidArgument, false,
     "the code object is damaged, or the runtime is too old for it: compile again, or install a newer HIP runtime"},
    {Error::kNotFound, StatusCode::kNotFound, false, "give the code object that the kernel was linked into"},
    {Error::kHostMemoryAlreadyRegistered, StatusCode::kFailedPrecondition, false,
     "part of the memory is already pinned: keep that pin, or drop it once the work that uses it has ended"},
    {Error::kInvalidDevice, StatusCode::kNotFound, false, "list the devices with millrace devices"},
    {Error::kNoDevice, StatusCode::kUnavailable, false, "check that the kernel driver amdgpu is loaded"},
    {Error::kInsufficientDriver, StatusCode::kUnavailable, false,
     "the kernel driver is too old for this runtime: update one of them"},
    {Error::kInvalidConfiguration, StatusCode::kInvalidArgument, false, "launch fewer or smaller workgroups"},
    {Error::kNotSupported, StatusCode::kUnimplemented, false, "install a newer HIP runtime"},
    {Error::kDeinitialized, StatusCode::kDeviceLost, true, "the process is ending: close its devices earlier"},
    {Error::kPriorLaunchFailure, StatusCode::kDeviceLost, true, kLostAdvice},
    {Error::kEccNotCorrectable, StatusCode::kDeviceLost, true, "the device's memory has a fault: reset the device"},
    {Error::kIllegalAddress, StatusCode::kDeviceLost, true, kLostAdvice},
    {Error::kLaunchTimeOut, StatusCode::kDeviceLost, true, kLostAdvice},
    {Error::kContextIsDestroyed, StatusCode::kDeviceLost, true,
     "the application reset the device: open it again afterwards"},
    {Error::kAssert, StatusCode::kDeviceLost, true, kLostAdvice},
    {Error::kLaunchFailure, StatusCode::kDeviceLost, true, kLostAdvice},
};

/// The meaning of all other errors.
constexpr Meaning kOther = {Error::kUnknown, StatusCode::kInternal, false,
                            "please report it, with the versions of runtime and kernel driver"};

const Meaning& meaning_of(Error error) {
  for (const Meaning& meaning : kMeanings) {
    if (meaning.error == error) return meaning;
  }
  return kOther;
}

}  // namespace

std::string name_of(const Runtime& runtime, Error error) {
  const char* name = runtime.hipGetErrorName(error);
  return name == nullptr ? fmt::format("hipError_t {}", static_cast<int>(error)) : name;
}

bool loses_device(Error error) { return meaning_of(error).is_lost; }

Status call_failed(const Runtime& runtime, std::string_view where, std::string_view entry, Error error) {
  const Meaning& meaning = meaning_of(error);
  return {meaning.code,
          fmt::format("{}: {} failed with {}; {}", where, entry, name_of(runtime, error), meaning.advice)};
}

Status to_status(const Runtime& runtime, std::string_view where, std::string_view entry, Error error) {
  return error == Error::kSuccess ? Status() : call_failed(runtime, where, entry, error);
}

}  // namespace millrace::hip
