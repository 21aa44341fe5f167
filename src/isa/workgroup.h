// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "isa/bank_conflicts.h"
#include "isa/global_memory.h"
#include "isa/local_memory.h"
#include "isa/program.h"
#include "isa/wave.h"

namespace millrace::isa {

/// The state of one dispatch.
struct Dispatch {
  const Kernel& kernel;
  const Launch& launch;
  IsaCounts counts = {};
  std::mt19937_64 random;  // for seeds other than 0
  GlobalMemory global;
  BankConflictMemo conflicts = {};
};

/// The state of the running workgroup. Workgroups run one after another.
struct Workgroup {
  Dispatch& dispatch;
  std::uint32_t number = 0;
  LocalMemory& local;
  std::vector<Wave> waves = {};
};

}  // namespace millrace::isa
