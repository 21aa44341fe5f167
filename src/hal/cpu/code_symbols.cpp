// SPDX-License-Identifier: Apache-2.0
// Tells profilers and debuggers the names and addresses of generated kernels.
#include "hal/cpu/code_symbols.h"

#include <mutex>
#include <unistd.h>

#include <fmt/format.h>

#include "hal/cpu/gdb_jit.h"
#include "hal/cpu/jitdump.h"
#include "millrace/base/printable.h"

namespace millrace {
namespace {

std::mutex& writer_mutex() {
  static std::mutex mutex;
  return mutex;
}

/// Source: tools/perf/Documentation/jit-interface.txt in Linux.
Status append_to_perf_map(std::span<const CodePlace> places) {
  const std::string path = fmt::format("/tmp/perf-{}.map", getpid());
  std::string text;
  for (const CodePlace& place : places) {
    text += fmt::format("{:x} {:x} {}\n", reinterpret_cast<std::uintptr_t>(place.begin), place.size_bytes,
                        printable(place.name));
  }
  return append_private_file(path, std::as_bytes(std::span<const char>(text)));
}

}  // namespace

Result<CodeSymbols> parse_code_symbols(const DeviceSpec& spec, const DeviceSpec::Option& option) {
  CodeSymbols symbols;
  std::string_view rest = option.value;
  while (true) {
    const std::size_t plus = std::min(rest.find('+'), rest.size());
    const std::string_view word = rest.substr(0, plus);
    if (word == "perf") {
      symbols.perf_map = true;
    } else if (word == "jitdump") {
      symbols.jitdump = true;
    } else if (word == "gdb") {
      symbols.gdb = true;
    } else {
      return invalid_argument(
          fmt::format("device '{}': symbols is '{}', expected perf, jitdump or gdb, or several of "
                      "them joined with +",
                      spec.to_text(), option.value));
    }
    if (plus == rest.size()) return symbols;
    rest.remove_prefix(plus + 1);
  }
}

Result<std::shared_ptr<DebuggedCode>> announce_code(std::span<const CodePlace> places, const CodeSymbols& symbols) {
  if (!symbols.any() || places.empty()) return std::shared_ptr<DebuggedCode>();
  const std::lock_guard lock(writer_mutex());
  if (symbols.perf_map) MILLRACE_TRY(append_to_perf_map(places));
  if (symbols.jitdump) MILLRACE_TRY(append_to_jitdump(places));
  return symbols.gdb ? std::make_shared<DebuggedCode>(places) : std::shared_ptr<DebuggedCode>();
}

}  // namespace millrace
