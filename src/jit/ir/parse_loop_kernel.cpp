// SPDX-License-Identifier: Apache-2.0
// Reads the text of loop kernels.
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "base/guard_allocations.h"
#include "base/size_expr/reader.h"
#include "base/text/number.h"
#include "base/text/read_type.h"
#include "jit/ir/affine.h"
#include "jit/ir/operation_text.h"
#include "jit/ir/read_loop_kernel.h"
#include "millrace/jit/loop_kernel.h"

namespace millrace {
namespace {

class LoopKernelParser {
 public:
  explicit LoopKernelParser(TextReader& text) : text_(text) {}

  Result<LoopKernel> parse() {
    if (!text_.take_word("loop_kernel")) return text_.unexpected("expected 'loop_kernel'");
    MILLRACE_TRY_ASSIGN(kernel_.name, text_.read_string());
    const std::size_t kind_begin = text_.position();
    const std::string_view kind_name = text_.take_name();
    const auto kind = find_by_text(kind_name, kLastLoopKind);
    if (!kind) text_.move_to(kind_begin);
    MILLRACE_TRY(expect(text_, "{"));
    MILLRACE_TRY(read_declarations());
    while (text_.take_word("term")) MILLRACE_TRY(read_body(kernel_.terms.emplace_back()));
    if (!text_.take_word("epilogue")) return text_.unexpected("expected the epilogue");
    MILLRACE_TRY(read_body(kernel_.epilogue));
    MILLRACE_TRY(expect(text_, "}"));
    // classify() requires a verified kernel.
    if (kind && unguarded(verify(kernel_)).ok() && classify(kernel_) != *kind) {
      return text_.error(kind_begin,
                         fmt::format("found {}, expected {}, the kind of this kernel; correct it or leave it out",
                                     kind_name, to_text(classify(kernel_))));
    }
    return std::move(kernel_);
  }

 private:
  Status read_declarations() {
    MILLRACE_TRY(read_symbols(text_, symbols_));
    while (take_dim_word()) MILLRACE_TRY(read_dim());
    while (text_.take_word("operand")) {
      if (at_in_place()) return read_in_place();
      MILLRACE_TRY(read_tensor(kernel_.operands));
    }
    while (text_.take_word("result")) MILLRACE_TRY(read_tensor(kernel_.results));
    while (text_.take_word("load")) MILLRACE_TRY(read_access("operand", kernel_.loads));
    while (text_.take_word("store")) MILLRACE_TRY(read_access("result", kernel_.stores));
    while (text_.take_word("reduction")) MILLRACE_TRY(read_reduction());
    while (text_.take_word("temporary")) MILLRACE_TRY(read_temporary());
    while (text_.take_word("extent")) {
      MILLRACE_TRY(expect_number(text_, kernel_.extents.size()));
      MILLRACE_TRY_ASSIGN(SizeExpr extent, read_size_expr(text_, symbols_));
      kernel_.extents.push_back(std::move(extent));
    }
    return text_.take_word("operand") ? read_in_place() : Status();
  }

  /// Consumes "d0" before the first dim, "d1" before the second, and so on.
  bool take_dim_word() { return text_.take_word(fmt::format("d{}", kernel_.domain.size())); }

  Status read_dim() {
    LoopDim dim;
    MILLRACE_TRY_ASSIGN(dim.name, text_.read_name("expected the dim's name"));
    dim.is_reduction = text_.take_word("reduction");
    dim.is_workgroup_dim = !dim.is_reduction && text_.take_word("groups");
    if (!dim.is_reduction && !dim.is_workgroup_dim && !text_.take_word("parallel")) {
      return text_.unexpected("expected parallel, groups or reduction");
    }
    MILLRACE_TRY_ASSIGN(dim.extent, read_size_expr(text_, symbols_));
    kernel_.domain.push_back(std::move(dim));
    return {};
  }

