// SPDX-License-Identifier: Apache-2.0
#include "tests/hip_standin/runtime/modules.h"

#include <map>

#include "millrace/jit/code_object.h"

namespace millrace::hip_standin {

Result<std::shared_ptr<const isa::Program>> decode_program(const CodeObject& object) {
  static std::mutex mutex;
  static std::map<std::string, std::shared_ptr<const isa::Program>> programs;
  const std::lock_guard lock(mutex);
  std::shared_ptr<const isa::Program>& program =
      programs[std::string(reinterpret_cast<const char*>(object.bytes.data()), object.bytes.size())];
  if (program == nullptr) {
    MILLRACE_TRY_ASSIGN(MachineCode code, decode_code_object(object.bytes));
    MILLRACE_TRY_ASSIGN(program, isa::load_program(std::move(code)));
  }
  return program;
}

}  // namespace millrace::hip_standin
