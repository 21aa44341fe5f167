// SPDX-License-Identifier: Apache-2.0
// Reads and prints numbers of every dtype, so that each value survives the round trip through text bit for bit.
#include "base/text/number.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "millrace/base/printable.h"

namespace millrace {
namespace {

template <class T>
constexpr bool kIsSmallFloat = std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;
/// The type that computes with a T: float for a 16-bit float.
template <class T>
using Wide = std::conditional_t<kIsSmallFloat<T>, float, T>;

template <class T>
auto bits_of(T value) {
  if constexpr (kIsSmallFloat<T>) {
    return value.bits;
  } else {
    return std::bit_cast<std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>>(value);
  }
}

template <class T>
using Bits = decltype(bits_of(T()));

template <class T>
T from_bits(Bits<T> bits) {
  if constexpr (kIsSmallFloat<T>) {
    return T::from_bits(bits);
  } else {
    return std::bit_cast<T>(bits);
  }
}

template <class T>
bool is_nan(T value) {
  return std::isnan(static_cast<Wide<T>>(value));
}

/// The quiet, positive NaN without payload.
template <class T>
T usual_nan() {
  return T(std::numeric_limits<Wide<T>>::quiet_NaN());
}

/// Reads the bits after "nan", such as "(0x7fc00001)". Without them, returns the usual NaN.
template <class T>
Result<T> read_nan(TextReader& reader) {
  if (!reader.take("(")) return usual_nan<T>();
  const std::size_t begin = reader.position();
  const std::string_view token = reader.take_name_characters();
  Bits<T> bits{};
  const char* end = token.data() + token.size();
  const bool is_hex = token.starts_with("0x");
  const auto [last, problem] = std::from_chars(is_hex ? token.data() + 2 : end, end, bits, 16);
  if (problem != std::errc() || last != end || !is_nan(from_bits<T>(bits))) {
    reader.move_to(begin);
    return reader.unexpected(fmt::format("expected the bits of a NaN of {}, such as {:#x}; correct them",
                                         to_text(dtype_of<T>), bits_of(usual_nan<T>())));
  }
  if (!reader.take(")")) return reader.unexpected("expected ')'; close the bits of the NaN");
  return from_bits<T>(bits);
}

template <class T>
Result<T> read_float(TextReader& reader) {
  using Read = std::conditional_t<kIsSmallFloat<T>, double, T>;  // a 16-bit float rounds once, from double
  const std::size_t begin = reader.position();
  if (reader.take_word("nan")) return read_nan<T>(reader);
  const bool is_negative = reader.take("-");
  if (reader.take_word("inf")) {
    constexpr auto kInf = std::numeric_limits<Wide<T>>::infinity();
    return T(is_negative ? -kInf : kInf);
  }
  const std::string_view text = reader.rest();
  const bool is_number = !text.empty() && (text[0] == '.' || (text[0] >= '0' && text[0] <= '9'));
  Read read = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + (is_number ? text.size() : 0), read);
  if (problem == std::errc::invalid_argument) {
    return reader.unexpected(fmt::format("expected a number of dtype {}; write one", to_text(dtype_of<T>)));
  }
  const auto length = static_cast<std::size_t>(end - text.data());
  reader.skip(length);
  const T value(is_negative ? -read : read);
  const auto wide = static_cast<Wide<T>>(value);
  if (problem == std::errc::result_out_of_range || std::isinf(wide) || (wide == 0 && read != 0)) {
    return reader.error(begin,
                        fmt::format("found {}{}, expected a number that {} can hold; change the number or the dtype",
                                    is_negative ? "-" : "", printable(text.substr(0, length)), to_text(dtype_of<T>)));
  }
  return value;
}

/// The length of ".5", "e3" and the like; 0 for anything else.
std::size_t fraction_length(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789";
  if (text.size() < 2 || std::string_view(".eE").find(text[0]) == std::string_view::npos) return 0;
  const bool is_signed = text[0] != '.' && (text[1] == '+' || text[1] == '-');
  if (text.size() < (is_signed ? 3u : 2u) || kDigits.find(text[is_signed ? 2 : 1]) == std::string_view::npos) return 0;
  return std::min(text.find_first_not_of("0123456789.eE", is_signed ? 2 : 1), text.size());
}

template <class T>
Result<T> read_integer(TextReader& reader) {
  const std::size_t begin = reader.position();
  const bool is_negative = reader.take("-");
  const std::string_view text = reader.rest();
  const auto length = std::min(text.find_first_not_of("0123456789"), text.size());
  if (length == 0) {
    return reader.unexpected(fmt::format("expected an integer of dtype {}; write one", to_text(dtype_of<T>)));
  }
  if (const auto all = length + fraction_length(text.substr(length)); all > length) {
    return reader.error(begin,
                        fmt::format("found {}{}, expected an integer of dtype {}; change the number or the dtype",
                                    is_negative ? "-" : "", printable(text.substr(0, all)), to_text(dtype_of<T>)));
  }
  reader.skip(length);
  const std::string number = fmt::format("{}{}", is_negative ? "-" : "", text.substr(0, length));
  T value = 0;
  const auto [end, problem] = std::from_chars(number.data(), number.data() + number.size(), value);
  if (problem == std::errc() && end == number.data() + number.size()) return value;
  return reader.error(begin, fmt::format("found {}, expected {} to {}, the range of {}; change the number or the dtype",
                                         printable(number), std::numeric_limits<T>::min(),
                                         std::numeric_limits<T>::max(), to_text(dtype_of<T>)));
}

}  // namespace

