// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace millrace {

/// A generated function that is mapped, ready to be called.
template <class Signature>
struct MappedMicrokernel;
template <class Result, class... Arguments>
struct MappedMicrokernel<Result(Arguments...)> {
  using Pointer = Result (*)(Arguments...);

  Pointer pointer = nullptr;
  Result operator()(Arguments... arguments) const { return pointer(arguments...); }
};

// Each microkernel has its own type, so that microkernels with equal signatures cannot be confused.
struct FoundInLanes;
struct GemmTile;
#define MILLRACE_MICROKERNEL(Name, Result, Arguments) \
  struct Name : MappedMicrokernel<Result Arguments> {};
#include "hal/host/routines/microkernels.inc"

/// The place of a microkernel in an image: one i64 of the parameters. An absent microkernel has offset 0, which is also
/// the offset of the image's first function.
template <class Function>
struct Microkernel {
  std::int64_t offset;  // from the image's entry

  /// The function, where `code` is the address of the entry. This is the only place that enters code by an offset.
  Function at(const void* code) const {
    const std::uintptr_t address = reinterpret_cast<std::uintptr_t>(code) + static_cast<std::uintptr_t>(offset);
    return {{reinterpret_cast<typename Function::Pointer>(address)}};
  }
};
static_assert(sizeof(Microkernel<SortInRegisters>) == sizeof(std::int64_t));
static_assert(std::is_trivially_copyable_v<Microkernel<SortInRegisters>> &&
              std::is_standard_layout_v<Microkernel<SortInRegisters>>);

template <class Function, std::size_t kCount>
using Microkernels = std::array<Microkernel<Function>, kCount>;

}  // namespace millrace
