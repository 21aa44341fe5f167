// SPDX-License-Identifier: Apache-2.0
// The context with everything that this build includes: the drivers, the generators and the kernel cache on disk.
#include "millrace/graph/context.h"
#include "millrace/hal/sim_device.h"
#include "millrace/jit/kernel_cache.h"
#include "millrace/jit/kernel_compiler.h"

namespace millrace {

std::shared_ptr<const Context> make_default_context(const ContextOptions& options) {
  auto context = std::make_shared<Context>();
  context->drivers = {cpu_driver(), hip_driver(), sim_driver()};
  context->generators = {make_xbyak_generator(), make_llvm_generator(options.llvm), make_interpreter_generator()};
  KernelCache::Options cache{.directory = options.cache_directory,
                             .read_only_directories = options.read_only_cache_directories,
                             .max_bytes = options.max_cache_bytes,
                             .requires_writes = options.requires_cache_writes};
  context->cache = std::make_shared<KernelCache>(std::move(cache));
  return context;
}

}  // namespace millrace