  /// "0 %x f32[4x3] offset 0 strides [3, 1]"
  Status read_tensor(std::vector<KernelTensor>& tensors) {
    MILLRACE_TRY(expect_number(text_, tensors.size()));
    MILLRACE_TRY(expect(text_, "%"));
    KernelTensor tensor;
    MILLRACE_TRY_ASSIGN(tensor.name, text_.read_name("expected the tensor's name"));
    MILLRACE_TRY_ASSIGN(tensor.type, read_type(text_, symbols_));
    if (!text_.take_word("offset")) return text_.unexpected("expected 'offset'");
    MILLRACE_TRY_ASSIGN(tensor.layout.offset, read_size_expr(text_, symbols_));
    if (!text_.take_word("strides")) return text_.unexpected("expected 'strides'");
    MILLRACE_TRY(read_list([&]() -> Status {
      MILLRACE_TRY_ASSIGN(SizeExpr stride, read_size_expr(text_, symbols_));
      tensor.layout.strides.push_back(std::move(stride));
      return {};
    }));
    tensors.push_back(std::move(tensor));
    return {};
  }

  /// "0 operand 1 [2*d0 - 1, d1] else 0 : f32"
  Status read_access(std::string_view role, std::vector<Access>& accesses) {
    MILLRACE_TRY(expect_number(text_, accesses.size()));
    if (!text_.take_word(role)) return text_.unexpected(fmt::format("expected '{}'", role));
    Access access;
    MILLRACE_TRY_ASSIGN(access.tensor, read_number<std::uint32_t>(text_));
    MILLRACE_TRY(read_list([&]() -> Status {
      MILLRACE_TRY_ASSIGN(AffineIndex index, read_index(access));
      access.indices.push_back(std::move(index));
      return {};
    }));
    if (text_.take_word("else")) {
      Scalar fill;
      MILLRACE_TRY_ASSIGN(fill.bits, read_constant(text_));
      MILLRACE_TRY(expect(text_, ":"));
      MILLRACE_TRY_ASSIGN(fill.dtype, read_dtype(text_));
      access.fill = fill;
    }
    MILLRACE_TRY_ASSIGN(access.pass, read_pass());
    accesses.push_back(std::move(access));
    return {};
  }

  /// "[", elements with commas between them, "]".
  template <class ReadElement>
  Status read_list(const ReadElement& read_element) {
    MILLRACE_TRY(expect(text_, "["));
    if (text_.take("]")) return {};
    do {
      MILLRACE_TRY(read_element());
    } while (text_.take(","));
    return text_.take("]") ? Status() : text_.unexpected("expected ',' or ']'");
  }

  /// The next index of `access`: "2*d0 + (n)*d1 + -1 + dynamic".
  Result<AffineIndex> read_index(Access& access) {
    AffineIndex index = constant_index(kernel_.domain.size(), 0);
    do {
      if (!access.dynamic_dim && text_.take_word("dynamic")) {
        access.dynamic_dim = static_cast<std::uint32_t>(access.indices.size());
        continue;
      }
      const bool is_dim = text_.rest().starts_with('d');
      MILLRACE_TRY_ASSIGN(const SizeExpr factor, is_dim ? SizeExpr(1) : read_factor());
      if (is_dim || text_.take("*")) {
        MILLRACE_TRY_ASSIGN(const std::size_t dim, read_dim_number());
        index.coefficients[dim] = index.coefficients[dim] + factor;
      } else {
        index.offset = index.offset + factor;
      }
    } while (text_.take("+"));
    return index;
  }

  Result<SizeExpr> read_factor() {
    if (!text_.take("(")) {
      MILLRACE_TRY_ASSIGN(const auto number, read_number<std::int64_t>(text_));
      return SizeExpr(number);
    }
    MILLRACE_TRY_ASSIGN(SizeExpr size, read_size_expr(text_, symbols_));
    MILLRACE_TRY(expect(text_, ")"));
    return size;
  }

  Result<std::size_t> read_dim_number() {
    for (std::size_t d = 0; d < kernel_.domain.size(); ++d) {
      if (text_.take_word(fmt::format("d{}", d))) return d;
    }
    return text_.unexpected(fmt::format("expected a domain dim below d{}", kernel_.domain.size()));
  }

