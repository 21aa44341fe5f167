// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/text/reader.h"
#include "millrace/base/dtype.h"
#include "millrace/base/number.h"

namespace millrace {

/// Text that reads back to the same bits: "true", "-7", the shortest decimal that identifies a float, "-0", "inf",
/// "nan", and "nan(0xffc00001)" for any NaN other than the quiet, positive one without payload.
template <class T>
std::string number_text(T value);

/// Rounds to nearest. Fails if T cannot hold the number, even as a subnormal.
template <class T>
Result<T> read_number(TextReader&);

/// Reads any number: exactly if it is an integer in [-2^63, 2^64), otherwise as a double.
Result<Number> read_any_number(TextReader&);

/// Reads an element of the dtype in the syntax of read_number. For a float, keeps the digits that rounding to the dtype
/// would drop.
Result<Number> read_element(TextReader&, DType);

/// Text that read_element reads back as the same element: "true" for bool, "inf" for 1e300 in f32.
std::string element_text(const Number&, DType);

#define MILLRACE_DTYPE(name, text, host, size, kind) \
  extern template std::string number_text(host);     \
  extern template Result<host> read_number(TextReader&);
#include "millrace/base/dtype_table.inc"

}  // namespace millrace
