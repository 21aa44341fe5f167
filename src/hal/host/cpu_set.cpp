// SPDX-License-Identifier: Apache-2.0
// Asks Linux which CPUs this process may use, and pins threads to them.
#include "hal/host/cpu_set.h"

#include <algorithm>
#include <fstream>
#include <pthread.h>
#include <sched.h>
#include <set>
#include <string>
#include <system_error>

#include <fmt/format.h>

#include "millrace/hal/executor.h"

namespace millrace {

std::vector<std::uint32_t> usable_cpus() {
  std::vector<std::uint32_t> cpus;
  cpu_set_t set;
  CPU_ZERO(&set);
  const bool is_known = sched_getaffinity(0, sizeof(set), &set) == 0;
  // If the set is unknown (perhaps a cpu_set_t cannot hold all of the system's CPUs), all CPUs count as usable.
  const std::uint32_t num_cpus = is_known ? CPU_SETSIZE : std::max(std::thread::hardware_concurrency(), 1u);
  for (std::uint32_t cpu = 0; cpu < num_cpus; ++cpu) {
    if (!is_known || CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
  }
  return cpus;
}

Status pin_thread(std::thread::native_handle_type thread, std::uint32_t cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  const int error = pthread_setaffinity_np(thread, sizeof(set), &set);
  if (error == 0) return {};
  return unavailable(fmt::format("thread pool: a thread cannot be pinned to CPU {}: {}; leave out pinned=on", cpu,
                                 std::generic_category().message(error)));
}

std::uint32_t num_physical_cores() {
  std::set<std::string> cores;  // identified by their lists of hardware threads
  std::uint32_t num_unknown = 0;
  for (const std::uint32_t cpu : usable_cpus()) {
    std::ifstream file(fmt::format("/sys/devices/system/cpu/cpu{}/topology/thread_siblings_list", cpu));
    std::string siblings;
    if (std::getline(file, siblings) && !siblings.empty()) {
      cores.insert(siblings);
    } else {
      ++num_unknown;
    }
  }
  return static_cast<std::uint32_t>(cores.size()) + num_unknown;
}

}  // namespace millrace
