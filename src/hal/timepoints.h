// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "millrace/hal/device.h"

namespace millrace {

/// Fails if a semaphore is null, or if a signal cannot succeed: its value must be greater than the semaphore's present
/// value, and greater than any value of that semaphore that the submission waits for.
Status check_timepoints(const Submission&);

/// Whether all values are reached, or one of the semaphores has failed.
bool are_settled(std::span<const Timepoint> wait);
/// The first failure among the waits. Precondition: are_settled(wait).
Status outcome_of(std::span<const Timepoint> wait);

/// Ends a submission: signals each semaphore, or fails each with `status` if that is an error. Returns the submission's
/// status. If a signal fails, returns its error instead, and fails that semaphore and the later ones with the error.
Status settle(std::span<const Timepoint> signal, Status status);

}  // namespace millrace
