// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/text/reader.h"
#include "millrace/base/dtype.h"
#include "millrace/base/number.h"

namespace millrace {

/// A value as text that reads back to the same bits: "true", "-7", the shortest decimal that a float needs, "-0",
/// "inf", "nan", and "nan(0xffc00001)" for a NaN that is not the quiet, positive one without a payload.
template <class T>
std::string number_text(T value);

/// Rounds to nearest. Fails when T does not hold the number, even as a subnormal.
template <class T>
Result<T> read_number(TextReader&);

/// An integer of [-2^63, 2^64) exactly, and else as a double.
Result<Number> read_any_number(TextReader&);

/// A number that stands for an element of the dtype: what read_number takes for it, and nothing else. A float's keeps
/// the digits that the dtype would round away.
Result<Number> read_element(TextReader&, DType);

/// What read_element reads as an element of the same value: "true" for bool, "inf" for 1e300 in f32.
std::string element_text(const Number&, DType);

#define MILLRACE_DTYPE(name, text, host, size, kind) \
  extern template std::string number_text(host);     \
  extern template Result<host> read_number(TextReader&);
#include "millrace/base/dtype_table.inc"

}  // namespace millrace
