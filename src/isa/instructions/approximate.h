// SPDX-License-Identifier: Apache-2.0
// Instructions whose results the manuals only bound: exp, log, rcp, rsq, sqrt, sin, cos.
#pragma once

#include <cstdint>

namespace millrace::isa {

// With seed 0, these functions round to nearest. Any other seed gives one of the two floats next to the exact value,
// always the same one for the same source; exact results stay as they are. Subnormal sources and results are flushed to
// zero. Source: RDNA 3 ISA, 16.8 (1 ulp); LLVM's SIISelLowering.cpp and AMDGPULegalizerInfo.cpp, which avoid subnormals
// by scaling.
float approximate_exp2(float, std::uint64_t seed);
float approximate_log2(float, std::uint64_t seed);
float approximate_reciprocal(float, std::uint64_t seed);
float approximate_reciprocal_root(float, std::uint64_t seed);
float approximate_root(float, std::uint64_t seed);
/// Takes an angle in revolutions. Angles beyond 256 revolutions count as zero.
float approximate_sine(float, std::uint64_t seed);
float approximate_cosine(float, std::uint64_t seed);

// A seed other than 0 gives errors of up to 2^29 units in the last place; subnormals are ordinary numbers. Source: RDNA
// 3 ISA, 16.8 "V_RCP_F64".
double approximate_reciprocal(double, std::uint64_t seed);
double approximate_reciprocal_root(double, std::uint64_t seed);
double approximate_root(double, std::uint64_t seed);

}  // namespace millrace::isa
