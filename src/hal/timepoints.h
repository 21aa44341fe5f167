// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "millrace/hal/device.h"

namespace millrace {

/// Fails if a semaphore is null, or if a signal is impossible: its value is not above the semaphore's, or not above a
/// value that the submission itself waits for.
Status check_timepoints(const Submission&);

/// Whether all values are reached, or one of the semaphores has failed.
bool are_settled(std::span<const Timepoint> wait);
/// The first failure among the waits. Precondition: are_settled(wait).
Status outcome_of(std::span<const Timepoint> wait);

/// Ends a submission: signals each semaphore, or fails each with `status` if that is an error. Returns the submission's
/// status. If a signal fails, returns that failure instead, and fails the later semaphores with it.
Status settle(std::span<const Timepoint> signal, Status status);

}  // namespace millrace
