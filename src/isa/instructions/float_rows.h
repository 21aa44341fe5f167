// SPDX-License-Identifier: Apache-2.0
// Rows of float instructions, whose rounding and treatment of subnormals depend on the MODE register.
#pragma once

#include "isa/instructions/float_math.h"
#include "isa/instructions/scalar.h"

namespace millrace::isa {

/// Runs a handler while the host rounds according to `round`: 0 to nearest even, 1 up, 2 down, 3 to zero.
void run_rounding(Handler, std::uint8_t round, Wave&, const Instruction&);

/// Whether floats round to nearest even and subnormals are kept, which is the mode of almost all compiled kernels.
inline bool is_usual(const Mode& mode) {
  return (mode.round_f32 | mode.round_f16_f64) == 0 && !(mode.flushes_f32_inputs || mode.flushes_f32_results ||
                                                         mode.flushes_f16_f64_inputs || mode.flushes_f16_f64_results);
}

template <class T>
T flush_source(const Mode& mode, T x) {
  if constexpr (std::is_same_v<T, PackedF32>) return {flush_source(mode, x.low), flush_source(mode, x.high)};
  if constexpr (std::is_same_v<T, f32>) return mode.flushes_f32_inputs ? without_subnormal(x) : x;
  if constexpr (std::is_same_v<T, f64>) return mode.flushes_f16_f64_inputs ? without_subnormal(x) : x;
  if constexpr (std::is_same_v<T, f16>) {
    const bool is_flushed = mode.flushes_f16_f64_inputs && (x.bits & 0x7c00) == 0;
    return {static_cast<u16>(is_flushed ? x.bits & 0x8000 : x.bits)};
  }
  return x;
}
template <class T>
T flush_result(const Mode& mode, T x) {
  if constexpr (std::is_same_v<T, PackedF32>) return {flush_result(mode, x.low), flush_result(mode, x.high)};
  if constexpr (std::is_same_v<T, f32>) return mode.flushes_f32_results ? without_subnormal(x) : x;
  if constexpr (std::is_same_v<T, f64>) return mode.flushes_f16_f64_results ? without_subnormal(x) : x;
  if constexpr (std::is_same_v<T, f16>) {
    const bool is_flushed = mode.flushes_f16_f64_results && (x.bits & 0x7c00) == 0;
    return {static_cast<u16>(is_flushed ? x.bits & 0x8000 : x.bits)};
  }
  return x;
}

/// An operation that flushes its sources and its result if MODE says so.
template <auto kOp, class F = decltype(&std::remove_const_t<decltype(kOp)>::operator())>
struct Flushing;
template <auto kOp, class C, class R, class... A>
struct Flushing<kOp, R (C::*)(A...) const> {
  R operator()(const Wave& wave, A... sources) const {
    return flush_result(wave.mode, kOp(flush_source(wave.mode, sources)...));
  }
};
template <auto kOp, class C, class R, class... A>
struct Flushing<kOp, R (C::*)(const Wave&, A...) const> {
  R operator()(const Wave& wave, A... sources) const {
    return flush_result(wave.mode, kOp(wave, flush_source(wave.mode, sources)...));
  }
};

namespace detail {

/// The mode is the same for all lanes, so it is checked once.
template <Handler kUsual, Handler kUnusual, Type kResult>
void run_by_mode(Wave& wave, const Instruction& instruction) {
  if (is_usual(wave.mode)) return kUsual(wave, instruction);
  if constexpr (kResult == Type::kNone) return kUnusual(wave, instruction);
  const bool is_single = kResult == Type::kF32 || kResult == Type::kPackedF32;
  run_rounding(kUnusual, is_single ? wave.mode.round_f32 : wave.mode.round_f16_f64, wave, instruction);
}

}  // namespace detail

/// A vector instruction whose result is rounded according to MODE.
template <auto kOp, auto kRule = kAnyToAll>
constexpr Row rounded(const char* name) {
  Row row = vector<kOp, kRule>(name);
  row.run = &detail::run_by_mode<vector<kOp, kRule>("").run, vector<Flushing<kOp>{}, kRule>("").run,
                                 vector<kOp, kRule>("").types[0]>;
  return row;
}
/// A vector instruction whose result is exact, or is rounded in its own way.
template <auto kOp>
constexpr Row flushed(const char* name) {
  Row row = vector<kOp>(name);
  row.run = &detail::run_by_mode<vector<kOp>("").run, vector<Flushing<kOp>{}>("").run, Type::kNone>;
  return row;
}
/// A scalar instruction whose result is rounded according to MODE.
template <auto kOp>
constexpr Row rounded_scalar(const char* name) {
  Row row = scalar<kOp>(name);
  row.run = &detail::run_by_mode<scalar<kOp>("").run, scalar<Flushing<kOp>{}>("").run, scalar<kOp>("").types[0]>;
  return row;
}
template <auto kOp>
constexpr Row flushed_scalar(const char* name) {
  Row row = scalar<kOp>(name);
  row.run = &detail::run_by_mode<scalar<kOp>("").run, scalar<Flushing<kOp>{}>("").run, Type::kNone>;
  return row;
}
/// An instruction whose last source is the result's old value, which assembly text does not show.
constexpr Row accumulating(Row row) {
  std::size_t num_operands = 0;
  while (num_operands < kMaxOperands && row.types[num_operands] != Type::kNone) ++num_operands;
  row.types[num_operands - 1] = Type::kNone;
  row.reads_result = true;
  return row;
}
/// An instruction whose last source is VCC, one bit per lane, which assembly text does not show.
constexpr Row reading_vcc(Row row) {
  row = accumulating(row);
  row.reads_result = false;
  row.reads_vcc = true;
  return row;
}

}  // namespace millrace::isa
