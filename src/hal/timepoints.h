// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "millrace/hal/device.h"

namespace millrace {

/// Fails when a semaphore is null, or when a signal cannot come to pass: its value is not above the semaphore's, nor
/// above one that the submission itself waits for.
Status check_timepoints(const Submission&);

/// Whether all values are reached, or one of the semaphores has failed.
bool are_settled(std::span<const Timepoint> wait);
/// The first failure among the waits. Precondition: are_settled(wait).
Status outcome_of(std::span<const Timepoint> wait);

/// Ends a submission: signals each semaphore, or gives each the status. Returns the submission's status, or why a
/// signal failed; the semaphores after that one carry that.
Status settle(std::span<const Timepoint> signal, Status status);

}  // namespace millrace