template <class T>
std::string number_text(T value) {
  if constexpr (std::is_same_v<T, bool>) {
    return value ? "true" : "false";
  } else if constexpr (is_float(dtype_of<T>)) {
    if (!is_nan(value)) return fmt::format("{}", static_cast<Wide<T>>(value));
    const auto bits = bits_of(value);
    return bits == bits_of(usual_nan<T>()) ? "nan" : fmt::format("nan({:#x})", bits);
  } else {
    return fmt::format("{}", value);
  }
}

template <class T>
Result<T> read_number(TextReader& reader) {
  if constexpr (std::is_same_v<T, bool>) {
    if (reader.take_word("true")) return true;
    if (reader.take_word("false")) return false;
    return reader.unexpected("expected true or false; write one of them");
  } else if constexpr (is_float(dtype_of<T>)) {
    return read_float<T>(reader);
  } else {
    return read_integer<T>(reader);
  }
}

Result<Number> read_any_number(TextReader& reader) {
  const std::string_view text = reader.rest();
  const std::size_t begin = reader.position();
  MILLRACE_TRY_ASSIGN(const double value, read_number<double>(reader));
  // Stop at the space or comment after the number, which position() skips.
  const std::size_t length = std::min(text.find_first_of(" \t\r\n/"), reader.position() - begin);
  const char* end = text.data() + length;
  const auto holds = [&](auto& number) {
    const auto [stop, problem] = std::from_chars(text.data(), end, number);
    return problem == std::errc() && stop == end;
  };
  std::int64_t whole = 0;
  std::uint64_t large = 0;
  if (holds(whole) && (whole != 0 || !std::signbit(value))) return Number(whole);  // "-0" is a double
  if (holds(large)) return Number(large);
  return Number(value);
}

Result<Number> read_element(TextReader& reader, DType dtype) {
  return visit_dtype(dtype, [&]<class T>() -> Result<Number> {
    const std::size_t begin = reader.position();
    MILLRACE_TRY_ASSIGN(const T value, read_number<T>(reader));
    if constexpr (is_float(dtype_of<T>)) {
      if (is_nan(value)) return Number(static_cast<double>(static_cast<Wide<T>>(value)));  // keep the bits of T
      reader.move_to(begin);
      return read_any_number(reader);
    } else {
      return Number(value);
    }
  });
}

std::string element_text(const Number& number, DType dtype) {
  return visit_dtype(dtype, [&]<class T>() -> std::string {
    if constexpr (std::is_same_v<T, bool>) {
      return number.fits(dtype) ? number_text(number == Number(1)) : number.to_text();
    } else if constexpr (is_float(dtype_of<T>)) {
      const double exact = number.as_double();
      const T value(exact);
      const auto wide = static_cast<Wide<T>>(value);
      const bool is_held = !is_nan(exact) && std::isinf(wide) == std::isinf(exact) && (wide == 0) == (exact == 0);
      return is_held ? number.to_text() : number_text(value);
    } else {
      return number.to_text();
    }
  });
}

#define MILLRACE_DTYPE(name, text, host, size, kind) \
  template std::string number_text(host);            \
  template Result<host> read_number(TextReader&);
#include "millrace/base/dtype_table.inc"

}  // namespace millrace
