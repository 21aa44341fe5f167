// SPDX-License-Identifier: Apache-2.0
// Reads constants and variables of a text, whose elements precede the type that is needed to read them.
#include "graph/text/read_constant.h"

#include <fmt/format.h>

#include "graph/import/tensor_file.h"
#include "graph/text/read_type.h"

namespace millrace {
namespace {

using Constant = ConstantFiles::Constant;

/// Reads the type of the elements in a file, and takes as many of the file's bytes as the type needs. `begin` is the
/// position of the file's name.
Result<Constant> read_type_and_take(const ConstantSource& source, const SharedBytes& bytes, std::size_t begin) {
  TextReader& text = source.text;
  if (!text.take(":")) return text.unexpected("expected ':' and a type; say what the elements are");
  const std::size_t type_begin = text.position();
  MILLRACE_TRY_ASSIGN(TensorType type, read_type(text, source.symbols));
  MILLRACE_TRY(check_limits(text, type_begin, type));
  if (!type.shape.is_static()) {
    return text.error(type_begin,
                      fmt::format("found {}, expected dims that are numbers, as the elements are in a file; "
                                  "give numbers",
                                  type.to_text()));
  }
  const auto size = static_cast<std::size_t>(size_bytes(type).constant());
  if (size > bytes.size()) {
    return text.error(begin, fmt::format("found {} bytes from the offset to the file's end, expected {} for {}; is the "
                                         "file complete?",
                                         bytes.size(), size, type.to_text()));
  }
  const SharedBytes elements = bytes.part(0, size);
  if (type.dtype == DType::kBool && !are_bools({elements.begin(), elements.end()})) {
    return text.error(begin, "found a bool that is neither 0 nor 1; is it the file that the text was written for?");
  }
  return Constant{std::move(type), elements};
}

Result<Constant> read_file_constant(const ConstantSource& source) {
  TextReader& text = source.text;
  const std::size_t begin = text.position();
  MILLRACE_TRY_ASSIGN(Constant constant, source.files.read(text));
  if (!text.take(")")) return text.unexpected("expected ')'; close the constant");
  if (constant.needs_type) return read_type_and_take(source, constant.bytes, begin);
  if (text.take(":")) MILLRACE_TRY(read_same_type(text, source.symbols, constant.type, "constant"));
  return constant;
}

/// The elements precede their type, so they are skipped first and read once the type is known.
Result<Constant> read_elements_and_type(const ConstantSource& source, bool is_variable) {
  TextReader& text = source.text;
  if (!text.take("(")) return text.unexpected("expected '('; write the elements in parentheses");
  if (text.take_word("file")) return read_file_constant(source);
  const std::size_t begin = text.position();
  MILLRACE_TRY(skip_elements(text));
  text.take(")");
  if (!text.take(":")) return text.unexpected("expected ':' and a type; say what the elements are");
  const std::size_t type_begin = text.position();
  MILLRACE_TRY_ASSIGN(TensorType type, read_type(text, source.symbols));
  MILLRACE_TRY(check_limits(text, type_begin, type));
  const std::size_t end = text.position();
  text.move_to(begin);
  if (!type.shape.is_static() && (is_variable || !read_elements(text, {type.dtype, {}}).ok())) {
    return text.error(type_begin,
                      fmt::format("found {}, expected dims that are numbers, as it is a {}", type.to_text(),
                                  is_variable ? "variable; give numbers"
                                              : "constant; give numbers, or one element that stands for all"));
  }
  text.move_to(begin);
  MILLRACE_TRY_ASSIGN(std::vector<std::byte> bytes, read_elements(text, type));
  text.move_to(end);
  return Constant{std::move(type), std::move(bytes)};
}

/// Reads a variable of a loop's body, whose first value is the loop's operand.
Result<Constant> read_state(const ConstantSource& source) {
  TextReader& text = source.text;
  if (!text.take("(")) return text.unexpected("expected '('; write the elements in parentheses");
  if (!text.take(")")) return text.unexpected("expected ')'; a state gets its first value from the loop's operand");
  if (!text.take(":")) return text.unexpected("expected ':' and a type; say what the state is");
  const std::size_t begin = text.position();
  MILLRACE_TRY_ASSIGN(TensorType type, read_type(text, source.symbols));
  MILLRACE_TRY(check_limits(text, begin, type));
  return Constant{std::move(type), {}};
}

}  // namespace

Result<Constant> read_constant(const ConstantSource& source) {
  return read_elements_and_type(source, /*is_variable=*/false);
}

Result<Constant> read_variable(const ConstantSource& source, bool is_in_body) {
  return is_in_body ? read_state(source) : read_elements_and_type(source, /*is_variable=*/true);
}

}  // namespace millrace
