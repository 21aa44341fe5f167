// SPDX-License-Identifier: Apache-2.0
// Copies between host and device. HIP copies pageable memory only while its caller waits, so such memory goes through
// pinned blocks: small transfers as a whole, large ones in pieces through a ring of two.
#include <algorithm>
#include <cstring>

#include "hal/device_errors.h"
#include "hal/hip/issuer.h"

namespace millrace::hip {
namespace {

void* pointer(std::uintptr_t address) { return reinterpret_cast<void*>(address); }

CopyKind kind_of(const CopyStep& copy) {
  switch (copy.kind) {
    case CopyStep::Kind::kUpload:
      return CopyKind::kHostToDevice;
    case CopyStep::Kind::kDownload:
      return CopyKind::kDeviceToHost;
    case CopyStep::Kind::kOnDevice:
      break;
  }
  return CopyKind::kDeviceToDevice;
}

}  // namespace

Result<bool> Issuer::issue(Job& job, const CopyStep& copy, const Place& place, Stream stream) {
  const auto size_bytes = static_cast<std::size_t>(job.sizes[index_of(copy.length)]);
  if (size_bytes == 0) return true;
  const bool is_direct = !job.is_direct.empty() && job.is_direct[job.next_step];
  if (copy.kind == CopyStep::Kind::kOnDevice || is_direct) {
    const Error error =
        hip().hipMemcpyAsync(pointer(job.run->addresses[copy.destination]), pointer(job.run->addresses[copy.source]),
                             size_bytes, kind_of(copy), stream);
    if (is_direct && error == Error::kInvalidValue) {  // perhaps a hole in the memory that the application pinned
      MILLRACE_TRY_ASSIGN(std::shared_ptr<std::byte> block, channels_.pinned->allocate(size_bytes));
      job.kept_blocks.push_back(std::move(block));
      MILLRACE_TRY(stage(job, job.kept_blocks.back().get(), copy, place, stream));
      return true;
    }
    MILLRACE_TRY(check(context_, place, "hipMemcpyAsync", error));
    return true;
  }
  if (job.needs_ring) return pass_through_ring(job, copy, place, stream);
  std::byte* const block = job.staging.get() + job.staged_bytes;
  job.staged_bytes += size_bytes;
  MILLRACE_TRY(stage(job, block, copy, place, stream));
  return true;
}

/// Queues the whole copy through a pinned block.
Status Issuer::stage(Job& job, std::byte* block, const CopyStep& copy, const Place& place, Stream stream) {
  const auto size_bytes = static_cast<std::size_t>(job.sizes[index_of(copy.length)]);
  void* const source = pointer(job.run->addresses[copy.source]);
  void* const destination = pointer(job.run->addresses[copy.destination]);
  if (copy.kind == CopyStep::Kind::kUpload) {
    std::memcpy(block, source, size_bytes);
    return check(context_, place, "hipMemcpyAsync",
                 hip().hipMemcpyAsync(destination, block, size_bytes, CopyKind::kHostToDevice, stream));
  }
  job.downloads.push_back({block, static_cast<std::byte*>(destination), size_bytes});
  return check(context_, place, "hipMemcpyAsync",
               hip().hipMemcpyAsync(block, source, size_bytes, CopyKind::kDeviceToHost, stream));
}

Result<bool> Issuer::pass_through_ring(Job& job, const CopyStep& copy, const Place& place, Stream stream) {
  const auto size_bytes = static_cast<std::size_t>(job.sizes[index_of(copy.length)]);
  while (job.next_byte < size_bytes) {
    Slot& slot = ring_[next_slot_];
    MILLRACE_TRY_ASSIGN(const bool is_ready, is_free(slot, place));
    if (!is_ready) return false;
    // Checked once the slot is free, so that a stop requested while pieces are under way takes effect before the next
    // piece.
    if (job.stop.stop_requested()) return stopped_on_request("submit");
    MILLRACE_TRY(use(job, slot, copy, place, stream));
    next_slot_ = (next_slot_ + 1) % ring_.size();
  }
  // Downloaded bytes must be read before the job can end. Uploads may still be under way.
  for (Slot& slot : ring_) {
    if (slot.to == nullptr) continue;
    MILLRACE_TRY_ASSIGN(const bool is_ready, is_free(slot, place));
    if (!is_ready) return false;
  }
  job.next_byte = 0;
  return true;
}

/// Whether the slot's copy has ended. If so, a download's bytes have also been copied to their destination.
Result<bool> Issuer::is_free(Slot& slot, const Place& place) {
  if (!slot.is_busy) return true;
  const Error error = hip().hipEventQuery(slot.event.get());
  if (error == Error::kNotReady) return false;
  MILLRACE_TRY(check(context_, place, "hipEventQuery", error));
  if (slot.to != nullptr) std::memcpy(slot.to, slot.block.get(), slot.size_bytes);
  slot.to = nullptr;
  slot.is_busy = false;
  return true;
}

/// Gives the slot a block if it has none. A slot has no block at first. It also loses its block to the job if no event
/// marks the end of the copy: only the end of the job then shows that the block is free.
Status Issuer::fill_slot(Slot& slot) {
  if (slot.block != nullptr) return {};
  MILLRACE_TRY_ASSIGN(slot.event, channels_.events->take(EventPool::Kind::kOrder));
  MILLRACE_TRY_ASSIGN(slot.block, channels_.pinned->allocate(channels_.staging_bytes));
  return {};
}

/// Queues the next piece.
Status Issuer::use(Job& job, Slot& slot, const CopyStep& copy, const Place& place, Stream stream) {
  const auto size_bytes = static_cast<std::size_t>(job.sizes[index_of(copy.length)]);
  slot.size_bytes = std::min(size_bytes - job.next_byte, channels_.staging_bytes);
  MILLRACE_TRY(fill_slot(slot));
  auto* const source = static_cast<std::byte*>(pointer(job.run->addresses[copy.source])) + job.next_byte;
  auto* const destination = static_cast<std::byte*>(pointer(job.run->addresses[copy.destination])) + job.next_byte;
  Error error;
  if (copy.kind == CopyStep::Kind::kUpload) {
    std::memcpy(slot.block.get(), source, slot.size_bytes);
    error = hip().hipMemcpyAsync(destination, slot.block.get(), slot.size_bytes, CopyKind::kHostToDevice, stream);
  } else {
    error = hip().hipMemcpyAsync(slot.block.get(), source, slot.size_bytes, CopyKind::kDeviceToHost, stream);
  }
  MILLRACE_TRY(check(context_, place, "hipMemcpyAsync", error));
  const Error recorded = hip().hipEventRecord(slot.event.get(), stream);
  if (recorded != Error::kSuccess) {
    // Without the event, only the job's end shows that the copy has ended.
    job.kept_blocks.push_back(std::move(slot.block));
    return check(context_, place, "hipEventRecord", recorded);
  }
  slot.is_busy = true;
  if (copy.kind == CopyStep::Kind::kDownload) slot.to = destination;
  job.next_byte += slot.size_bytes;
  return {};
}

}  // namespace millrace::hip
