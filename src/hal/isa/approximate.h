// SPDX-License-Identifier: Apache-2.0
// Instructions whose results the manuals only bound: exp, log, rcp, rsq, sqrt, sin, cos.
#pragma once

#include <cstdint>

namespace millrace::isa {

// With seed 0 they are rounded to nearest. Another seed takes either of the two floats next to the exact value, the
// same one each time; exact results stay as they are. Subnormals are taken and given as zeros. Source: RDNA 3 ISA, 16.8
// (1 ulp); LLVM's SIISelLowering.cpp and AMDGPULegalizerInfo.cpp, which scale around subnormals.
float approximate_exp2(float, std::uint64_t seed);
float approximate_log2(float, std::uint64_t seed);
float approximate_reciprocal(float, std::uint64_t seed);
float approximate_reciprocal_root(float, std::uint64_t seed);
float approximate_root(float, std::uint64_t seed);
/// Takes an angle in turns; beyond 256 turns it counts as zero.
float approximate_sine(float, std::uint64_t seed);
float approximate_cosine(float, std::uint64_t seed);

// A seed other than 0 errs by up to 2^29 units in the last place; subnormals are numbers like others.
// Source: RDNA 3 ISA, 16.8 "V_RCP_F64".
double approximate_reciprocal(double, std::uint64_t seed);
double approximate_reciprocal_root(double, std::uint64_t seed);
double approximate_root(double, std::uint64_t seed);

}  // namespace millrace::isa
