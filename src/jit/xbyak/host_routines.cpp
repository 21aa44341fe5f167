// SPDX-License-Identifier: Apache-2.0
#include "jit/xbyak/host_routines.h"

#include <array>

#include "jit/xbyak/gemm_routine.h"

namespace millrace {
namespace {

struct HostRoutineRow {
  std::string_view name;
  HostRoutine routine;
};

/// Every routine that an image may name.
constexpr std::array<HostRoutineRow, 1> kHostRoutines = {{{kGemmRoutineName, gemm_f32}}};

}  // namespace

HostRoutine find_host_routine(std::string_view name) {
  for (const HostRoutineRow& row : kHostRoutines) {
    if (row.name == name) return row.routine;
  }
  return nullptr;
}

}  // namespace millrace
