// SPDX-License-Identifier: Apache-2.0
// Registers generated code with GDB through its JIT interface.
#include "hal/cpu/gdb_jit.h"

#include <algorithm>
#include <mutex>

#include "millrace/hal/host_object.h"

// GDB prescribes these names and layouts. The symbols are weak, because other libraries in the process may define them
// too.
extern "C" {
struct jit_code_entry {
  jit_code_entry* next_entry;
  jit_code_entry* prev_entry;
  const char* symfile_addr;
  std::uint64_t symfile_size;
};
struct jit_descriptor {
  std::uint32_t version;
  std::uint32_t action_flag;
  jit_code_entry* relevant_entry;
  jit_code_entry* first_entry;
};
__attribute__((weak, used)) jit_descriptor __jit_debug_descriptor = {1, 0, nullptr, nullptr};
/// GDB sets a breakpoint here.
__attribute__((weak, used, noinline)) void __jit_debug_register_code() { asm volatile("" : : : "memory"); }
}

namespace millrace {

struct GdbCodeEntry : jit_code_entry {};

namespace {

enum Action : std::uint32_t { kNoAction, kRegister, kUnregister };

std::mutex& list_mutex() {
  static std::mutex mutex;
  return mutex;
}

void tell(jit_code_entry* entry, Action action) {
  __jit_debug_descriptor.relevant_entry = entry;
  __jit_debug_descriptor.action_flag = action;
  __jit_debug_register_code();
}

}  // namespace

DebuggedCode::DebuggedCode(std::span<const CodePlace> places) : entry_(std::make_unique<GdbCodeEntry>()) {
  const auto address = [](const CodePlace& place) { return reinterpret_cast<std::uintptr_t>(place.begin); };
  std::uintptr_t begin = address(places.front()), end = begin;
  for (const CodePlace& place : places) {
    begin = std::min(begin, address(place));
    end = std::max(end, address(place) + place.size_bytes);
  }
  std::vector<ObjectFunction> functions;
  for (const CodePlace& place : places) functions.push_back({place.name, address(place) - begin, place.size_bytes});
  object_ = make_elf_object({.size_bytes = end - begin, .address = begin, .functions = functions});
  const std::lock_guard lock(list_mutex());
  *entry_ = {
      {__jit_debug_descriptor.first_entry, nullptr, reinterpret_cast<const char*>(object_.data()), object_.size()}};
  if (entry_->next_entry != nullptr) entry_->next_entry->prev_entry = entry_.get();
  __jit_debug_descriptor.first_entry = entry_.get();
  tell(entry_.get(), kRegister);
}

DebuggedCode::~DebuggedCode() {
  const std::lock_guard lock(list_mutex());
  if (entry_->prev_entry != nullptr) entry_->prev_entry->next_entry = entry_->next_entry;
  if (entry_->next_entry != nullptr) entry_->next_entry->prev_entry = entry_->prev_entry;
  if (__jit_debug_descriptor.first_entry == entry_.get()) __jit_debug_descriptor.first_entry = entry_->next_entry;
  tell(entry_.get(), kUnregister);
}

}  // namespace millrace
