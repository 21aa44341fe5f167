// SPDX-License-Identifier: Apache-2.0
// Saves a session's variables to a safetensors file, and restores them.
#include "millrace/graph/variable_file.h"

#include <fmt/format.h>

#include "base/guard_allocations.h"
#include "millrace/base/printable.h"
#include "millrace/graph/safetensors.h"

namespace millrace {
namespace {

Status check_session(const Session& session, std::string_view who) {
  if (!session.is_moved_from()) return {};
  return failed_precondition(fmt::format("{}: the session was moved from; give the one that it was moved to", who));
}

}  // namespace

Status save_variables(Session& session, const std::string& path) {
  return guard_allocations([&]() -> Status {
    MILLRACE_TRY(check_session(session, "save variables"));
    std::map<std::string, Safetensors::Entry> entries;
    for (const auto& [name, type] : session.variables()) {
      auto bytes = std::make_shared<std::vector<std::byte>>(static_cast<std::size_t>(size_bytes(type).constant()));
      MILLRACE_TRY(session.get(name, bind(*bytes)));
      entries[name] = {type, *bytes, bytes};
    }
    return write_safetensors(path, entries);
  });
}

Status restore_variables(Session& session, const std::string& path) {
  return guard_allocations([&]() -> Status {
    MILLRACE_TRY(check_session(session, "restore variables"));
    MILLRACE_TRY_ASSIGN(const Safetensors file, Safetensors::read(path));
    std::map<std::string, Safetensors::Entry> entries;
    for (const auto& [name, type] : session.variables()) {
      MILLRACE_TRY_ASSIGN(entries[name], file.get(name));
      const TensorType& found = entries[name].type;
      if (found == type) continue;
      return invalid_argument(
          fmt::format("restore variables: '{}' in '{}' is {}, expected {}; give a file that was saved "
                      "by this program",
                      printable(name), printable(path), found.to_text(), type.to_text()));
    }
    for (const auto& [name, entry] : entries) MILLRACE_TRY(session.set(name, bind(entry.bytes)));
    return {};
  });
}

}  // namespace millrace