  Status read_reduction() {
    MILLRACE_TRY(expect_number(text_, kernel_.reductions.size()));
    const std::size_t begin = text_.position();
    const auto kind = find_by_text(text_.take_name(), kLastReductionKind);
    if (!kind) {
      text_.move_to(begin);
      return text_.unexpected("expected a kind of reduction, such as sum");
    }
    MILLRACE_TRY_ASSIGN(const DType dtype, read_dtype(text_));
    MILLRACE_TRY_ASSIGN(const std::optional<std::uint32_t> pass, read_pass());
    kernel_.reductions.push_back({*kind, dtype, pass.value_or(0)});
    return {};
  }

  Status read_temporary() {
    MILLRACE_TRY(expect_number(text_, kernel_.temporaries.size()));
    MILLRACE_TRY_ASSIGN(const DType dtype, read_dtype(text_));
    MILLRACE_TRY_ASSIGN(const std::optional<std::uint32_t> pass, read_pass());
    kernel_.temporaries.push_back({dtype, pass.value_or(0)});
    return {};
  }

  /// "in pass 1", or nothing.
  Result<std::optional<std::uint32_t>> read_pass() {
    if (!text_.take_word("in")) return std::nullopt;
    if (!text_.take_word("pass")) return text_.unexpected("expected 'pass'");
    MILLRACE_TRY_ASSIGN(const auto pass, read_number<std::uint32_t>(text_));
    return pass;
  }

  /// Whether "0 in the result's buffer" follows.
  bool at_in_place() {
    const std::size_t begin = text_.position();
    text_.take_name_characters();
    const bool is_in_place = text_.take_word("in");
    text_.move_to(begin);
    return is_in_place;
  }

  Status read_in_place() {
    MILLRACE_TRY_ASSIGN(kernel_.in_place, read_number<std::uint32_t>(text_));
    return text_.take("in the result's buffer") ? Status() : text_.unexpected("expected \"in the result's buffer\"");
  }

  Status read_body(Body& body) {
    while (text_.take("%")) {
      MILLRACE_TRY(expect_number(text_, body.instructions.size()));
      MILLRACE_TRY(expect(text_, "="));
      const std::size_t begin = text_.position();
      MILLRACE_TRY_ASSIGN(const Operation operation, read_operation(text_));
      BodyInstruction instruction{.op = operation.op, .immediate = operation.immediate};
      if (operation.operands.size() > instruction.operands.size()) {
        return text_.error(begin, fmt::format("found {} operands, expected at most {}", operation.operands.size(),
                                              instruction.operands.size()));
      }
      for (const std::uint32_t operand : operation.operands) {
        instruction.operands[instruction.num_operands++] = BodyValueId{operand};
      }
      MILLRACE_TRY(expect(text_, ":"));
      MILLRACE_TRY_ASSIGN(instruction.dtype, read_dtype(text_));
      body.instructions.push_back(instruction);
    }
    if (!text_.take_word("yield")) return {};
    MILLRACE_TRY_ASSIGN(const std::vector<std::uint32_t> yields, read_operands(text_));
    for (const std::uint32_t yield : yields) body.yields.push_back(BodyValueId{yield});
    return {};
  }

  TextReader& text_;
  std::map<std::string, Dim> symbols_;
  LoopKernel kernel_;
};

}  // namespace

Result<LoopKernel> read_loop_kernel(TextReader& text) { return LoopKernelParser(text).parse(); }

Result<LoopKernel> parse_loop_kernel(std::string_view text, std::string_view name) {
  return guard_allocations([&]() -> Result<LoopKernel> {
    TextReader reader(name, text);
    MILLRACE_TRY_ASSIGN(LoopKernel kernel, read_loop_kernel(reader));
    if (!reader.at_end()) return reader.unexpected("expected the end of the text; a text holds one kernel");
    return kernel;
  });
}

}  // namespace millrace
