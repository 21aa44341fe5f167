// SPDX-License-Identifier: Apache-2.0
// Looks up what an operation in a text calls: an op, a composite, or an application's kernel.
#include "graph/text/read_called.h"

#include <fmt/format.h>

#include "base/text/near_name.h"
#include "graph/text/append_op.h"
#include "graph/text/read_type.h"
#include "millrace/base/printable.h"

namespace millrace {

bool Called::takes_number(std::size_t operand) const {
  return (op && millrace::takes_number(*op, operand)) || (composite != nullptr && composite->takes_number(operand));
}

Result<Called> read_called(TextReader& text) {
  const std::size_t begin = text.position();
  const std::string_view name = text.take_name();
  Called called{name, {}, find_composite(name)};
  for (const Op op : kAllOps) {
    if (to_text(op) == name) called.op = op;
  }
  if (called.op || called.composite != nullptr) return called;
  NearName near(name);
  for (const Op op : kAllOps) near.consider(to_text(op));
  for (const CompositeRow& row : composite_rows()) near.consider(row.name);
  std::string remedy = near.remedy("'millrace ops' lists the ops");
  if (const std::optional<DType> dtype = find_dtype(name)) {
    remedy = fmt::format("to convert, write cast(...) {{dtype = {}}}", to_text(*dtype));
  }
  text.move_to(begin);
  return text.unexpected("expected an op, 'constant', 'variable', 'kernel', 'while' or 'if'; " + remedy);
}

Result<KernelNode> read_kernel(TextReader& text, const std::vector<CustomKernel>& kernels) {
  const std::size_t begin = text.position();
  MILLRACE_TRY_ASSIGN(const std::string name, text.read_name("expected the kernel's name; write it"));
  NearName near(name);
  const CustomKernel* found = nullptr;
  for (const CustomKernel& kernel : kernels) {
    near.consider(kernel.name);
    if (kernel.name != name) continue;
    if (found != nullptr && kernel != *found) {
      return text.error(begin, fmt::format("found kernel {}, expected one of that name in ParseOptions::kernels, "
                                           "which has two; rename one",
                                           printable(string_text(name))));
    }
    found = &kernel;
  }
  if (found != nullptr) return KernelNode{*found};
  return text.error(begin, fmt::format("found kernel {}, expected one that the application gives as "
                                       "ParseOptions::kernels; {}",
                                       printable(string_text(name)), near.remedy("give it there, or use ops alone")));
}

}  // namespace millrace
