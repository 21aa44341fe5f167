// SPDX-License-Identifier: Apache-2.0
// Runs launches that may overlap, and are too small to fill the device, on several streams: the job's own stream and
// side streams. One event lets the side streams begin. At the end, the job's own stream waits for one event from each
// side stream.
#include <algorithm>

#include <fmt/format.h>

#include "hal/hip/issuer.h"

namespace millrace::hip {
namespace {

/// A launch of at most this many workgroups leaves much of a GPU idle: large GPUs have 96 compute units or more.
constexpr std::int64_t kFewGroups = 64;

}  // namespace

bool is_small_launch(const Job& job, const Step& step) {
  const auto* launch = std::get_if<LaunchStep>(&step.what);
  if (launch == nullptr) return false;
  const std::int64_t num_groups = job.sizes[index_of(launch->num_groups)];
  return num_groups > 0 && num_groups <= kFewGroups;
}

std::vector<std::size_t> Issuer::find_sides(const Job& job, std::size_t end_step) const {
  const std::size_t num_streams = channels_.streams.size();
  if (job.times != nullptr || job.needs_ring || num_streams == 1 || end_step - job.next_step < 2) return {};
  const std::span steps = std::span(job.recording->steps()).subspan(job.next_step, end_step - job.next_step);
  const auto num_small = std::ranges::count_if(steps, [&](const Step& step) { return is_small_launch(job, step); });
  std::vector<std::size_t> sides;
  for (std::size_t i = 1; i < std::min(static_cast<std::size_t>(num_small), num_streams); ++i) {
    sides.push_back((job.stream + i) % num_streams);
  }
  return sides;
}

Status Issuer::fork(Job& job, std::span<const std::size_t> sides) {
  MILLRACE_TRY_ASSIGN(const SharedEvent begin, channels_.events->take(EventPool::Kind::kOrder));
  MILLRACE_TRY(context_.check("submit", "hipEventRecord", hip().hipEventRecord(begin.get(), stream_at(job.stream))));
  for (const std::size_t side : sides) {
    MILLRACE_TRY(
        context_.check("submit", "hipStreamWaitEvent", hip().hipStreamWaitEvent(stream_at(side), begin.get(), 0)));
  }
  job.edges.push_back(begin);
  return {};
}

Status Issuer::join(Job& job, std::span<const std::size_t> sides) {
  Status first;
  for (const std::size_t side : sides) {
    const Status status = retry_once(context_, [&] { return join(job, side); });
    if (first.ok()) first = status;
  }
  return first;
}

Status Issuer::join(Job& job, std::size_t side) {
  MILLRACE_TRY_ASSIGN(const SharedEvent end, channels_.events->take(EventPool::Kind::kOrder));
  MILLRACE_TRY(context_.check("submit", "hipEventRecord", hip().hipEventRecord(end.get(), stream_at(side))));
  MILLRACE_TRY(
      context_.check("submit", "hipStreamWaitEvent", hip().hipStreamWaitEvent(stream_at(job.stream), end.get(), 0)));
  job.edges.push_back(end);
  return {};
}

}  // namespace millrace::hip
