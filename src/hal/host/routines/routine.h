// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>

#include "millrace/base/check.h"
#include "millrace/base/status.h"
#include "millrace/hal/executable.h"

namespace millrace {

/// The compiled C++ around microkernels: the rows of microkernels.inc.
enum class Routine : std::uint8_t {
#define MILLRACE_ROUTINE(name, ...) name,
#include "hal/host/routines/microkernels.inc"
};

#define MILLRACE_ROUTINE(name, ...) std::remove_pointer_t<HostRoutine> name;
#include "hal/host/routines/microkernels.inc"

struct RoutineRow {
  std::string_view name;
  std::uint32_t abi_version;
  HostRoutine function;
};
inline constexpr RoutineRow kRoutines[] = {
#define MILLRACE_ROUTINE(name, abi_version, ...) {#name, abi_version, name},
#include "hal/host/routines/microkernels.inc"
};
constexpr const RoutineRow& row_of(Routine routine) { return kRoutines[static_cast<std::size_t>(routine)]; }

/// The routine with the name and the ABI version that an image states. Fails with kNotFound if this build has another
/// version or no such routine.
Result<HostRoutine> find_routine(const RoutineCall&);

/// A call whose parameters are a struct of i64.
template <class Parameters>
RoutineCall call_of(Routine routine, const Parameters& parameters) {
  static_assert(std::is_standard_layout_v<Parameters> && std::is_trivially_copyable_v<Parameters>);
  RoutineCall call = {std::string(row_of(routine).name), row_of(routine).abi_version, {}};
  call.parameters.resize(sizeof(parameters) / sizeof(std::int64_t));
  std::memcpy(call.parameters.data(), &parameters, sizeof(parameters));
  return call;
}

/// The struct that call_of() stored. It is not copied, because a copy would take longer than a small matrix product.
template <class Parameters>
const Parameters& parameters_of(std::span<const std::int64_t> parameters) {
  MILLRACE_CHECK(parameters.size_bytes() == sizeof(Parameters));
  return *reinterpret_cast<const Parameters*>(parameters.data());
}

}  // namespace millrace
