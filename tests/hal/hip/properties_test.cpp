// SPDX-License-Identifier: Apache-2.0
// The layout of the properties that HIP 6 and later fill, whose headers need not be installed: hipDeviceProp_tR0600.
// headers_test.cpp compares the older layout with the headers themselves.
#include <cstddef>

#include "hal/hip/api.h"

namespace millrace {
namespace {

/// Its fields in their order; neighbours of one type are an array named after the first of them.
struct Properties6 {
  char name[256];
  char uuid[16];
  char luid[8];
  unsigned luid_device_node_mask;
  std::size_t total_global_mem[2];
  int regs_per_block[2];
  std::size_t mem_pitch;
  int max_threads_per_block[1 + 3 + 3 + 1];  // up to clockRate
  std::size_t total_const_mem;
  int major[2];
  std::size_t texture_alignment[2];
  int device_overlap[6];
  int max_texture_1d[3 + 2 + 2 + 3 + 2 + 3 + 3 + 1 + 2 + 3 + 2];
  int max_surface_1d[1 + 2 + 3 + 2 + 3 + 1 + 2];
  std::size_t surface_alignment;
  int concurrent_kernels[16];  // up to localL1CacheSupported
  std::size_t shared_mem_per_multiprocessor;
  int regs_per_multiprocessor[12];  // up to cooperativeMultiDeviceLaunch
  std::size_t shared_mem_per_block_optin;
  int pageable_memory_access_uses_host_page_tables[4];
  std::size_t reserved_shared_mem_per_block;
  int host_register_supported[13];  // up to unifiedFunctionPointers; two of them are unsigned
  int reserved[63];
  int hip_reserved[32];
  char gcn_arch_name[256];
  std::size_t max_shared_memory_per_multiprocessor;
  int clock_instruction_rate;
  unsigned arch;  // one bit a feature
  unsigned* hdp_mem_flush_cntl[2];
  int cooperative_multi_device_unmatched_func[6];  // up to asicRevision
};

static_assert(hip::kProperties6.size_bytes == sizeof(Properties6));
static_assert(hip::kProperties6.architecture_offset == offsetof(Properties6, gcn_arch_name));
static_assert(hip::kPropertiesNameOffset == offsetof(Properties6, name));
static_assert(hip::kPropertiesTextBytes == sizeof(Properties6::gcn_arch_name));
static_assert(hip::kPropertiesTextBytes == sizeof(Properties6::name));
static_assert(hip::kPropertiesRoomBytes >= hip::kProperties6.size_bytes);
// The figures that AMD's runtimes of 6.0 to 7.0 have.
static_assert(hip::kProperties6.size_bytes == 1472 && hip::kProperties6.architecture_offset == 1160);

}  // namespace
}  // namespace millrace
