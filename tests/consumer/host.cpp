// SPDX-License-Identifier: Apache-2.0
// Opens the plugin that its argument names, and knows nothing of Millrace.
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>

int main(int, char** argv) {
  void* const plugin = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  void* const entry = plugin != nullptr ? dlsym(plugin, "plugin_main") : nullptr;
  if (entry != nullptr) return reinterpret_cast<int (*)()>(entry)();
  std::puts(dlerror());
  return EXIT_FAILURE;
}
