// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>

#include "millrace/graph/compile.h"

namespace millrace::test {

/// Options that compile for `inner` ("cpu", "sim:gfx1100") and run behind create_far_device().
CompileOptions on_far(const std::string& inner);

/// Calls `test` for the host's device and for far ones, a simulated GPU and HIP's stand-in among them; a failure in it
/// names the device.
void on_near_and_far(const std::function<void(const CompileOptions&)>& test);
/// Only for the far ones.
void on_every_far(const std::function<void(const CompileOptions&)>& test);

/// A device's buffer that holds `values`.
std::shared_ptr<Buffer> to_device(Device&, std::span<const float> values);
std::vector<float> from_device(Device&, const Buffer&);

/// y = x * 2 + w, of two elements each.
Program affine(const CompileOptions&);
/// y = the running sum of the sorted x, of n elements: it has intermediate values.
Program ranked_sum(const CompileOptions&);
/// n, n - 1, ... 1; and what ranked_sum gives for it: 1, 1 + 2, 1 + 2 + 3, ... exactly.
std::vector<float> counting_down(std::size_t n);
std::vector<float> sums_up_to(std::size_t n);
Extents extents_of(const std::vector<float>& values);
/// y = x[i], where i, an i64, may be outside the 4 elements of x; and the message of a run for i = 4.
Program picked(const CompileOptions&);
inline constexpr const char* kWrongIndex =
    "run: %2 = gather: index 4 at [0] of operand 1, %i of i64[1], is outside axis 0 of operand 0, %x of f32[4]; "
    "give -4 to 3";

}  // namespace millrace::test
