// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "millrace/base/status.h"

namespace CLI {
class App;
}

namespace millrace::tool {

/// The action of a command once its arguments are read. A failure is printed, and the process exits with 1.
using Action = std::function<Status()>;

// Each command has a function here that adds its arguments, a source file named after it, and a row in main.cpp.
Action add_run(CLI::App&);
Action add_import(CLI::App&);
Action add_dump(CLI::App&);
Action add_explain(CLI::App&);
Action add_bench(CLI::App&);
Action add_cache(CLI::App&);
Action add_devices(CLI::App&);
Action add_check(CLI::App&);
Action add_ops(CLI::App&);
Action add_man(CLI::App&);

}  // namespace millrace::tool
